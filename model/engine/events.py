"""What a run tells whoever listens: progress, words, and the account at the end."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Prefilled:
    """`n_done` of the prompt's `n_tokens` are in the cache."""

    n_done: int
    n_tokens: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Written:
    """One more token. `text` may be empty: a character can take several tokens."""

    token: int
    text: str
    probability: float
    n_new: int
    seconds: float
    nbytes: int
    nbytes_held: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The account. reason: 'eos', 'length' (asked for no more), 'stop' or 'cancelled'.

    n_passes counts the passes after prefill: fewer than tokens if drafts were accepted.
    """

    reason: str
    text: str
    n_prompt: int
    n_new: int
    n_passes: int
    prefill_seconds: float
    decode_seconds: float
    nbytes: int
    nbytes_held: int

    @property
    def prefill_tokens_per_s(self) -> float:
        """Prompt tokens over the time to have read them all."""
        return self.n_prompt / self.prefill_seconds

    @property
    def decode_ms_per_token(self) -> float | None:
        """Milliseconds a token after the first, which prefill already paid for."""
        return 1e3 * self.decode_seconds / (self.n_new - 1) if self.n_new > 1 else None


Event = Prefilled | Written | Finished
