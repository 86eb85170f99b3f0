"""Which layer owns the entries another one reads, and what a token therefore costs."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from model.config import check_positive
from model.errors import BadInput
from model.storage.codecs.base import Codec
from model.storage.codecs.blocks import Fp4, Mx
from model.storage.codecs.minifloat import E2M1, E4M3

Kind = Literal["window", "full", "reindex", "reuse"]


@dataclass(frozen=True, kw_only=True)
class CompressedConfig:
    """Geometry of the scheme; the defaults are a toy with every kind of layer.

    `compress_ratios` has one number a layer: 0 reads its window only, m > 0 also reads entries
    that stand for m tokens each. `kv_sources` make entries, `index_sources` choose among them,
    all others repeat the last choice below them. From `candidate_source` on, a choice is made
    inside the blocks of entries that this layer found best.
    """

    compress_ratios: tuple[int, ...] = (0, 2, 2, 1, 1, 1)
    kv_sources: tuple[int, ...] = (1, 3)
    index_sources: tuple[int, ...] = (1, 3, 4)
    candidate_source: int = 3
    n_candidate_blocks: int = 2
    candidate_block: int = 3
    d_model: int = 16
    n_heads: int = 2
    d_head: int = 8
    d_rope: int = 4
    d_query: int = 12
    window: int = 3
    n_index_heads: int = 2
    d_index: int = 4
    d_index_rope: int = 4
    top_k: int = 3
    n_output_groups: int = 2
    d_output: int = 6
    rope_base: float = 10_000.0
    compressed_rope_base: float = 160_000.0

    def __post_init__(self) -> None:
        for name in ("window", "top_k", "n_candidate_blocks", "candidate_block"):
            check_positive(name, getattr(self, name))
        if not set(self.kv_sources) <= set(self.index_sources):
            message = (
                f"layers {self.kv_sources} make entries but only {self.index_sources} choose "
                f"among them: every maker must choose"
            )
            raise BadInput(message)
        for layer, ratio in enumerate(self.compress_ratios):
            if ratio and self.compress_ratios[self.kv_owner(layer)] != ratio:
                owner = self.kv_owner(layer)
                message = (
                    f"layer {layer} wants entries of {ratio} tokens, its owner {owner} makes them "
                    f"of {self.compress_ratios[owner]}: give both the same ratio"
                )
                raise BadInput(message)

    @property
    def n_layers(self) -> int:
        return len(self.compress_ratios)

    @property
    def n_encoder(self) -> int:
        """Layers every prompt token must climb: those below the last owner."""
        return self.kv_sources[-1]

    def kind(self, layer: int) -> Kind:
        """Name what a layer does.

        >>> [CompressedConfig().kind(layer) for layer in range(6)]
        ['window', 'full', 'reuse', 'full', 'reindex', 'reuse']
        """
        if not self.compress_ratios[layer]:
            return "window"
        if layer in self.kv_sources:
            return "full"
        return "reindex" if layer in self.index_sources else "reuse"

    def kv_owner(self, layer: int) -> int:
        """Return the layer whose entries this one reads: the last owner not above it."""
        owners = [source for source in self.kv_sources if source <= layer]
        if not owners:
            message = f"layer {layer} reads entries but the first owner is {self.kv_sources[0]}"
            raise BadInput(message)
        return owners[-1]

    @property
    def entries_per_token(self) -> Fraction:
        """How many entries a token adds, over all owners.

        >>> FLASH.entries_per_token
        Fraction(5, 2)
        """
        return sum((Fraction(1, self.compress_ratios[own]) for own in self.kv_sources), Fraction())

    def bytes_per_token(self, main: Codec, index: Codec) -> Fraction:
        """Bytes a token adds to a long context: an entry and its index key, for every owner.

        >>> FLASH.bytes_per_token(MAIN_ROW, INDEX_ROW)
        Fraction(890, 1)
        """
        row_bytes = main.row_bytes(self.d_head) + index.row_bytes(self.d_index)
        return self.entries_per_token * row_bytes

    def window_bytes(self, row: Codec) -> int:
        """Bytes of all windows once they are full, whatever the context.

        >>> FLASH.window_bytes(WINDOW_ROW)
        2703360
        """
        return self.n_layers * self.window * row.row_bytes(self.d_head)


MAIN_ROW = Fp4()
"""512 numbers in 256 bytes and 32 E4M3 scales."""
INDEX_ROW = Mx(E2M1)
"""128 numbers in 64 bytes and 4 power-of-two scales."""
WINDOW_ROW = Mx(E4M3)
"""512 numbers in 512 bytes and 16 power-of-two scales."""

FLASH = CompressedConfig(
    compress_ratios=(0,) * 2 + (2,) * 18 + (1,) * 20,
    kv_sources=(2, 8, 14, 20),
    index_sources=(2, 8, 14, 20, 24, 28, 32, 36),
    candidate_source=20,
    n_candidate_blocks=2048,
    candidate_block=8,
    d_model=5120,
    n_heads=64,
    d_head=512,
    d_rope=64,
    d_query=1280,
    window=128,
    n_index_heads=32,
    d_index=128,
    d_index_rope=64,
    top_k=512,
    n_output_groups=8,
    d_output=1024,
)
"""The released config.json of DeepSeek-V4.1-Flash, as far as the cache is concerned."""
