"""The parts of a decoder that are not attention, with weights from a generator we own."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import silu


def linear(
    d_in: int, d_out: int, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> nn.Linear:
    """Make a bias-free projection whose outputs have about the size of its inputs."""
    # not `skip_init`: what it imports costs more than all the layers it makes
    layer = nn.Linear(d_in, d_out, bias=False, dtype=dtype, device="meta")
    weight = torch.empty(d_out, d_in, dtype=dtype)
    layer.weight = nn.Parameter(nn.init.normal_(weight, std=d_in**-0.5, generator=generator))
    return layer


def rms_norm(width: int) -> nn.RMSNorm:
    """Make a root-mean-square norm in float64 with the epsilon Llama uses."""
    return nn.RMSNorm(width, eps=1e-6, dtype=torch.float64)


class SwiGLU(nn.Module):
    """The gated feed-forward network: three matrices, 6 d_model d_ff FLOPs a token."""

    def __init__(self, d_model: int, d_ff: int, generator: torch.Generator) -> None:
        super().__init__()
        self.gate = linear(d_model, d_ff, generator)
        self.up = linear(d_model, d_ff, generator)
        self.down = linear(d_ff, d_model, generator)

    def forward(self, x: Float[Tensor, "new d_model"]) -> Float[Tensor, "new d_model"]:
        return self.down(silu(self.gate(x)) * self.up(x))


def embedding(vocab_size: int, d_model: int, generator: torch.Generator) -> nn.Embedding:
    """Make one row of unit-size numbers per token."""
    rows = torch.empty(vocab_size, d_model, dtype=torch.float64)
    nn.init.normal_(rows, generator=generator)
    return nn.Embedding.from_pretrained(rows, freeze=False)


class Ends(nn.Module):
    """Both ends of a decoder: token ids to rows, rows to logits."""

    def __init__(self, vocab_size: int, d_model: int, generator: torch.Generator) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, d_model, generator)
        self.norm = rms_norm(d_model)
        self.head = linear(d_model, vocab_size, generator)

    def rows(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new d_model"]:
        return self.embedding(tokens)

    def logits(self, x: Float[Tensor, "new d_model"]) -> Float[Tensor, "new vocab"]:
        return self.head(self.norm(x))
