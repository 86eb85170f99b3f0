"""Layers wired to the layer that owns their keys and values, and what each still has to do."""

from typing import Any

import param

from figures.base import Figure

TOKENS = (128, 1_024, 4_096, 16_384, 65_536, 131_072)
LAYERS = 20
BYTES_PER_NUMBER = 2
SCHEMES = {
    "every layer its own": "plain",
    "CLA, 2 layers a store": "cla-2",
    "CLA, 3 layers a store": "cla-3",
    "YOCO": "yoco",
}


class LayerWiring(Figure):
    scheme = param.Selector(
        default="plain", objects=SCHEMES, label="Sharing", doc="Which layers own a store."
    )
    tokens = param.Integer(
        default=3, bounds=(0, len(TOKENS) - 1), label="Context", doc="Tokens in the context."
    )
    early = param.Boolean(
        default=False,
        label="Early exit",
        doc="In prefill, let only the last prompt token climb the upper layers.",
    )

    title = "Which layer owns the rows"
    description = (
        "Twenty layers in a row, wires from each to the store it reads; below, how many rows each "
        "store holds and how many prompt positions each layer computes."
    )
    sources = (
        "model.attention.shared:SharedConfig",
        "model.attention.yoco:Yoco.last_logits",
        "model.sharing:prefill_positions",
    )

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tokens": TOKENS}

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Owners, rows, bytes and prefill work of each scheme at each context."""
        from model.attention.shared import SharedConfig  # noqa: PLC0415 -- loads torch
        from model.attention.yoco import YocoConfig  # noqa: PLC0415

        shared = {
            name: SharedConfig(n_layers=LAYERS, n_heads=16, n_kv_heads=1, d_head=128, share=share)
            for name, share in (("plain", 1), ("cla-2", 2), ("cla-3", 3))
        }
        schemes = {
            name: told(config, [config.owner_of(n) for n in range(LAYERS)], None)
            for name, config in shared.items()
        }
        yoco = YocoConfig(n_layers=LAYERS, n_heads=16, n_kv_heads=1, d_head=128, window=1_024)
        reads = [min(n, yoco.n_lower) for n in range(LAYERS)]
        schemes["yoco"] = told(yoco, reads, yoco.n_lower)
        return {"tokens": TOKENS, "layers": LAYERS, "window": yoco.window, "schemes": schemes}


def growth(config: Any, n: int) -> int:
    """Bytes that one token more adds to n, when full windows drop a row for each they take."""
    return BYTES_PER_NUMBER * (config.cached_numbers(n + 1) - config.cached_numbers(n))


def told(config: Any, owner_of: list[int], joint: int | None) -> dict[str, Any]:
    """One scheme as plain data; lists of lists start with the context.

    `joint` is the place of a store that the layer there does not make itself.
    """
    from model.sharing import prefill_positions, reads_of  # noqa: PLC0415

    def rows(n: int) -> list[int]:
        widths = (config.window_of(owner) for owner in config.owners)
        return [n if width is None else min(n, width) for width in widths]

    def read(n: int) -> int:
        by_owner = dict(zip(config.owners, rows(n), strict=True))
        return reads_of(owner_of, [by_owner.get(layer, 0) for layer in range(LAYERS)])

    n_upper = 0 if joint is None else LAYERS - joint
    return {
        "joint": joint,
        "owners": config.owners,
        "owner_of": owner_of,
        "per_token": BYTES_PER_NUMBER * config.numbers_per_token,
        "later": growth(config, TOKENS[-1]),
        "rows": [rows(n) for n in TOKENS],
        "bytes": [BYTES_PER_NUMBER * config.cached_numbers(n) for n in TOKENS],
        "read": [read(n) for n in TOKENS],
        "prefill": {
            "full": [prefill_positions(LAYERS, n) for n in TOKENS],
            "early": [prefill_positions(LAYERS, n, n_upper) for n in TOKENS],
        },
    }
