"""The list of figures, by the name that content uses. Also for notebooks: ``Append(trace)``."""

from figures.append import Append
from figures.attention import AttentionRow
from figures.base import Figure
from figures.batching import Batching
from figures.beams import Beams
from figures.block_cost import BlockCost
from figures.bug_trace import BugTrace
from figures.choosing import Choosing
from figures.cost import Cost
from figures.cross_store import CrossStore
from figures.eviction import Eviction
from figures.grouping_work import GroupingWork
from figures.head_wiring import HeadWiring
from figures.layer_stack import LayerStack
from figures.layer_wiring import LayerWiring
from figures.measured_growth import MeasuredGrowth
from figures.measured_model import MeasuredModel
from figures.mla import Mla
from figures.model_sizes import ModelSizes
from figures.moving_cache import MovingCache
from figures.one_step import OneStep
from figures.online_softmax import OnlineSoftmax
from figures.paging import Paging
from figures.pattern_grid import PatternGrid
from figures.pattern_words import PatternWords
from figures.positions import Positions
from figures.prefill import Prefill
from figures.prefix_tree import PrefixTrees
from figures.proof import Proof
from figures.quality_cache import QualityCache
from figures.quantised import Quantised
from figures.ring import Ring
from figures.roofline import Roofline
from figures.rows_move import RowsMove
from figures.schedule import Schedule
from figures.sinks import Sinks
from figures.speculation import Speculation
from figures.token_passes import TokenPasses
from figures.v4_layers import V4Layers
from figures.variant_words import VariantWords
from figures.work_grid import WorkGrid

FIGURES: dict[str, type[Figure]] = {
    "work-grid": WorkGrid,
    "rows-move": RowsMove,
    "token-passes": TokenPasses,
    "cross-store": CrossStore,
    "prefill": Prefill,
    "one-step": OneStep,
    "append": Append,
    "attention": AttentionRow,
    "proof": Proof,
    "cost": Cost,
    "head-wiring": HeadWiring,
    "quality-cache": QualityCache,
    "variant-words": VariantWords,
    "grouping-work": GroupingWork,
    "mla": Mla,
    "layer-wiring": LayerWiring,
    "v4-layers": V4Layers,
    "quantised": Quantised,
    "model-sizes": ModelSizes,
    "pattern-grid": PatternGrid,
    "ring": Ring,
    "sinks": Sinks,
    "layer-stack": LayerStack,
    "pattern-words": PatternWords,
    "roofline": Roofline,
    "batching": Batching,
    "positions": Positions,
    "online-softmax": OnlineSoftmax,
    "paging": Paging,
    "schedule": Schedule,
    "speculation": Speculation,
    "choosing": Choosing,
    "beams": Beams,
    "block-cost": BlockCost,
    "measured-model": MeasuredModel,
    "measured-growth": MeasuredGrowth,
    "eviction": Eviction,
    "prefix-tree": PrefixTrees,
    "moving-cache": MovingCache,
    "bug-trace": BugTrace,
}
