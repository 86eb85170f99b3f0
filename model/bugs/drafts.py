"""Speculation that remembers what was refused, forgets what stood, or mends the wrong law."""

from collections.abc import Callable, Iterator, Sequence

import torch

from model.bugs.bench_decoder import (
    CAPACITY,
    N_PROMPT,
    TOKENS,
    observed,
    random_tokens,
    recompute,
    right_decoder,
)
from model.bugs.bug import Bug, Gauge, Observed
from model.chance import Chance, Seeded, exact_law
from model.decoder import Decoder
from model.drafters import CachedModel, ModelDrafter
from model.sampling import Sampling
from model.speculation import Draft, Law, Limits, Round, speculate

LAWS = "tests/test_serving_laws.py::"
STEP = "going-deeper#speculative-decoding"
N_DRAFTS = 4
GREEDY = Sampling(temperature=0.0)


class KeepsEverything(CachedModel):
    """Leaves the rows of refused drafts where they are."""

    def keep(self, n_tokens: int) -> None:
        """Roll nothing back."""


class FeedsTheLastOnly(ModelDrafter):
    """Starts each round from the newest token: one is fed at each step, one thinks."""

    def propose(self, text: Sequence[int], n: int, chance: Chance) -> Draft:
        draft = Draft([], [])
        feed = [text[-1]] if self.model.length else list(text)
        for _ in range(n):
            law = self.sampling.law(self.model.run(feed))[-1]
            token = chance.choose(law)
            draft.tokens.append(token)
            draft.laws.append(law)
            feed = [token]
        return draft


def softmax_of_the_rest(p: Law, q: Law) -> Law:
    """Make what p still lacks a distribution by softmax, where dividing by its sum is meant."""
    return (p - q).clamp(min=0.0).softmax(dim=-1)


def refused_drafts(make: type[CachedModel]) -> Observed:
    """Bench: after the prompt two drafts are checked with a token, and both are refused."""
    decoder = right_decoder()
    model = make(decoder, decoder.new_cache(CAPACITY))
    logits = [model.run(TOKENS[:N_PROMPT].tolist())[-1]]
    checked = [int(TOKENS[N_PROMPT]), *random_tokens(2, seed=7).tolist()]
    logits.append(model.run(checked)[0])
    model.keep(N_PROMPT + 1)
    rows = Gauge(f"rows after {N_PROMPT + 1} tokens that stand", model.length)
    logits += [model.run([int(token)])[-1] for token in TOKENS[N_PROMPT + 1 :]]
    return observed(recompute(decoder, TOKENS), torch.stack(logits), gauges=[rows])


def drafting_for_itself(make: type[ModelDrafter]) -> Observed:
    """Bench: the draft model is a copy of the target, so every draft ought to stand."""
    decoder = right_decoder()
    target, model = (CachedModel(decoder, decoder.new_cache(CAPACITY)) for _ in range(2))
    prompt = TOKENS[:N_PROMPT].tolist()
    text, rounds, rows = list(prompt), [], []
    for one in rounds_of(target, make(model, GREEDY), prompt):
        rounds.append(one)
        text += one.tokens
        rows.append(f"{model.length} of {len(text) - 1}")
    drafted = sum(len(one.drafted) for one in rounds)
    gauges = [
        Gauge("drafts that stood", f"{sum(one.accepted for one in rounds)} of {drafted}"),
        Gauge("passes of the target", len(rounds)),
        Gauge("rows of the draft model after each round", ", ".join(rows)),
    ]
    return as_written(decoder, prompt, text, gauges)


def rounds_of(target: CachedModel, drafter: ModelDrafter, prompt: list[int]) -> Iterator[Round]:
    """Speculate greedily until as many tokens are written as the other benches feed."""
    return speculate(
        target,
        drafter,
        prompt,
        limits=Limits(new_tokens=len(TOKENS) - N_PROMPT, draft_tokens=N_DRAFTS),
        sampling=GREEDY,
        chance=Seeded(torch.Generator().manual_seed(0)),
    )


def as_written(
    decoder: Decoder, prompt: list[int], text: list[int], gauges: list[Gauge]
) -> Observed:
    """Compare the text with plain greedy decoding, by the logits each of them saw."""
    greedy = list(prompt)
    while len(greedy) < len(text):
        greedy.append(int(decoder(torch.tensor(greedy))[-1].argmax()))
    expected, found = (recompute(decoder, torch.tensor(one[:-1])) for one in (greedy, text))
    return observed(expected, found, torch.tensor(text[:-1]), gauges)


TARGET, DRAFT = (
    torch.tensor(law, dtype=torch.float64) for law in ([0.6, 0.3, 0.1], [0.2, 0.5, 0.3])
)


def one_draft(mend: Callable[[Law, Law], Law]) -> Observed:
    """Bench: one draft over three tokens, every branch of chance enumerated."""

    def emitted(chance: Chance) -> int:
        token = chance.choose(DRAFT)
        stands = chance.happens(min(1.0, float(TARGET[token] / DRAFT[token])))
        return token if stands else chance.choose(mend(TARGET, DRAFT))

    law = exact_law(emitted)
    found = torch.tensor([[law.get(i, 0.0) for i in range(len(TARGET))]], dtype=torch.float64)
    words = tuple("abc")
    told = ", ".join(f"{word} {p:.5f}" for word, p in zip(words, found[0].tolist(), strict=True))
    gauge = Gauge("law of the emitted token", told)
    return Observed(TARGET[None], found, words, ("one draft",), (gauge,))


BUGS = {
    "rejected-drafts-left": Bug(
        id="rejected-drafts-left",
        title="Refused drafts stay in the cache",
        story=(
            "The target checks several drafts in one pass, and that pass writes a row for each "
            "of them. Two are refused. If their rows stay, the text goes on from words that were "
            "never said, and every later position is two too far."
        ),
        source="romsto/Speculative-Decoding#1",
        step=STEP,
        fix="After each round, roll back to the tokens that stand, but for the last one.",
        right="model.drafters:CachedModel",
        twin="model.bugs.drafts:KeepsEverything",
        method="keep",
        seam="model",
        bench=refused_drafts,
        caught_by=f"{LAWS}test_refused_drafts_leave_nothing_behind",
    ),
    "draft-row-missing": Bug(
        id="draft-row-missing",
        title="The draft model misses a row",
        story=(
            "When all drafts stand, the last of them was written by the draft model and never "
            "fed to it. The next round feeds only the newest token, so its cache has a gap of one "
            "row. The text stays right, because the target checks everything; the guesses get "
            "worse and the speed-up melts away."
        ),
        source="vllm-project/vllm#4212",
        step=STEP,
        fix="Feed the draft model every token of the text that it has no row of.",
        right="model.drafters:ModelDrafter",
        twin="model.bugs.drafts:FeedsTheLastOnly",
        method="propose",
        seam="drafter",
        bench=drafting_for_itself,
        caught_by=f"{LAWS}test_a_draft_model_like_the_target_is_always_right",
    ),
    "acceptance-law": Bug(
        id="acceptance-law",
        title="The remainder through a softmax",
        story=(
            "A refused draft is replaced by a token from what the target's distribution still "
            "lacks: the positive part of p − q, divided by its sum. Put through a softmax "
            "instead, tokens that lack nothing get a share as well. Every single text looks "
            "fine; only their frequencies are wrong, and nobody counts those."
        ),
        source="huggingface/transformers#28508",
        step=STEP,
        fix="Normalise the remainder by its sum, and test the law by enumeration.",
        right="model.speculation:residual",
        twin="model.bugs.drafts:softmax_of_the_rest",
        seam="mend",
        bench=one_draft,
        compared="probabilities",
        caught_by=f"{LAWS}test_speculation_emits_the_targets_law",
    ),
}
