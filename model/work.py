"""What running a model asks for: multiplications and bytes, summed over its layers.

Conventions are those of `model.layer_work`.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from model.config import DecoderConfig
from model.errors import BadInput
from model.layer_work import LayerWork


@dataclass(frozen=True, kw_only=True)
class EncoderWork:
    """The encoder of an encoder-decoder: it reads `source` tokens once, each sees all of them.

    stem: numbers of its first convolutions; stem_flops: what they cost for the whole source.
    cross: numbers of the matrices that turn its output into each decoder layer's keys and
    values, once.
    """

    source: int
    layers: tuple[LayerWork, ...]
    cross: int
    stem: int = 0
    stem_flops: int = 0

    @property
    def flops(self) -> int:
        """The whole source, read once, cross keys and values included."""
        blocks = sum(square_prefill_flops(layer, self.source) for layer in self.layers)
        return blocks + 2 * self.cross * self.source + self.stem_flops

    @property
    def weights(self) -> int:
        """Numbers of all its matrices."""
        return sum(layer.weights_kept for layer in self.layers) + self.cross + self.stem


@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """All layers, what stands before and after them, and an encoder where there is one.

    table: input tables of their own, looked up only. ends: matrices that every token passes
    outside the layers. assumed: conventions that this model's count rests on.
    """

    name: str
    layers: tuple[LayerWork, ...]
    head: int  # numbers of the output matrix, width times vocabulary
    table: int = 0
    ends: int = 0
    encoder: EncoderWork | None = None
    assumed: tuple[str, ...] = ()

    @cached_property
    def alike(self) -> tuple[tuple[LayerWork, int], ...]:
        """Each kind of layer once, and how many layers are of it."""
        return tuple(Counter(self.layers).items())

    def decode_flops(self, context: int) -> int:
        """One decode step of one sequence, its logits included."""
        layers = sum(n * layer.decode_flops(context) for layer, n in self.alike)
        return layers + 2 * self.ends + 2 * self.head

    def prefill_flops(self, new: int, cached: int = 0, logits: int = 1) -> int:
        """One pass over `new` tokens; logits are needed of the last one alone.

        With an encoder, the first pass reads the source as well, whatever its length; `new`
        counts the decoder's own tokens.
        """
        if not 0 <= logits <= new:
            message = f"logits of {logits} of {new} tokens: ask for 0 to {new}"
            raise BadInput(message)
        blocks = sum(n * layer.prefill_flops(new, cached) for layer, n in self.alike)
        source = self.encoder.flops if self.encoder and new and not cached else 0
        return blocks + 2 * self.ends * new + 2 * self.head * logits + source

    @property
    def weights_used(self) -> int:
        """Active weights: those that one decode step multiplies a token with."""
        rows = sum(part.row_weights for layer in self.layers for part in layer.parts)
        return sum(layer.weights_used for layer in self.layers) + rows + self.ends + self.head

    def weights_read(self, n_tokens: int) -> float:
        """Weights read once by a decoding pass of `n_tokens` tokens; of input tables a row each."""
        return (
            sum(n * layer.weights_read(n_tokens) for layer, n in self.alike) + self.ends + self.head
        )

    @property
    def weights_kept(self) -> int:
        """Numbers of all matrices in memory."""
        decoder = sum(n * layer.weights_kept for layer, n in self.alike) + self.ends + self.head
        return decoder + self.table + (self.encoder.weights if self.encoder else 0)

    def cache_read(self, context: int) -> int:
        """Numbers one query token reads from the cache of one sequence, states apart."""
        return sum(n * layer.cache_read(context) for layer, n in self.alike)

    def cache_kept(self, context: int) -> int:
        """Numbers in the cache of a sequence of `context` tokens, states apart."""
        return sum(n * layer.cache_kept(context) for layer, n in self.alike)

    def cache_written(self) -> Fraction:
        """Numbers one token adds."""
        return sum((layer.written_per_token for layer in self.layers), Fraction(0))

    @property
    def cross_written(self) -> int:
        """Numbers an encoder's output adds to the cache, once."""
        parts = (part for layer in self.layers for part in layer.parts)
        return sum(part.row * part.source for part in parts if part.source is not None)

    @property
    def state_bytes(self) -> int:
        """Bytes of the states of one sequence, which do not grow."""
        return sum(layer.states_bytes for layer in self.layers)


def dense_layer(  # noqa: PLR0913 - a block is these sizes
    *,
    d_model: int,
    heads: int,
    kv_heads: int,
    d_head: int,
    d_ff: int,
    feed_forward_matrices: int,
    window: int | None = None,
) -> LayerWork:
    """Count a block of attention and a dense feed-forward network (3 matrices when gated).

    >>> classic(4096).decode_flops(2048)
    436207616
    """
    attention = 2 * d_model * d_head * (heads + kv_heads)
    return LayerWork(
        weights=attention + feed_forward_matrices * d_model * d_ff,
        score_width=heads * d_head,
        mix_width=heads * d_head,
        row=2 * kv_heads * d_head,
        written=2 * kv_heads * d_head,
        window=window,
    )


def decoder_work(config: DecoderConfig) -> ModelWork:
    """Count the small decoder of `model.decoder`: what its own counters must agree with."""
    layers = tuple(
        dense_layer(
            d_model=config.d_model,
            heads=config.n_heads,
            kv_heads=config.n_kv_heads,
            d_head=config.d_head,
            d_ff=config.d_ff,
            feed_forward_matrices=3,
            window=config.window_of(layer),
        )
        for layer in range(config.n_layers)
    )
    table = config.d_model * config.vocab_size
    return ModelWork(name="small decoder", layers=layers, head=table, table=table)


def classic(d_model: int, d_head: int = 64) -> LayerWork:
    """Count the block of 2017: full heads, d_ff = 4 d. A token costs 24 d^2 + 4 d T.

    T counts the keys read, the token's own included.
    """
    if d_model % d_head:
        message = f"heads of {d_head} do not fill a width of {d_model}: use a divisor"
        raise BadInput(message)
    heads = d_model // d_head
    return dense_layer(
        d_model=d_model,
        heads=heads,
        kv_heads=heads,
        d_head=d_head,
        d_ff=4 * d_model,
        feed_forward_matrices=2,
    )


def square_prefill_flops(layer: LayerWork, new: int) -> int:
    """Count the full square of scores, as kernels do that mask after multiplying."""
    return 2 * layer.weights_used * new + layer.attention_flops(new * new)
