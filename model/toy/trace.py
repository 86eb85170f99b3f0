"""A recording of one sentence's two runs, as plain NumPy: all that a figure may look at.

Arrays are float64, C-ordered and read-only, so that one trace can be shared by every reader.
Axes: `new` are the words fed in a step (all of them without a cache, one with it), `seen` the
words read so far, `source` the source words and their end mark.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from model.toy.tokens import Reading, spell


@dataclass(frozen=True)
class KeysValues:
    k: Float[np.ndarray, "kv_heads seen d_head"]
    v: Float[np.ndarray, "kv_heads seen d_head"]

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes


@dataclass(frozen=True)
class Attention:
    """One attention, from its queries to its output."""

    q: Float[np.ndarray, "heads new d_head"]
    k: Float[np.ndarray, "kv_heads seen d_head"]
    v: Float[np.ndarray, "kv_heads seen d_head"]
    scores: Float[np.ndarray, "heads new seen"]  # divided by sqrt(d_head); masked ones are -inf
    weights: Float[np.ndarray, "heads new seen"]
    heads: Float[np.ndarray, "heads new d_head"]
    out: Float[np.ndarray, "new d_model"]


@dataclass(frozen=True)
class Embedded:
    embedding: Float[np.ndarray, "new d_model"]  # times sqrt(d_model)
    position: Float[np.ndarray, "new d_model"]
    x: Float[np.ndarray, "new d_model"]  # their sum, what the first layer reads


@dataclass(frozen=True)
class EncoderLayer:
    attention: Attention
    norm1: Float[np.ndarray, "new d_model"]
    hidden: Float[np.ndarray, "new d_ff"]
    feed_forward: Float[np.ndarray, "new d_model"]
    norm2: Float[np.ndarray, "new d_model"]  # the layer's output


@dataclass(frozen=True)
class DecoderLayer:
    attention: Attention
    norm1: Float[np.ndarray, "new d_model"]
    cross: Attention  # its `seen` are the source words
    norm2: Float[np.ndarray, "new d_model"]
    hidden: Float[np.ndarray, "new d_ff"]
    feed_forward: Float[np.ndarray, "new d_model"]
    norm3: Float[np.ndarray, "new d_model"]  # the layer's output


@dataclass(frozen=True)
class Encoder:
    embedded: Embedded
    layers: tuple[EncoderLayer, ...]
    memory: Float[np.ndarray, "source d_model"]


@dataclass(frozen=True)
class Work:
    """What was computed, counted by the code that computed it."""

    positions: int
    projected_rows: int
    memory_rows: int
    self_scores: int
    cross_scores: int
    multiply_adds: int

    @property
    def scores(self) -> int:
        return self.self_scores + self.cross_scores

    @property
    def flops(self) -> int:
        """A multiply and an add for each multiply-add."""
        return 2 * self.multiply_adds

    def __add__(self, other: "Work") -> "Work":
        return Work(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def astuple(work: Work) -> tuple[int, ...]:
    return tuple(vars(work).values())


@dataclass(frozen=True)
class Step:
    """One decode step: all that was computed to write one word."""

    fed: tuple[str, ...]  # the words read in this step
    embedded: Embedded
    layers: tuple[DecoderLayer, ...]
    logits: Float[np.ndarray, " vocab"]  # before the words this sentence cannot have are ruled out
    probabilities: Float[np.ndarray, " vocab"]
    word: str
    word_id: int
    work: Work
    cache_bytes: int  # of keys and values kept after this step, measured on the tensors

    @property
    def n_new(self) -> int:
        return len(self.fed)

    @property
    def n_seen(self) -> int:
        return self.layers[0].attention.k.shape[1]

    @property
    def probability(self) -> float:
        return float(self.probabilities[self.word_id])

    def likeliest(self, n: int) -> np.ndarray:
        """Ids of the n likeliest words, the likeliest first."""
        return np.argsort(-self.probabilities, kind="stable")[:n]


@dataclass(frozen=True)
class Run:
    """A sentence written once, with or without a cache."""

    cross: tuple[KeysValues, ...]  # keys and values of the source, one pair a decoder layer
    steps: tuple[Step, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(step.word for step in self.steps)

    @property
    def work(self) -> Work:
        return sum((step.work for step in self.steps[1:]), start=self.steps[0].work)


@dataclass(frozen=True)
class Trace:
    """A typed text, its encoding, and both runs of the decoder."""

    reading: Reading
    source: tuple[str, ...]  # what the encoder read, the end mark last
    vocabulary: tuple[str, ...]  # the words that logits and probabilities are over
    start: str
    end: str
    encoder: Encoder
    naive: Run
    cached: Run

    @property
    def words(self) -> tuple[str, ...]:
        """The words written with the cache, the end mark included."""
        return self.cached.words

    @property
    def sentence(self) -> str:
        """The French as a reader sees it, carried words as they were typed."""
        written = tuple(word for word in self.words if word != self.end)
        return spell(written, self.reading.tokens)

    def shown(self, word: str) -> str:
        """Spell a word for a reader: a carried word as it was typed."""
        typed = {token.read: token.typed for token in self.reading.tokens}
        return typed[word] if word.startswith("<") and word in typed else word

    @property
    def finished(self) -> bool:
        """Whether the end mark was written before the step limit."""
        return self.words[-1] == self.end

    @property
    def same_words(self) -> bool:
        return self.naive.words == self.cached.words

    @property
    def max_abs_diff(self) -> float:
        """Largest difference of any logit between the two runs."""
        pairs = zip(self.naive.steps, self.cached.steps, strict=False)
        return float(max(np.abs(a.logits - b.logits).max() for a, b in pairs))

    @property
    def positions_naive(self) -> int:
        return self.naive.work.positions

    @property
    def positions_cached(self) -> int:
        return self.cached.work.positions

    @property
    def numbers_per_token(self) -> int:
        """Numbers the cache keeps for one written word, counted on the kept rows."""
        kept = [layer.attention for layer in self.cached.steps[0].layers]
        return sum(a.k.size + a.v.size for a in kept) // self.cached.steps[0].n_seen

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values kept when the last word has been written."""
        return self.cached.steps[-1].cache_bytes

    @property
    def cross_bytes(self) -> int:
        """Bytes of the source's keys and values: made once, the same at every step."""
        return sum(keys_values.nbytes for keys_values in self.cached.cross)
