"""Several prompts of unequal length in one pass: padding is masked and takes no position."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from model.engine.generate import Options
from model.engine.model import LanguageModel
from model.engine.session import Remembering
from model.errors import BadInput
from model.sampling import greedy

Tokens = Int[Tensor, "batch new"]
Valid = Bool[Tensor, "batch new"]
Pad = Callable[[Sequence[Sequence[int]]], tuple[Tokens, Valid]]
PADDING = 0
"""Any token does: no text ever reads it."""


def pad_left(prompts: Sequence[Sequence[int]]) -> tuple[Tokens, Valid]:
    """Put padding before the shorter prompts, so that all end together.

    >>> pad_left([[5, 6, 7], [8]])[0].tolist()
    [[5, 6, 7], [0, 0, 8]]
    """
    tokens, valid = pad_right([prompt[::-1] for prompt in prompts])
    return tokens.flip(1), valid.flip(1)


def pad_right(prompts: Sequence[Sequence[int]]) -> tuple[Tokens, Valid]:
    """Put padding after the shorter prompts, so that all begin together.

    >>> pad_right([[5, 6, 7], [8]])[0].tolist()
    [[5, 6, 7], [8, 0, 0]]
    """
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    if not len(prompts) or int(lengths.min()) == 0:
        message = f"every one of the {len(prompts)} prompts needs at least 1 token"
        raise BadInput(message)
    valid = torch.arange(int(lengths.max())) < lengths[:, None]
    tokens = torch.full(valid.shape, PADDING)
    tokens[valid] = torch.tensor([token for prompt in prompts for token in prompt])
    return tokens, valid


PADS: dict[str, Pad] = {"left": pad_left, "right": pad_right}


def last_rows(x: Float[Tensor, "batch new width"], valid: Valid) -> Float[Tensor, "batch width"]:
    """Pick the row of each prompt's last token, wherever the padding is."""
    places = torch.arange(valid.shape[1], device=valid.device)
    last = places.masked_fill(~valid, 0).amax(dim=1)
    return x[torch.arange(len(x), device=x.device), last.to(x.device)]


@torch.inference_mode()
def write_batch(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    options: Options,
    pad: Pad = pad_left,
) -> list[list[int]]:
    """Write on from every prompt at once; each text ends at its own EOS or at max_tokens."""
    tokens, valid = (x.to(model.device) for x in pad(prompts))
    session = Remembering(model, tokens.shape[1] + options.max_tokens, valid=valid)
    generator = torch.Generator().manual_seed(options.seed)
    rows = last_rows(session.feed(tokens), valid)
    texts: list[list[int]] = [[] for _ in prompts]
    alive = set(range(len(prompts)))
    for _ in range(options.max_tokens):
        logits = model.logits(rows)
        greedily = options.sampling.temperature == 0
        chosen = greedy(logits) if greedily else options.sampling.choose(logits, generator)
        for row in sorted(alive):
            texts[row].append(int(chosen[row]))
        alive = {row for row in alive if texts[row][-1] not in options.eos}
        if not alive:
            break
        rows = session.feed(chosen[:, None].to(model.device))[:, 0]
    return texts
