"""MLA at toy size: one small latent and one rotary key a word, for all heads together.

Both of the decoder's attentions keep latents; the rotary key is for the words written, whose
places matter to each other. DeepSeek norms the latent; of so few numbers a norm would take one
away, so here it is left out. Source: DeepSeek-V2, arXiv 2405.04434, equations 9 to 19.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.rope import rotate
from model.toy.cache import Rows
from model.toy.config import ToyConfig
from model.toy.network import Around, Attended, Keeper, KeysValues, Network
from model.toy.parameters import EncoderLayer, Parameters, Shapes, feed_forward, norm
from model.toy.parameters import shapes as standard_shapes

D_LATENT = 6
D_ROPE = 2


class LatentLayer(NamedTuple):
    """A decoder layer's parameters; `up` makes every head's keys, then every head's values."""

    q: Tensor  # d_model, heads * (d_head + D_ROPE)
    down: Tensor  # d_model, D_LATENT + D_ROPE
    up: Tensor  # D_LATENT, 2 * heads * d_head
    out: Tensor
    gain1: Tensor
    shift1: Tensor
    cross_q: Tensor
    cross_down: Tensor  # d_model, D_LATENT
    cross_up: Tensor
    cross_out: Tensor
    gain2: Tensor
    shift2: Tensor
    widen: Tensor
    widen_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor
    gain3: Tensor
    shift3: Tensor


def layer_shapes(config: ToyConfig) -> Shapes:
    d, heads = config.d_model, config.n_heads
    own = {"q": (d, d + heads * D_ROPE), "down": (d, D_LATENT + D_ROPE), "up": (D_LATENT, 2 * d)}
    cross = {"cross_q": (d, d), "cross_down": (d, D_LATENT), "cross_up": (D_LATENT, 2 * d)}
    after_own = {"out": (d, d), **norm(d, 1)}
    after_cross = {"cross_out": (d, d), **norm(d, 2), **feed_forward(config), **norm(d, 3)}
    return {**own, **after_own, **cross, **after_cross}


def shapes(config: ToyConfig) -> Shapes:
    """Every trained parameter by name; the decoder's layers are `LatentLayer`s."""
    kept = {n: s for n, s in standard_shapes(config).items() if not n.startswith("decoder.")}
    for index in range(config.n_layers):
        kept |= {f"decoder.{index}.{name}": s for name, s in layer_shapes(config).items()}
    return kept


def assemble(config: ToyConfig, named: Mapping[str, Tensor], positions: Tensor) -> Parameters:
    layers = range(config.n_layers)
    return Parameters(
        english=named["english"],
        french=named["french"],
        positions=positions,
        encoder=tuple(
            EncoderLayer(*(named[f"encoder.{i}.{f}"] for f in EncoderLayer._fields)) for i in layers
        ),
        decoder=tuple(
            LatentLayer(*(named[f"decoder.{i}.{f}"] for f in LatentLayer._fields)) for i in layers
        ),
        unembed=named["unembed"],
        unembed_bias=named["unembed_bias"],
    )


class Asked(NamedTuple):
    """A query before it meets the keys: its part without position, and its turned part."""

    plain: Float[Tensor, "*batch heads new d_head"]
    turned: Float[Tensor, "*batch heads new d_rope"]


class LatentNetwork(Network):
    """Reads the naive way: expands every kept latent to keys and values, at every step."""

    def caches(self, capacity: int) -> Sequence[Keeper]:
        return [Rows(1, (D_LATENT, D_ROPE), capacity) for _ in range(self.config.n_layers)]

    def project_memory(
        self, memory: Float[Tensor, "*batch source d_model"]
    ) -> tuple[KeysValues, ...]:
        """Latents of the source, expanded at once: they are read at every step."""
        self.arithmetic.work.memory_rows += memory.shape[-2] * self.config.n_layers
        return tuple(
            self._expand(self.arithmetic.linear(memory, layer.cross_down), layer.cross_up)
            for layer in self.parameters.decoder
        )

    def _expand(self, latent: Float[Tensor, "*batch seen d_latent"], up: Tensor) -> KeysValues:
        return KeysValues(*self._split(self.arithmetic.linear(latent, up)).chunk(2, -3))

    def _self_attention(self, w: LatentLayer, y: Tensor, around: Around) -> Attended:
        places = positions_of(around.places)
        down = self.arithmetic.linear(y, w.down).unsqueeze(-3)
        latent, rope_key = down.split([D_LATENT, D_ROPE], dim=-1)
        q = self.arithmetic.linear(y, w.q).unflatten(-1, (self.config.n_heads, -1))
        plain, unturned = q.transpose(-2, -3).split([self.config.d_head, D_ROPE], dim=-1)
        kept = around.keeper.append(latent, rotate(rope_key, places))
        asked = Asked(plain, rotate(unturned, places))
        return self._read(w, asked, KeysValues(*kept), around.mask)

    def _read(
        self, w: LatentLayer, asked: Asked, kept: KeysValues, mask: Tensor | None
    ) -> Attended:
        k, v = self._expand(kept.k.squeeze(-3), w.up)
        shared = kept.v.expand(*k.shape[:-1], D_ROPE)
        q = torch.cat(asked, dim=-1)
        return self._attend(q, torch.cat([k, shared], dim=-1), v, w.out, mask)


class AbsorbedNetwork(LatentNetwork):
    """The same sums in another order: the query goes to the latents, not they to it.

    q . (c W) = (q W^T) . c, and the mix of c W is the mix of c, times W.
    """

    def _read(
        self, w: LatentLayer, asked: Asked, kept: KeysValues, mask: Tensor | None
    ) -> Attended:
        n_heads, d_head = self.config.n_heads, self.config.d_head
        up_keys, up_values = w.up.unflatten(-1, (2, n_heads, d_head)).permute(1, 2, 0, 3)
        plain = self.arithmetic.mix(asked.plain, up_keys.mT)  # [heads, new, D_LATENT]
        q, k, v = torch.cat([plain, asked.turned], dim=-1), torch.cat(kept, dim=-1), kept.k
        rescale = math.sqrt(q.shape[-1] / (d_head + D_ROPE))  # the scale stays the expanded keys'
        scores = self.arithmetic.scores(q, k.expand(n_heads, -1, -1)) * rescale
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = self.arithmetic.softmax(scores)
        mixed = self.arithmetic.mix(weights, v.expand(n_heads, -1, -1))
        heads = self.arithmetic.mix(mixed, up_values)
        out = self.arithmetic.linear(heads.transpose(-2, -3).flatten(-2), w.out)
        return Attended(q, k, v, scores, weights, heads, out)


def positions_of(places: slice | Int[Tensor, " new"]) -> Int[Tensor, " new"]:
    """List the places a slice stands for.

    >>> positions_of(slice(2, 5)).tolist()
    [2, 3, 4]
    """
    return torch.arange(places.start, places.stop) if isinstance(places, slice) else places
