"""vLLM's pages for DeepSeek-V4: windows, entries, index keys and the compressors' own states.

Read in vllm/v1/core/kv_cache_utils.py (`_get_kv_cache_groups_uniform_groups`,
`_max_memory_usage_bytes_from_groups`), vllm/models/deepseek_v4/compressor.py and
vllm/v1/attention/backends/mla/sparse_swa.py: the bytes vLLM says a request needs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.sizing.engines import NotInEngine, Run
from model.sizing.formats import Format, Piece
from model.sizing.layers import Layer, Rows
from model.sizing.pages import Pages, n_pages, n_shared, page_bytes, up_to
from model.sizing.terms import Allocation, PiecesOf, Terms, total

ENTRY = "compressed entry"
BLOCK = 256  # tokens a page of entries stands for
WINDOW_BLOCK = 64  # a page of window rows is as large as one of 256 / 4 entries
STATE_BYTES = 4  # a compressor's states are in 32 bits
ALIGNMENT, PACKED_ALIGNMENT, PACKED_ENTRY = 512, 576, 584  # FlashMLA's packed entries align apart


@dataclass(frozen=True, kw_only=True)
class Compressor:
    """Makes an entry of the newest tokens' sums and scores; `overlap` entries see one token."""

    block: int
    overlap: int


COMPRESSORS: Mapping[int, Compressor] = {
    4: Compressor(block=4, overlap=2),
    128: Compressor(block=8, overlap=1),
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Block tables: pages of `block` tokens, for a window or, without one, for all tokens."""

    block: int
    window: int | None = None

    def held(self, run: Run, batch: int) -> int:
        """Pages one sequence holds while a prefill batch is read."""
        most = None if self.window is None else self.window - 1 + batch
        return n_pages(run.n_tokens, self.block, most)

    def shared(self, run: Run, batch: int) -> int:
        """Those of them that lie in the prefix all sequences have."""
        return n_shared(run.n_tokens, run.shared_prefix, self.block, self.held(run, batch))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One of a layer's caches: its rows, and the table its pages are in."""

    rows: Rows
    table: Table


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One pool for all caches: a page of every size makes a slot, `slots` of them a block.

    `tables` says over how many tables of a kind the caches are spread.
    """

    page: Mapping[Kept, int]
    stride: int
    tables: Mapping[Table, int]


def is_compressed(layers: Sequence[Layer]) -> bool:
    return any(rows.name == ENTRY for layer in layers for rows in layer.rows)


def as_fp8(rows: Rows, asked: Format | None) -> bool:
    """Whether index keys are given the memory of FP8 although MXFP4 is written into it."""
    return rows.every > 1 and asked is not None and asked.name == "mxfp4"


def allocate(layers: Sequence[Layer], run: Run, pieces_of: PiecesOf, batch: int) -> Allocation:
    """Each layer's pages, and beside them what the pool's blocks leave empty."""
    refuse(layers)
    stored = with_states(pieces_of)
    caches = [caches_of(layer) for layer in layers]
    pool = pool_of([kept for held in caches for kept in held], stored)
    terms = {kept: terms_of_cache(kept, pool, run, stored, batch) for kept in pool.page}
    growing = tuple(tuple(term for kept in held for term in terms[kept]) for held in caches)
    blocks = sum(
        n * (run.n_sequences * table.held(run, batch) - run.n_copies * table.shared(run, batch))
        for table, n in pool.tables.items()
    )
    return Allocation(
        growing=growing,
        fixed=((),) * len(layers),
        padding=blocks * pool.stride - sum(map(total, growing)),
    )


def terms_of_cache(kept: Kept, pool: Pool, run: Run, pieces_of: PiecesOf, batch: int) -> Terms:
    """A cache's pages, and the copies of a prefix's that are not made."""
    pages = Pages(block=kept.table.block, n_bytes=pool.page[kept])
    terms = pages.terms([kept.rows], kept.table.held(run, batch), run.n_sequences, pieces_of)
    if not run.n_copies:
        return terms
    shared = kept.table.shared(run, batch)
    return terms + pages.terms([kept.rows], shared, run.n_copies, pieces_of, sign=-1)


def refuse(layers: Sequence[Layer]) -> None:
    """Raise NotInEngine for layers whose pages are not known."""
    for layer in layers:
        for rows in layer.rows:
            if rows.every > 1 and rows.every not in COMPRESSORS:
                raise NotInEngine(
                    f"not modelled: how vllm pages a {rows.name} per {rows.every} tokens "
                    f"(layer {layer.index}); entries of 4 and of 128 are"
                )
        if layer.owner != layer.index or layer.states or layer.cross_rows:
            raise NotInEngine(
                f"not modelled: how vllm pages compressed entries beside what layer {layer.index} "
                f"({layer.kind}) keeps"
            )


def caches_of(layer: Layer) -> list[Kept]:
    """What vLLM keeps for a layer; whatever is compressed has a compressor's state beside it."""
    found = []
    for rows in layer.rows:
        if rows.every == 1:
            block = BLOCK if rows.window is None else WINDOW_BLOCK
            found.append(Kept(rows=rows, table=Table(block=block, window=rows.window)))
            continue
        maker = COMPRESSORS[rows.every]
        width = 2 * maker.overlap * rows.width
        state = Rows(name=f"{rows.name}'s compressor", role=rows.role, width=width, replicated=True)
        window = maker.overlap * rows.every
        found.append(Kept(rows=rows, table=Table(block=BLOCK)))
        found.append(Kept(rows=state, table=Table(block=maker.block, window=window)))
    return found


def with_states(pieces_of: PiecesOf) -> PiecesOf:
    """The reader's formats for rows, 32 bits for a compressor's state."""

    def either(rows: Rows, n_rows: int) -> tuple[Piece, ...]:
        if rows.name.endswith("compressor"):
            return (Piece(count=n_rows, each=rows.width * STATE_BYTES),)
        return pieces_of(rows, n_rows)

    return either


def own_pages(caches: Sequence[Kept], pieces_of: PiecesOf) -> dict[Kept, int]:
    """Each cache's page, aligned as the attention kernels of the entries' format want it."""
    one_entry = {page_bytes(k.rows, 1, pieces_of) for k in caches if k.rows.name == ENTRY}
    align = PACKED_ALIGNMENT if PACKED_ENTRY in one_entry else ALIGNMENT
    return {
        k: up_to(page_bytes(k.rows, k.table.block // k.rows.every, pieces_of), align)
        for k in set(caches)
    }


def pool_of(caches: Sequence[Kept], pieces_of: PiecesOf) -> Pool:
    """Pages for all tokens set the sizes; those of windows and states are padded to one of them."""
    own, counts = own_pages(caches, pieces_of), Counter(caches)
    sizes = {own[k] for k in counts if k.table.window is None}
    if max(own.values()) > max(sizes):
        raise NotInEngine(
            f"not modelled: a page of {max(own.values()):,} bytes fits none of vllm's for entries, "
            f"{max(sizes):,} at most"
        )
    page = {k: min(size for size in sizes if size >= own[k]) for k in counts}
    deep = max(
        sum(n for k, n in counts.items() if k.table.window is None and page[k] == size)
        for size in sizes
    )
    widest: dict[Table, int] = {}
    for kept, n in counts.items():
        if kept.table.window is not None:
            widest[kept.table] = max(widest.get(kept.table, 0), n)
    step = least_padding([deep, *widest.values()], at_least=deep)
    spread = {table: -(-n // step) for table, n in widest.items()}
    slots = max([deep, *(-(-n // spread[table]) for table, n in widest.items())])
    return Pool(page=page, stride=slots * sum(sizes), tables={Table(block=BLOCK): 1, **spread})


def least_padding(counts: Sequence[int], *, at_least: int) -> int:
    """The group size that rounds these counts up least; the larger one of equals.

    >>> least_padding([21, 43, 21, 20], at_least=21)
    22
    """
    return min(
        range(at_least, max(counts) + 1),
        key=lambda size: (sum(up_to(n, size) - n for n in counts), -size),
    )
