"""The list of figures, by the name that content uses. Also for notebooks: ``Append(trace)``."""

from figures.append import Append
from figures.attention import AttentionRow
from figures.base import Figure
from figures.cost import Cost
from figures.cross_store import CrossStore
from figures.one_step import OneStep
from figures.prefill import Prefill
from figures.proof import Proof
from figures.rows_move import RowsMove
from figures.token_passes import TokenPasses
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
}
