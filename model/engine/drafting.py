"""Guesses from the text itself, as `generate` asks for them."""

from collections.abc import Sequence

import torch

from model.chance import Seeded
from model.drafters import PromptLookup
from model.engine.generate import Drafter


def prompt_lookup(vocab_size: int, longest: int = 3) -> Drafter:
    """Guess what followed the last words when they last stood in the text."""
    lookup = PromptLookup(vocab_size, longest)
    chance = Seeded(torch.Generator())  # asked for, never drawn from: a lookup is certain

    def guess(text: Sequence[int], n: int) -> list[int]:
        return lookup.propose(text, n, chance).tokens

    return guess
