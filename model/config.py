"""The integers that decide what a small decoder computes and what it has to keep."""

from dataclasses import dataclass

from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Sizes of the decoder. Defaults are small enough to print every row.

    `window` counts the query's own position; layers in `global_layers` ignore it. `sinks`
    first tokens stay visible beside the window.
    """

    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    d_head: int = 8
    d_model: int = 16
    d_ff: int = 32
    vocab_size: int = 29
    rope_base: float = 10_000.0
    window: int | None = None
    sinks: int = 0
    global_layers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in POSITIVE:
            check_positive(name, getattr(self, name))
        if self.n_heads % self.n_kv_heads:
            message = (
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} key/value heads "
                f"evenly: use a divisor of {self.n_heads}"
            )
            raise BadInput(message)
        if self.window is not None:
            check_positive("window", self.window)

    def window_of(self, layer: int) -> int | None:
        """Return the window of one layer, None where it reads everything."""
        return None if layer in self.global_layers else self.window

    @property
    def numbers_per_layer(self) -> int:
        """Numbers one token adds to the store of one layer: 2 a key/value head and channel."""
        return 2 * self.n_kv_heads * self.d_head

    @property
    def owners(self) -> tuple[int, ...]:
        """Layers that own a store: all, unless a variant shares them."""
        return tuple(range(self.n_layers))

    @property
    def numbers_per_token(self) -> int:
        """Numbers one token adds to the whole cache, before any window is full.

        >>> DecoderConfig(n_layers=32, n_heads=32, n_kv_heads=8, d_head=128).numbers_per_token
        65536
        """
        return len(self.owners) * self.numbers_per_layer

    def cached_numbers(self, n_tokens: int) -> int:
        """Numbers the cache holds after `n_tokens`: a windowed layer stops at its window.

        >>> DecoderConfig(window=3, global_layers=(1,)).cached_numbers(10) // (2 * 2 * 8)
        13
        """
        windows = (self.window_of(layer) for layer in self.owners)
        rows = (n_tokens if width is None else min(n_tokens, width) for width in windows)
        return self.numbers_per_layer * sum(rows)


POSITIVE = ("n_layers", "n_heads", "n_kv_heads", "d_head", "d_model", "d_ff", "vocab_size")


def check_positive(name: str, value: int) -> None:
    """Refuse sizes under 1."""
    if value < 1:
        message = f"{name} must be at least 1, got {value}"
        raise BadInput(message)
