"""Write on from a prompt: prefill in chunks, then one pass per token, as a stream of events.

The caller owns the pace: nothing runs between two `next()` calls, and `close()` ends a run.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from model.engine.devices import out_of_memory_as_bad_input
from model.engine.events import Event, Finished, Prefilled, Written
from model.engine.session import Session
from model.engine.tokenizer import TextTokenizer
from model.errors import BadInput
from model.sampling import Sampling, greedy

Drafter = Callable[[Sequence[int], int], Sequence[int]]
"""Guesses up to n tokens that may follow a text; wrong guesses cost time, never correctness."""

GREEDY = Sampling(temperature=0.0)


def never() -> bool:
    """Let a run go on to its end."""
    return False


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to write.

    chunk: most prompt tokens in one pass; drafter: guesses `n_drafts` tokens that one pass then
    verifies; cancelled: asked before every pass.
    """

    max_tokens: int = 128
    sampling: Sampling = GREEDY
    seed: int = 0
    eos: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    chunk: int = 512
    drafter: Drafter | None = None
    n_drafts: int = 4
    cancelled: Callable[[], bool] = never

    def __post_init__(self) -> None:
        for name in ("max_tokens", "chunk", "n_drafts"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, got {getattr(self, name)}"
                raise BadInput(message)


def check_prompt(prompt: Sequence[int], session: Session, options: Options) -> None:
    """Refuse what could not be written to its end."""
    config = session.model.config
    if not prompt:
        message = "the prompt holds 0 tokens: give at least 1"
        raise BadInput(message)
    if not all(0 <= token < config.vocab_size for token in prompt):
        message = (
            f"the prompt has token {max(prompt)}, the vocabulary ends at {config.vocab_size - 1}"
        )
        raise BadInput(message)
    needed = len(prompt) + options.max_tokens
    if session.bounded and needed > config.context:
        message = (
            f"{len(prompt)} prompt and {options.max_tokens} new tokens do not fit in the model's "
            f"context of {config.context}: ask for at most {max(config.context - len(prompt), 0)}"
        )
        raise BadInput(message)


def generate(
    session: Session,
    prompt: Sequence[int],
    options: Options | None = None,
    tokenizer: TextTokenizer | None = None,
) -> Generator[Event, None, None]:
    """Yield `Prefilled` per chunk, `Written` per token, `Finished` last. Raises BadInput."""
    options = options or Options(eos=session.model.config.eos)
    check_prompt(prompt, session, options)
    run = Run(session, prompt, options, tokenizer)
    yield from run.prefill()
    yield from run.decode()
    yield run.account()


class Run:
    """One request under way. The last new token is pending: chosen, but not fed yet."""

    def __init__(
        self,
        session: Session,
        prompt: Sequence[int],
        options: Options,
        tokenizer: TextTokenizer | None,
    ) -> None:
        self.session, self.options = session, options
        self.prompt, self.new = list(prompt), list[int]()
        self.speller = None if tokenizer is None else Speller(tokenizer)
        self.text = ""
        self.generator = torch.Generator().manual_seed(options.seed)
        self.reason: str | None = None
        self.n_passes = 0
        self.prefill_watch, self.decode_watch = Stopwatch(), Stopwatch()

    def prefill(self) -> Iterator[Event]:
        """Feed the prompt in chunks; only the last row of the last one is scored."""
        watch, n_done, n_tokens = self.prefill_watch, 0, len(self.prompt)
        while n_done < n_tokens and not self.ended():
            with watch:
                chunk = self.session.chunk(self.options.chunk)
                rows = self.feed(self.prompt[n_done : n_done + chunk])
            n_done = min(n_done + chunk, n_tokens)
            if n_done == n_tokens:
                with watch:
                    logits = self.score(rows[-1:])
                    token = self.choose(logits[0])
                yield Prefilled(n_done=n_done, n_tokens=n_tokens, seconds=watch.seconds)
                yield self.write(token, logits[0])
            else:
                yield Prefilled(n_done=n_done, n_tokens=n_tokens, seconds=watch.seconds)

    def decode(self) -> Iterator[Event]:
        """Feed the pending token and the drafts after it, until something ends the run."""
        while not self.ended():
            with self.decode_watch:
                drafts = self.drafts()
                logits = self.score(self.feed([self.new[-1], *drafts]))
                self.n_passes += 1
            yield from self.take(logits, drafts)

    def take(self, logits: Float[Tensor, "new vocab"], drafts: Sequence[int]) -> Iterator[Event]:
        """Choose a token at each row, as long as the drafts foretold the ones before it.

        A draft is kept if the model draws the same token itself. So the text, and the law of
        a sampled text, are those of decoding without drafts (arXiv 2211.17192 with a certain q).
        """
        for row, draft in zip(logits, [*drafts, None], strict=True):
            with self.decode_watch:
                token = self.choose(row)
            yield self.write(token, row)
            if token != draft or self.reason is not None:
                break
        fed = len(self.prompt) + len(self.new) - 1
        if self.session.length > fed:
            self.session.crop(fed)

    def feed(self, tokens: Sequence[int]) -> Float[Tensor, "new d_model"]:
        with out_of_memory_as_bad_input():
            rows = torch.tensor([list(tokens)], device=self.session.model.device)
            return self.session.feed(rows)[0]

    @torch.inference_mode()
    def score(self, rows: Float[Tensor, "new d_model"]) -> Float[Tensor, "new vocab"]:
        return self.session.model.logits(rows)

    def choose(self, logits: Float[Tensor, " vocab"]) -> int:
        if self.options.sampling.temperature == 0:
            return int(greedy(logits))
        return int(self.options.sampling.choose(logits, self.generator))

    def drafts(self) -> list[int]:
        """Ask for guesses, but for no more tokens than may still be written."""
        room = self.options.max_tokens - len(self.new) - 1
        if self.options.drafter is None or room < 1:
            return []
        wanted = min(self.options.n_drafts, room)
        return list(self.options.drafter([*self.prompt, *self.new], wanted))[:wanted]

    def write(self, token: int, logits: Float[Tensor, " vocab"]) -> Written:
        """Add a token to the text and see whether it ends it."""
        self.new.append(token)
        piece = "" if self.speller is None else self.speller.spell(token)
        self.text += piece
        if token in self.options.eos:
            self.reason = "eos"
        elif any(stop in self.text for stop in self.options.stop):
            self.reason = "stop"
        elif len(self.new) == self.options.max_tokens:
            self.reason = "length"
        return Written(
            token=token,
            text=piece,
            probability=float(logits.float().softmax(dim=-1)[token]),
            n_new=len(self.new),
            seconds=self.decode_watch.seconds,
            nbytes=self.session.nbytes,
            nbytes_held=self.session.nbytes_held,
        )

    def ended(self) -> bool:
        """Ask the caller, too, before every pass."""
        if self.reason is None and self.options.cancelled():
            self.reason = "cancelled"
        return self.reason is not None

    def account(self) -> Finished:
        return Finished(
            reason=self.reason or "length",
            text=self.text,
            n_prompt=len(self.prompt),
            n_new=len(self.new),
            n_passes=self.n_passes,
            prefill_seconds=self.prefill_watch.seconds,
            decode_seconds=self.decode_watch.seconds,
            nbytes=self.session.nbytes,
            nbytes_held=self.session.nbytes_held,
        )


class Speller:
    """Tokens to text as they come: bytes of a half-written character wait for the rest."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        from tokenizers.decoders import DecodeStream  # noqa: PLC0415 - an extra

        self.tokens = tokenizer.tokens
        self.stream = DecodeStream(skip_special_tokens=True)

    def spell(self, token: int) -> str:
        return self.stream.step(self.tokens, token) or ""


class Stopwatch:
    """Seconds spent inside `with` blocks: the caller's own time between events is not ours."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start
