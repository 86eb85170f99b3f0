"""vLLM: one pool of pages of one size, whatever the layers keep.

Read in vllm/v1/core/kv_cache_utils.py and vllm/v1/kv_cache_interface.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from model.sizing.engines import Allocation, BytesOf, Cells, PerLayer, Run, up_to
from model.sizing.layers import Layer, Rows, State


@dataclass(frozen=True)
class Vllm(PerLayer):
    """Blocks of 16 tokens; a window keeps W-1 tokens and a prefill batch, and one block more.

    Layers of several kinds share pages of one size: a smaller page takes more tokens where it
    divides, and is padded where it does not; a recurrent state takes a page, for which blocks
    of keys and values grow until a page can hold one. Layers are grouped in equal numbers.
    """

    name: str = "vllm"
    note: str = "pages of 16 tokens or more, one size for all layers; W-1 plus a prefill batch"
    block: int = 16
    batched_tokens: int = 8192

    def cells(self, rows: Rows, run: Run) -> Cells:
        return self.blocks_of(rows, run, max(self.block, run.block))

    def blocks_of(self, rows: Rows, run: Run, block: int) -> Cells:
        """Tokens of whole blocks for one sequence, in rows."""
        n_blocks = -(-run.seen(rows) // block)
        if rows.window is not None:
            most = rows.window - 1 + (run.prefill_batch or self.batched_tokens)
            n_blocks = min(n_blocks, -(-most // block) + 1)
        return Cells(rows=-(-n_blocks * block // rows.every), buffers=run.n_sequences)

    def state(self, state: State, model_bytes: int) -> tuple[int, int]:
        """The tail is one step shorter; both in the model's type (`mamba_ssm_cache_dtype` auto)."""
        return state.numbers_without_newest, model_bytes

    def allocate(
        self, layers: Sequence[Layer], run: Run, bytes_of: BytesOf, model_bytes: int
    ) -> Allocation:
        growing = [layer for layer in layers if layer.rows]
        states = {
            layer.index: self.state_bytes(layer, Run(n_tokens=0), model_bytes) for layer in layers
        }
        base = self.first_block(growing, states, bytes_of, max(self.block, run.block))
        page = max([self.page(layer, bytes_of, base) for layer in growing], default=0)
        page = max(page, *states.values()) if growing and any(states.values()) else page
        paged = tuple(self.layer_bytes(layer, run, bytes_of, base, page) for layer in layers)
        fixed = tuple(
            sum(self.row_bytes(r, run, bytes_of) for r in layer.cross_rows)
            + (max(page, states[layer.index]) if states[layer.index] else 0) * run.n_sequences
            for layer in layers
        )
        return Allocation(
            growing=paged, fixed=fixed, padding=self.group_padding(layers, paged, fixed, bytes_of)
        )

    def first_block(
        self, growing: list[Layer], states: dict[int, int], bytes_of: BytesOf, block: int
    ) -> int:
        """Tokens a block, grown until the largest attention page holds a state."""
        largest = max(states.values(), default=0)
        per_block = max([self.page(layer, bytes_of, block) for layer in growing], default=0)
        if not largest or not per_block:
            return block
        return block * -(-largest // per_block)

    def page(self, layer: Layer, bytes_of: BytesOf, block: int) -> int:
        return sum(bytes_of(rows, -(-block // rows.every)) for rows in layer.rows)

    def layer_bytes(self, layer: Layer, run: Run, bytes_of: BytesOf, block: int, page: int) -> int:
        """Whole pages: of more tokens where the page divides, else padded."""
        if not layer.rows:
            return 0
        own = self.page(layer, bytes_of, block)
        if page % own == 0:
            block *= page // own
        longest = max(layer.rows, key=lambda r: self.blocks_of(r, run, block).rows * r.every)
        cells = self.blocks_of(longest, run, block)
        n_pages = -(-cells.rows * longest.every // block)
        return n_pages * page * cells.buffers

    def group_padding(
        self,
        layers: Sequence[Layer],
        paged: tuple[int, ...],
        fixed: tuple[int, ...],
        bytes_of: BytesOf,
    ) -> int:
        """Pages of layers that are not there, in groups that are not full."""
        kinds: dict[tuple[object, ...], list[int]] = {}
        for layer in layers:
            if layer.rows or layer.states:
                signature = (layer.window, self.page(layer, bytes_of, 16), bool(layer.states))
                kinds.setdefault(signature, []).append(paged[layer.index] + fixed[layer.index])
        if len(kinds) < 2:  # noqa: PLR2004 - one kind needs no groups
            return 0
        counts = [len(members) for members in kinds.values()]
        size = max(counts) if max(counts) < 1.25 * min(counts) else min(counts)
        return sum(
            (up_to(len(members), size) - len(members)) * members[0] for members in kinds.values()
        )
