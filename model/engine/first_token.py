"""How much of its attention a model gives to the very first token: where sinks come from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from model.engine.model import LanguageModel
from model.engine.reading import NewRows, QueriesKeys, Reading
from model.engine.rotary import Angles
from model.errors import BadInput
from model.masks import causal, mask
from model.storage.base import Storage


@dataclass(kw_only=True)
class Watched(Reading):
    """Reads a whole text causally and notes each layer's weights on the first token.

    shares: by layer, the mean over heads of the weight each token of the text gives to token 0.
    """

    angles: Angles
    shares: list[Float[Tensor, " tokens"]] = field(default_factory=list)

    def attend(
        self, qk: QueriesKeys, v: NewRows, store: Storage | None
    ) -> Float[Tensor, "batch heads new d_head"]:
        del store
        q, k = self.angles.turn(qk).tensor_split([-v.shape[1]], dim=1)
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        positions = torch.arange(q.shape[2], device=q.device)
        scores = (q @ k.mT).div_(q.shape[-1] ** 0.5)
        allowed = mask(causal, positions, positions)
        weights = scores.masked_fill_(~allowed, -torch.inf).softmax(dim=-1)
        self.shares.append(weights[0, :, :, 0].double().mean(dim=0).cpu())
        return weights @ v


@torch.inference_mode()
def first_token_shares(
    model: LanguageModel, tokens: Sequence[int], after: int
) -> tuple[list[float], float]:
    """Return the mean weight on token 0 by layer, and what an even share would be.

    Both are means over the tokens from position `after` on, which have that many others to
    read. Raises BadInput if the text has none.
    """
    if not 1 <= after < len(tokens):
        message = f"a text of {len(tokens)} tokens has none from position {after} on: give more"
        raise BadInput(message)
    text = torch.tensor([list(tokens)], device=model.device)
    watched = Watched(angles=model.rotary.span(0, len(tokens)))
    model.hidden(text, [None] * len(model.layers), watched)
    even = 1 / torch.arange(after + 1, len(tokens) + 1, dtype=torch.float64)
    return [float(layer[after:].mean()) for layer in watched.shares], float(even.mean())
