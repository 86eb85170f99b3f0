"""vLLM: one pool of pages of one size, whatever the layers keep.

Read in vllm/v1/core/kv_cache_utils.py and vllm/v1/kv_cache_interface.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.sizing import vllm_compressed
from model.sizing.engines import Cells, NotInEngine, PerLayer, Run
from model.sizing.formats import FORMATS, Format
from model.sizing.layers import Layer, Rows, State
from model.sizing.pages import Pages, n_pages, n_shared, padding_of, page_bytes, up_to
from model.sizing.terms import Allocation, PiecesOf, Terms, total

INDEX_FORMAT = "fp8_block128"
Held = tuple[Rows | State, ...]


@dataclass(frozen=True)
class Vllm(PerLayer):
    """Blocks of 16 tokens; a window keeps W-1 tokens and a prefill batch, and one block more.

    Layers of several kinds share pages of one size: a smaller page takes more tokens where it
    divides, and is padded where it does not; a recurrent state takes a page, for which blocks
    of keys and values grow until a page can hold one. Layers are grouped in equal numbers.
    An indexer's key is kept in FP8 with an fp32 scale per 128 (DeepseekV32IndexerCache).
    """

    name: str = "vllm"
    note: str = (
        "pages of 16 tokens or more, one size for all layers (of 256 and three sizes for "
        "DeepSeek-V4); W-1 plus a prefill batch"
    )
    formats: tuple[str, ...] = (
        "fp32",
        "bf16",
        "fp16",
        "fp8",
        "fp8_per_token_head",
        "int8",
        "nvfp4",
        "fp8_ds_mla",
        "fp8_ds_v4",
    )
    block: int = 16
    batched_tokens: int = 8192

    def stored(self, rows: Rows, asked: Format | None) -> Format:
        if rows.role != "index":
            return super().stored(rows, asked)
        in_fp8 = asked is None or asked.name in {"fp8", INDEX_FORMAT, "fp8_ds_mla"}
        if (asked is None and rows.native) or not (in_fp8 or vllm_compressed.as_fp8(rows, asked)):
            name = asked.name if asked else rows.native
            raise NotInEngine(
                f"not in this engine: {self.name} keeps no {rows.name} in {name}; "
                f"choose {INDEX_FORMAT}, FP8 with a scale per 128"
            )
        return FORMATS[INDEX_FORMAT]

    def cells(self, rows: Rows, run: Run) -> Cells:
        """Tokens of whole blocks for one sequence, in rows."""
        block = max(self.block, run.block)
        tokens = n_pages(run.seen(rows), block, self.most(rows.window, run)) * block
        return Cells(rows=-(-tokens // rows.every), buffers=run.n_sequences)

    def most(self, window: int | None, run: Run) -> int | None:
        """The most tokens of a window that are held while a batch is read."""
        return None if window is None else window - 1 + (run.prefill_batch or self.batched_tokens)

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        """The tail is one step shorter; both in the model's type (`mamba_ssm_cache_dtype` auto)."""
        return state.numbers_without_newest, model_bytes

    def allocate(
        self, layers: Sequence[Layer], run: Run, pieces_of: PiecesOf, model_bytes: int
    ) -> Allocation:
        if vllm_compressed.is_compressed(layers):
            batch = run.prefill_batch or self.batched_tokens
            return vllm_compressed.allocate(layers, run, pieces_of, batch)
        kinds = {layer.holds: layer for layer in layers}  # like layers are counted once
        alone = Run(n_tokens=0)
        states = {k: total(self.state_terms(kind, alone, model_bytes)) for k, kind in kinds.items()}
        growing = [kind for kind in kinds.values() if kind.rows]
        base = self.first_block(growing, max(states.values(), default=0), pieces_of, run)
        page = max([self.page(kind, pieces_of, base) for kind in growing], default=0)
        page = max(page, *states.values()) if growing and any(states.values()) else page
        paged = {k: self.layer_terms(v, run, pieces_of, base, page) for k, v in kinds.items()}
        fixed = {
            held: self.all_rows(kind.cross_rows, run, pieces_of)
            + self.state_terms(kind, run, model_bytes)
            + (padding_of(1, page - states[held], run.n_sequences) if kind.states else ())
            for held, kind in kinds.items()
        }
        return Allocation(
            growing=tuple(paged[layer.holds] for layer in layers),
            fixed=tuple(fixed[layer.holds] for layer in layers),
            padding=self.group_padding(layers, paged, fixed, pieces_of),
        )

    def first_block(self, growing: list[Layer], state: int, pieces_of: PiecesOf, run: Run) -> int:
        """Tokens a block, grown until the largest attention page holds the largest state."""
        block = max(self.block, run.block)
        per_block = max([self.page(layer, pieces_of, block) for layer in growing], default=0)
        if not state or not per_block:
            return block
        return block * -(-state // per_block)

    def page(self, layer: Layer, pieces_of: PiecesOf, block: int) -> int:
        return sum(page_bytes(rows, -(-block // rows.every), pieces_of) for rows in layer.rows)

    def layer_terms(
        self, layer: Layer, run: Run, pieces_of: PiecesOf, block: int, page: int
    ) -> Terms:
        """Whole pages: of more tokens where the page divides, else padded; a prefix's once."""
        if not layer.rows:
            return ()
        own = self.page(layer, pieces_of, block)
        if page % own == 0:
            block *= page // own
        held = n_pages(run.n_tokens, block, self.most(layer.window, run))
        paged = Pages(block=block, n_bytes=page)
        terms = paged.terms(layer.rows, held, run.n_sequences, pieces_of)
        if run.n_copies:
            shared = n_shared(run.n_tokens, run.shared_prefix, block, held)
            terms += paged.terms(layer.rows, shared, run.n_copies, pieces_of, sign=-1)
        return terms

    def group_padding(
        self,
        layers: Sequence[Layer],
        paged: Mapping[Held, Terms],
        fixed: Mapping[Held, Terms],
        pieces_of: PiecesOf,
    ) -> int:
        """Pages of layers that are not there, in groups that are not full."""
        n_bytes = {held: total(paged[held]) + total(fixed[held]) for held in paged}
        signatures = {
            layer.holds: (layer.window, self.page(layer, pieces_of, 16), bool(layer.states))
            for layer in layers
        }
        kinds: dict[tuple[object, ...], list[int]] = {}
        for layer in layers:
            if layer.rows or layer.states:
                kinds.setdefault(signatures[layer.holds], []).append(n_bytes[layer.holds])
        if len(kinds) < 2:  # noqa: PLR2004 - one kind needs no groups
            return 0
        counts = [len(members) for members in kinds.values()]
        size = max(counts) if max(counts) < 1.25 * min(counts) else min(counts)
        return sum(
            (up_to(len(members), size) - len(members)) * members[0] for members in kinds.values()
        )
