"""Blocks that are shared when they should not be, found under the wrong name, or one too many."""

from collections.abc import Iterator, Sequence

import torch

from model.bugs.bench_decoder import (
    CAPACITY,
    N_PROMPT,
    TOKENS,
    observed,
    random_tokens,
    read,
    recompute,
    right_decoder,
)
from model.bugs.bug import Bug, Gauge, Observed
from model.decoder import Decoder
from model.serving.paged import PagedPool
from model.serving.prefix import Entry, Key, PrefixIndex
from model.serving.tables import BlockTable, BlockTables, Copy

LAWS = "tests/test_serving_laws.py::"
BLOCK, N_BLOCKS = 4, 40


class NeverCopies(BlockTables):
    """Lets every holder of a half-filled block write into it."""

    def _make_private(self, table: BlockTable, index: int) -> Copy | None:
        self.prefixes.forget(table.blocks[index])
        return None


class OwnTokensOnly(PrefixIndex):
    """Names a block by the tokens in it, whatever stood before them."""

    def _pieces(self, tokens: Sequence[int]) -> Iterator[tuple[Key, tuple[int, ...]]]:
        for _, piece in super()._pieces(tokens):
            yield self._digest(repr(piece).encode()), piece

    def _verified(self, key: Key, piece: tuple[int, ...], parent: Entry | None) -> Entry | None:
        del piece, parent
        return self._entries.get(key)


class WholePrompt(PrefixIndex):
    """Finds blocks for all of a prompt, the last token included."""

    def match(self, tokens: Sequence[int]) -> list[int]:
        return [entry.block for entry in self._chain(tokens)]


class OneMoreBlock(BlockTables):
    """Asks for the next block when the last one is full, a token too early."""

    def blocks_for(self, n_tokens: int) -> int:
        return n_tokens // self.block_size + 1


def pool_of(decoder: Decoder, tables: BlockTables) -> PagedPool:
    """Make blocks for this decoder, cleared so that every run sees the same memory."""
    pool = PagedPool(decoder.rooms(CAPACITY), tables)
    for slab in (*pool.k, *pool.v):
        slab.zero_()
    return pool


def two_samples(tables: type[BlockTables]) -> Observed:
    """Bench: a prompt of one block and a half is continued twice; we follow the first."""
    decoder = right_decoder()
    first = pool_of(decoder, tables(N_BLOCKS, BLOCK)).open()
    logits = [decoder(TOKENS[:N_PROMPT], first)[-1]]
    second = first.fork()
    others = random_tokens(len(TOKENS) - N_PROMPT, seed=7)
    for ours, theirs in zip(TOKENS[N_PROMPT:].split(1), others.split(1), strict=True):
        logits.append(decoder(ours, first)[-1])
        decoder(theirs, second)
    shared = len(set(first.table.blocks) & set(second.table.blocks))
    gauge = Gauge("blocks the two texts share at the end", shared)
    return observed(recompute(decoder, TOKENS), torch.stack(logits), gauges=[gauge])


def with_prefixes(prefixes: type[PrefixIndex]) -> BlockTables:
    """Make block tables that find shared beginnings this way."""
    tables = BlockTables(N_BLOCKS, BLOCK)
    tables.prefixes = prefixes(BLOCK)
    return tables


def equal_middles(prefixes: type[PrefixIndex]) -> Observed:
    """Bench: A ends like B, C begins like B, and B comes last. Only C's beginning may be shared."""
    decoder, n_prompt = right_decoder(), 2 * BLOCK + 1
    pool = pool_of(decoder, with_prefixes(prefixes))
    b, other = TOKENS[:n_prompt].tolist(), random_tokens(n_prompt, seed=7).tolist()
    for text in ([*other[:BLOCK], *b[BLOCK:]], [*b[:BLOCK], *other[BLOCK:]]):
        cache = pool.open(text)
        decoder(torch.tensor(text[cache.length :]), cache)
        cache.remember(text)
    return continued(decoder, pool, n_prompt)


def asked_again(prefixes: type[PrefixIndex]) -> Observed:
    """Bench: a prompt of exactly two blocks comes a second time."""
    decoder, n_prompt = right_decoder(), 2 * BLOCK
    pool = pool_of(decoder, with_prefixes(prefixes))
    prompt = TOKENS[:n_prompt].tolist()
    cache = pool.open(prompt)
    decoder(TOKENS[:n_prompt], cache)
    cache.remember(prompt)
    return continued(decoder, pool, n_prompt)


def continued(decoder: Decoder, pool: PagedPool, n_prompt: int) -> Observed:
    """Open the prompt, run what is not there yet, go on; nothing to run gives no logits."""
    cache = pool.open(TOKENS[:n_prompt].tolist())
    n_run = n_prompt - cache.length
    if n_run:
        found = read(decoder, cache, TOKENS[cache.length :], [n_run])
    else:
        rest = [decoder(token, cache)[-1] for token in TOKENS[n_prompt:].split(1)]
        found = torch.stack([torch.full_like(rest[0], torch.nan), *rest])
    gauges = [
        Gauge("prompt tokens found", n_prompt - n_run),
        Gauge("prompt tokens that run", n_run),
    ]
    return observed(recompute(decoder, TOKENS, n_prompt), found, gauges=gauges)


def growing(tables: type[BlockTables]) -> Observed:
    """Bench: one text of 16 tokens in blocks of 4."""
    decoder = right_decoder()
    blocks = tables(N_BLOCKS, BLOCK)
    cache = pool_of(decoder, blocks).open()
    found = read(decoder, cache, TOKENS)
    taken = ", ".join(str(blocks.blocks_for(n)) for n in (0, 1, 4, 5, 8))
    gauges = [
        Gauge("blocks for 0, 1, 4, 5, 8 tokens", taken),
        Gauge(f"blocks held by {len(TOKENS)} tokens", len(cache.table.blocks)),
    ]
    return observed(recompute(decoder, TOKENS), found, gauges=gauges)


PAGING_STEP = "going-deeper#paged-attention"

BUGS = {
    "no-copy-on-write": Bug(
        id="no-copy-on-write",
        title="Two writers in one half-filled block",
        story=(
            "Two answers to one prompt share its blocks, the last of which is half full. Both "
            "write their next token into the free half, into the same slot. As long as they "
            "say the same thing nobody notices; the first different word is lost to the one who "
            "wrote it first."
        ),
        source="vllm-project/vllm#5188",
        step=PAGING_STEP,
        fix="A block with more than one holder is copied before anybody writes into it.",
        right="model.serving.tables:BlockTables",
        twin="model.bugs.paging:NeverCopies",
        method="_make_private",
        seam="tables",
        bench=two_samples,
        caught_by=f"{LAWS}test_two_samples_of_a_prompt_are_two_texts",
    ),
    "hash-without-parent": Bug(
        id="hash-without-parent",
        title="Equal blocks after different beginnings",
        story=(
            "Blocks are found again under a hash of their tokens. The same tokens after another "
            "beginning have the same keys and values in the first layer, and in no other: the "
            "rows above were made from everything before. A model of one layer passes every test."
        ),
        source="vllm-project/aibrix#2329",
        step=PAGING_STEP,
        fix="Hash the block together with the key of the block before it, and check the tokens.",
        right="model.serving.prefix:PrefixIndex",
        twin="model.bugs.paging:OwnTokensOnly",
        method="_pieces",
        seam="prefixes",
        bench=equal_middles,
        caught_by=f"{LAWS}test_a_found_block_holds_what_a_recompute_would",
    ),
    "full-prefix-hit": Bug(
        id="full-prefix-hit",
        title="Everything was found, so nothing runs",
        story=(
            "A prompt comes a second time and all of its blocks are still there. So there is "
            "nothing to compute, and nothing comes out: a cache holds keys and values, not the "
            "last row of the model, from which the next word would be chosen."
        ),
        source="vllm-project/vllm#11186",
        step=PAGING_STEP,
        fix="Reuse at most all but one of the prompt's tokens.",
        right="model.serving.prefix:PrefixIndex",
        twin="model.bugs.paging:WholePrompt",
        method="match",
        seam="prefixes",
        bench=asked_again,
        caught_by=f"{LAWS}test_a_prompt_that_is_all_there_still_runs_a_token",
    ),
    "block-boundary": Bug(
        id="block-boundary",
        title="A block too early",
        story=(
            "Four tokens fill a block of four, and a fifth needs the next. Counting n // 4 + 1 "
            "takes that next block already at the fourth. The text is right; a text that ends at "
            "a boundary holds memory that nothing will ever be written to."
        ),
        source="GeeeekExplorer/nano-vllm#66",
        step=PAGING_STEP,
        fix="Round up: a block is needed when a token with t % B = 0 is about to be written.",
        right="model.serving.tables:BlockTables",
        twin="model.bugs.paging:OneMoreBlock",
        method="blocks_for",
        seam="tables",
        bench=growing,
        caught_by=f"{LAWS}test_a_text_holds_no_block_it_does_not_need",
    ),
}
