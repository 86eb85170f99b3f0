"""What one layer asks for: multiplications and numbers moved, by one token or by many.

One multiply-add is 2 FLOPs. Norms, softmax, rotary turns, gates and biases are not counted: at
a width of thousands they are thousands of times smaller.
"""

from dataclasses import dataclass
from fractions import Fraction


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
    """One layer, or one part of it, in numbers.

    weights: in the matrices every token passes (projections, dense feed-forward, router,
    shared experts). score_width, mix_width: products per key of one query token, over all
    query heads (heads times key width, heads times value width). row: numbers read per key
    kept, from this layer's cache or its owner's. written: numbers a new row adds.
    every: the tokens a row stands for; only rows that are complete are read. row_weights: in
    matrices a row passes once, when it is complete. window: the newest tokens, all that is
    kept; best: the most rows a query reads of what is kept. index_width, index_row: products
    and numbers per row of the index that chooses the best; index_most: the most rows it looks
    at. source: cross-attention, the encoder's tokens, all read by every query.
    token_flops: a token's FLOPs with numbers that are neither weights nor cached rows (a
    state's update and read-out, a mix of streams). state_bytes: a memory that does not grow,
    read and written back by every token. beside: further parts of the same layer.
    """

    weights: int
    score_width: int = 0
    mix_width: int = 0
    row: int = 0
    written: int = 0
    every: int = 1
    row_weights: int = 0
    window: int | None = None
    best: int | None = None
    index_width: int = 0
    index_row: int = 0
    index_most: int | None = None
    source: int | None = None
    token_flops: int = 0
    state_bytes: int = 0
    experts: ExpertWork | None = None
    expanded: "LayerWork | None" = None  # MLA: the cheaper form for many queries at once
    beside: "tuple[LayerWork, ...]" = ()

    @property
    def parts(self) -> "tuple[LayerWork, ...]":
        """The part itself and those beside it: a layer's totals are sums over them."""
        return (self, *(part for other in self.beside for part in other.parts))

    @property
    def weights_used(self) -> int:
        """Weights that one token is multiplied with."""
        return sum(_used(part) for part in self.parts)

    def weights_read(self, n_tokens: int) -> float:
        """Weights that have to be read once for `n_tokens` tokens: only experts in use."""
        experts = [part.experts for part in self.parts if part.experts]
        always = sum(part.weights + part.row_weights for part in self.parts)
        return always + sum(one.touched(n_tokens) * one.weights for one in experts)

    @property
    def weights_kept(self) -> int:
        """Weights in memory, every expert included."""
        experts = [part.experts for part in self.parts if part.experts]
        always = sum(part.weights + part.row_weights for part in self.parts)
        return always + sum(one.count * one.weights for one in experts)

    def keys(self, context: int) -> int:
        """Keys one query of this part reads when `context` tokens are seen, itself included."""
        if self.source is not None:
            return self.source
        return _capped(context // self.every, self.most_keys)

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
        return sum(_decode_flops(part, context) for part in self.parts)

    def prefill_flops(self, new: int, cached: int = 0) -> int:
        """`new` tokens at once after `cached` ones, the causal half alone.

        A state is counted in its recurrent form, token by token; chunked kernels do more
        arithmetic to do it in fewer, larger products.
        """
        return sum(_prefill_flops(part, new, cached) for part in self.parts)

    def causal_keys(self, new: int, cached: int = 0) -> int:
        """Keys read by `new` queries together: the sum of `keys` at cached + 1 .. cached + new."""
        if self.source is not None:
            return self.source * new
        before = _sum_of_rows(cached, self.every, self.most_keys)
        return _sum_of_rows(cached + new, self.every, self.most_keys) - before

    def index_rows(self, context: int) -> int:
        """Rows the index looks at for one query."""
        return _capped(context // self.every, self.index_most)

    def cache_read(self, context: int) -> int:
        """Numbers one query reads from the cache, states apart."""
        return sum(
            part.row * part.keys(context) + part.index_row * part.index_rows(context)
            for part in self.parts
        )

    def cache_kept(self, context: int) -> int:
        """Numbers kept for a sequence of `context` tokens: what a window drops is gone."""
        return sum(_kept(part, context) for part in self.parts)

    @property
    def written_per_token(self) -> Fraction:
        """Numbers a new token adds to the cache, on average over the tokens of a row."""
        return sum((Fraction(part.written, part.every) for part in self.parts), Fraction(0))

    @property
    def states_bytes(self) -> int:
        """Bytes of the memories that do not grow, of all parts."""
        return sum(part.state_bytes for part in self.parts)


def _used(part: LayerWork) -> int:
    return part.weights + (part.experts.used * part.experts.weights if part.experts else 0)


def _decode_flops(part: LayerWork, context: int) -> int:
    attention = part.attention_flops(part.keys(context))
    indexed = 2 * part.index_width * part.index_rows(context)
    finished = 2 * part.row_weights * (context % part.every == 0)
    return 2 * _used(part) + attention + indexed + finished + part.token_flops


def _prefill_flops(part: LayerWork, new: int, cached: int) -> int:
    form = part.expanded or part
    attention = form.attention_flops(form.causal_keys(new, cached))
    looked_at = _sum_of_rows(cached + new, part.every, part.index_most)
    looked_at -= _sum_of_rows(cached, part.every, part.index_most)
    finished = (cached + new) // part.every - cached // part.every
    once = 2 * form.index_width * looked_at + 2 * part.row_weights * finished
    return (2 * _used(form) + part.token_flops) * new + attention + once


def _kept(part: LayerWork, context: int) -> int:
    if part.source is not None:
        return part.row * part.source
    return part.written * (_capped(context, part.window) // part.every)


def _capped(n: int, most: int | None) -> int:
    return n if most is None else min(n, most)


def _sum_of_rows(n: int, every: int, most: int | None) -> int:
    """Sum min(t // every, most) for t = 1 .. n, in closed form."""
    growing = n if most is None else min(n, most * every)
    whole, rest = divmod(growing, every)
    rows = every * (whole * (whole - 1) // 2) + whole * (rest + 1)
    return rows + (n - growing) * (most or 0)
