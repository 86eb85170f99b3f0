"""What running a model asks for: multiplications and bytes, layer by layer.

One multiply-add is 2 FLOPs. Norms, softmax, rotary turns and biases are not counted: at a
width of thousands they are thousands of times smaller.
"""

from dataclasses import dataclass

from model.config import DecoderConfig
from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class ExpertWork:
    """Experts of a layer: each token uses `used` of `count`, all of the same size."""

    count: int
    used: int
    weights: int  # numbers of one expert

    def touched(self, n_tokens: int) -> float:
        """How many experts `n_tokens` tokens use together, on average, if they choose evenly."""
        return self.count * (1 - (1 - self.used / self.count) ** n_tokens)


@dataclass(frozen=True, kw_only=True)
class LayerWork:
    """One layer, in numbers.

    weights: in the matrices every token passes (projections, dense feed-forward, router,
    shared experts). score_width, mix_width: products per key of one query token, over all
    query heads (heads times key width, heads times value width). row: numbers read per key
    kept, from this layer's cache or its owner's. written: numbers a new token adds.
    window: the newest keys, all that is kept; best: the most a query reads of what is kept.
    index_width, index_row: products and numbers per key of the index that chooses the best.
    """

    weights: int
    score_width: int
    mix_width: int
    row: int
    written: int
    window: int | None = None
    best: int | None = None
    index_width: int = 0
    index_row: int = 0
    experts: ExpertWork | None = None
    expanded: "LayerWork | None" = None  # MLA: the cheaper form for many queries at once

    @property
    def weights_used(self) -> int:
        """Weights that one token is multiplied with."""
        return self.weights + (self.experts.used * self.experts.weights if self.experts else 0)

    def weights_read(self, n_tokens: int) -> float:
        """Weights that have to be read once for `n_tokens` tokens: only experts in use."""
        touched = self.experts.touched(n_tokens) * self.experts.weights if self.experts else 0.0
        return self.weights + touched

    @property
    def weights_kept(self) -> int:
        """Weights in memory, every expert included."""
        return self.weights + (self.experts.count * self.experts.weights if self.experts else 0)

    def keys(self, context: int) -> int:
        """Keys one query reads when `context` tokens are seen, itself included."""
        return context if self.most_keys is None else min(context, self.most_keys)

    @property
    def most_keys(self) -> int | None:
        """The most keys one query reads, None when there is no limit."""
        limits = [limit for limit in (self.window, self.best) if limit is not None]
        return min(limits, default=None)

    def attention_flops(self, keys: int) -> int:
        """Scores and mix of one query over so many keys. Grouping heads changes nothing here."""
        return 2 * (self.score_width + self.mix_width) * keys

    def decode_flops(self, context: int) -> int:
        """One token, the newest of `context`."""
        attention = self.attention_flops(self.keys(context)) + 2 * self.index_width * context
        return 2 * self.weights_used + attention

    def prefill_flops(self, new: int, cached: int = 0) -> int:
        """`new` tokens at once after `cached` ones, the causal half alone."""
        form = self.expanded or self
        attention = form.attention_flops(form.causal_keys(new, cached))
        indexed = 2 * form.index_width * _all_keys(new, cached)
        return 2 * form.weights_used * new + attention + indexed

    def causal_keys(self, new: int, cached: int = 0) -> int:
        """Keys read by `new` queries together: the sum of cached + 1 .. cached + new, capped."""
        if self.most_keys is None:
            return _all_keys(new, cached)
        growing = min(max(self.most_keys - cached, 0), new)
        return _all_keys(growing, cached) + (new - growing) * self.most_keys

    def cache_read(self, context: int) -> int:
        """Numbers one query reads from the cache."""
        return self.row * self.keys(context) + self.index_row * context

    def cache_kept(self, context: int) -> int:
        """Numbers kept for a sequence of `context` tokens: what a window drops is gone."""
        return self.written * (context if self.window is None else min(context, self.window))


def _all_keys(new: int, cached: int) -> int:
    return new * cached + new * (new + 1) // 2


@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """All layers and the output matrix. `table`: an input table of its own, looked up only."""

    name: str
    layers: tuple[LayerWork, ...]
    head: int  # numbers of the output matrix, width times vocabulary
    table: int = 0

    def decode_flops(self, context: int) -> int:
        """One decode step of one sequence, its logits included."""
        return sum(layer.decode_flops(context) for layer in self.layers) + 2 * self.head

    def prefill_flops(self, new: int, cached: int = 0, logits: int = 1) -> int:
        """One pass over `new` tokens; logits are needed of the last one alone."""
        if not 0 <= logits <= new:
            message = f"logits of {logits} of {new} tokens: ask for 0 to {new}"
            raise BadInput(message)
        blocks = sum(layer.prefill_flops(new, cached) for layer in self.layers)
        return blocks + 2 * self.head * logits

    def weights_read(self, n_tokens: int) -> float:
        """Weights read once by a pass of `n_tokens` tokens; of the input table a row each."""
        return sum(layer.weights_read(n_tokens) for layer in self.layers) + self.head

    @property
    def weights_kept(self) -> int:
        """Numbers of all matrices in memory."""
        return sum(layer.weights_kept for layer in self.layers) + self.head + self.table

    def cache_read(self, context: int) -> int:
        """Numbers one query token reads from the cache of one sequence."""
        return sum(layer.cache_read(context) for layer in self.layers)

    def cache_kept(self, context: int) -> int:
        """Numbers in the cache of a sequence of `context` tokens."""
        return sum(layer.cache_kept(context) for layer in self.layers)

    def cache_written(self) -> int:
        """Numbers one token adds."""
        return sum(layer.written for layer in self.layers)


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
