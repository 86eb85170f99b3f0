"""Run the toy on a typed text, with and without the cache, and keep everything."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from model.errors import BadInput
from model.toy import decode, network, trace
from model.toy.arithmetic import Arithmetic, FixedOrder, tensor_of
from model.toy.config import ToyConfig
from model.toy.decode import Choice, Source, likeliest
from model.toy.lexicon import is_slot
from model.toy.network import Network, sinusoids
from model.toy.parameters import Parameters, assemble
from model.toy.tokens import Reading, read
from model.toy.vocabulary import END, START, vocabularies
from model.toy.weights import Weights, load


class Toy(NamedTuple):
    """A configuration and trained parameters."""

    config: ToyConfig
    parameters: Parameters


@cache
def shipped() -> Toy:
    """Load the toy the page uses."""
    config = ToyConfig()
    return toy_of(config, load(config))


def toy_of(config: ToyConfig, weights: Weights) -> Toy:
    """Put weights to work, with position codes for every place that can be reached."""
    return Toy(config, assemble(config, weights, sinusoids(config, config.max_written + 1)))


def understand(text: str, config: ToyConfig) -> Reading:
    """Read a text, or say what to type."""
    reading = read(text, config.max_words)
    if not reading.tokens:
        hidden = f" but {reading.n_dropped} invisible characters" if reading.n_dropped else ""
        raise BadInput(f"there is nothing to read{hidden}: type at least 1 word")
    return reading


def source_ids(reading: Reading, config: ToyConfig) -> list[int]:
    ids = vocabularies(config).english.ids
    return [ids[word] for word in (*reading.words, END)]


def may_write(source: Sequence[str], config: ToyConfig) -> Tensor:
    """Mark the words that may be written: no start mark, no slot the sentence lacks."""
    words = vocabularies(config).french.words
    absent = {word for word in words if is_slot(word)} - set(source) | {START}
    return torch.tensor([word not in absent for word in words])


def source_of(model: Network, reading: Reading) -> tuple[network.Encoded, Source]:
    config = model.config
    french = vocabularies(config).french.ids
    encoded = model.encode(tensor_of(source_ids(reading, config)))
    model.arithmetic.take_work()  # the encoder is the same in both runs
    allowed = may_write(reading.words, config)
    return encoded, Source(encoded.memory, allowed, french[START], french[END], config.max_written)


Make = Callable[[], Arithmetic]


def record(
    text: str,
    toy: Toy | None = None,
    make_arithmetic: Make = FixedOrder,
    choose: Choice = likeliest,
) -> trace.Trace:
    """Both runs of a text. Raises BadInput where there is nothing to read.

    Pass `Blas` for the library's order of sums, `decode.forced` for given words.
    """
    config, parameters = toy or shipped()
    reading = understand(text, config)
    with torch.inference_mode():
        model = Network(config, parameters, make_arithmetic())
        encoded, source = source_of(model, reading)
        naive = recorded_run(decode.decode_naive(model, source, choose), config)
        cached = recorded_run(decode.decode_cached(model, source, choose), config)
        return trace.Trace(
            reading=reading,
            source=(*reading.words, END),
            vocabulary=vocabularies(config).french.words,
            start=START,
            end=END,
            encoder=frozen(encoded),
            naive=naive,
            cached=cached,
        )


Decode = Callable[[Network, Source], Iterable[decode.Step]]


def record_run(text: str, decoding: Decode, toy: Toy | None = None) -> trace.Run:
    """One run of a text by any way of decoding.

    `record_run(text, partial(decode_naive, mask=bidirectional))` shows rows that move.
    """
    config, parameters = toy or shipped()
    with torch.inference_mode():
        model = Network(config, parameters, FixedOrder())
        _, source = source_of(model, understand(text, config))
        return recorded_run(decoding(model, source), config)


def record_prefill(
    text: str, prompt: Sequence[str], split: Sequence[int], toy: Toy | None = None
) -> tuple[trace.KeysValues, ...]:
    """Keys and values per decoder layer after the prompt was read in chunks of sizes `split`."""
    config, parameters = toy or shipped()
    ids = vocabularies(config).french.ids
    with torch.inference_mode():
        model = Network(config, parameters, FixedOrder())
        _, source = source_of(model, understand(text, config))
        kept = decode.prefill(model, source, [ids[word] for word in prompt], split).keys_values
    return tuple(trace.KeysValues(frozen(layer.k), frozen(layer.v)) for layer in kept)


def recorded_run(steps: Iterable[decode.Step], config: ToyConfig) -> trace.Run:
    """Freeze each step as it is made, before the next one can touch anything."""
    words = vocabularies(config).french.words
    recorded = tuple(recorded_step(step, words) for step in steps)
    cross = (layer.cross for layer in recorded[-1].layers)
    return trace.Run(tuple(trace.KeysValues(a.k, a.v) for a in cross), recorded)


def recorded_step(step: decode.Step, words: tuple[str, ...]) -> trace.Step:
    return trace.Step(
        fed=tuple(words[word] for word in step.decoded.fed.tolist()),
        embedded=frozen(step.decoded.embedded),
        layers=frozen(step.decoded.layers),
        logits=frozen(step.logits),
        probabilities=frozen(step.probabilities),
        word=words[step.word],
        word_id=step.word,
        work=trace.Work(**vars(step.work)),
        cache_bytes=step.cache_bytes,
    )


RECORDED: dict[type, Callable[..., Any]] = {
    network.Embedded: trace.Embedded,
    network.Attended: trace.Attention,
    network.EncoderPass: trace.EncoderLayer,
    network.DecoderPass: trace.DecoderLayer,
    network.Encoded: trace.Encoder,
}


def frozen(computed: Any) -> Any:
    """Tensors as read-only copies, the network's tuples as the trace's records."""
    if type(computed) is Tensor:
        array = computed.numpy().copy()
        array.setflags(write=False)
        return array
    return RECORDED.get(type(computed), _tuple)(*map(frozen, computed))


def _tuple(*parts: Any) -> tuple[Any, ...]:
    return parts
