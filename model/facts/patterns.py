"""Numbers and answers of lesson 3 that the patterns themselves compute."""

from functools import partial

from model.facts import Fact


def _pairs(pattern: str, n_tokens: int, *sizes: int) -> Fact:
    from model.patterns import PATTERNS  # noqa: PLC0415 -- loads torch

    pairs = PATTERNS[pattern](*sizes).n_pairs(n_tokens)
    told = f"{pattern} {', '.join(map(str, sizes))}".strip()
    return Fact(text=f"{pairs:,}", how=f"pairs of {n_tokens:,} tokens under {told}, closed form")


def _rows_needed(pattern: str, n_tokens: int, *sizes: int) -> int:
    from model.patterns import PATTERNS  # noqa: PLC0415

    return len(PATTERNS[pattern](*sizes).rows_needed(n_tokens))


def _drops(pattern: str, n_tokens: int, *sizes: int) -> str:
    """Whether a cache may drop any row: "none" or "nothing" where all must stay."""
    return "none" if _rows_needed(pattern, n_tokens, *sizes) == n_tokens else "half"


def _strided_drops() -> str:
    return "nothing" if _rows_needed("strided", 64, 8) == 64 else "most"  # noqa: PLR2004


def _reach(n_layers: int, window: int) -> str:
    from model.stacks import receptive_field  # noqa: PLC0415

    return str(receptive_field([window] * n_layers))


def _sinks_remember(token: int) -> str:
    """Whether a real sink store still hands back a token of the middle."""
    from model.storage.demonstration import streaming_rows  # noqa: PLC0415

    return "yes" if token in streaming_rows(window=4, sinks=4, n_tokens=20)[-1] else "no"


def _prefix_rows() -> str:
    """Measured: layer 2's keys of three prefix tokens, before and after a fourth joins them."""
    import torch  # noqa: PLC0415

    from model import masks  # noqa: PLC0415
    from model.attention.heads import Parts  # noqa: PLC0415
    from model.config import DecoderConfig  # noqa: PLC0415
    from model.decoder import Decoder  # noqa: PLC0415

    keys = []
    for n_prefix in (3, 4):
        parts = Parts(mask=lambda _config, _layer, n=n_prefix: masks.prefix(n))
        seen: dict[str, torch.Tensor] = {}
        decoder = Decoder(DecoderConfig(), 0, parts=parts)
        decoder(torch.tensor([1, 2, 3, 4][:n_prefix]), probe=seen.__setitem__)
        keys.append(seen["layers.1.k"][:, :3])
    return "move" if not torch.equal(*keys) else "stay"


def _closed_block_known() -> str:
    """What the fixed pattern, its summary layer below its local one, knows of a closed block."""
    from model import masks, stacks  # noqa: PLC0415

    block, n_tokens = 4, 16
    layers = masks.summaries(block, 1), masks.own_block(block)
    known = stacks.reachable([masks.square(layer, n_tokens) for layer in layers])[-1, :block]
    kinds = {(): "none", (block - 1,): "chosen", tuple(range(block)): "all"}
    return kinds[tuple(known.nonzero().flatten().tolist())]


def _growing_layers() -> str:
    """Layers of Gemma 3 27B whose cache is larger at 100,001 tokens than at 100,000."""
    from model.sizing import catalogue  # noqa: PLC0415
    from model.sizing.question import Question  # noqa: PLC0415
    from model.sizing.size import size  # noqa: PLC0415

    model = catalogue.load("Gemma 3 27B")
    before, after = (size(model, Question(tokens=n)).layers for n in (100_000, 100_001))
    return str(sum(b.n_bytes > a.n_bytes for a, b in zip(before, after, strict=True)))


FACTS = {
    "window-pairs-10-4": partial(_pairs, "window", 10, 4),
    "causal-pairs-10": partial(_pairs, "causal", 10),
    "prefix-pairs-8-3": partial(_pairs, "prefix", 8, 3),
    "causal-pairs-8": partial(_pairs, "causal", 8),
    "needs-full": partial(_drops, "full", 12),
    "rows-needed-window-4": lambda: str(_rows_needed("window", 64, 4)),
    "reach-3-4": partial(_reach, 3, 4),
    "sinks-remember": partial(_sinks_remember, 10),
    "prefix-rows-move": _prefix_rows,
    "strided-drops": _strided_drops,
    "fixed-summaries-lower": _closed_block_known,
    "gemma-3-growth": _growing_layers,
}
