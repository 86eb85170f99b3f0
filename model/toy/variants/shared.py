"""CLA at toy size: the second decoder layer reads the first one's keys and values.

Both of its attentions do: to the words written and to the source. It brings queries only.
Source: Brandon et al. 2024, arXiv 2405.12981.
"""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from model.toy.cache import Cache, Forgetful
from model.toy.config import ToyConfig
from model.toy.network import Around, Attended, Keeper, KeysValues, Network
from model.toy.parameters import DecoderLayer, Parameters, Shapes
from model.toy.parameters import assemble as assemble_all
from model.toy.parameters import shapes as shapes_of_all

OWNER = 0  # the layer that projects and keeps


def is_reader(name: str) -> bool:
    return name.startswith("decoder.") and not name.startswith(f"decoder.{OWNER}.")


def shapes(config: ToyConfig) -> Shapes:
    """Drop the key and value projections of every decoder layer but the owner."""
    named = shapes_of_all(config)
    d = config.d_model
    for name in filter(is_reader, list(named)):
        if name.endswith(".qkv"):
            named[name] = (d, d)
        elif name.endswith(".cross_kv"):
            del named[name]
    return named


def assemble(config: ToyConfig, named: Mapping[str, Tensor], positions: Tensor) -> Parameters:
    """Lend the owner's cross projection to the readers; the network never multiplies by it."""
    lent = {
        f"decoder.{i}.cross_kv": named[f"decoder.{OWNER}.cross_kv"] for i in range(config.n_layers)
    }
    return assemble_all(config, {**named, **lent}, positions)


class SharedNetwork(Network):
    """One layer's rows serve all."""

    def caches(self, capacity: int) -> Sequence[Keeper]:
        readers = [Forgetful() for _ in range(self.config.n_layers - 1)]
        return [Cache(self.config, capacity), *readers]

    def project_memory(
        self, memory: Float[Tensor, "*batch source d_model"]
    ) -> tuple[KeysValues, ...]:
        self.arithmetic.work.memory_rows += memory.shape[-2]
        projected = self.arithmetic.linear(memory, self.parameters.decoder[OWNER].cross_kv)
        kept = KeysValues(*self._split(projected).chunk(2, -3))
        return (kept,) * self.config.n_layers

    def _self_attention(self, w: DecoderLayer, y: Tensor, around: Around) -> Attended:
        if not around.below:
            return super()._self_attention(w, y, around)
        owner = around.below[OWNER].attention
        q = self._split(self.arithmetic.linear(y, w.qkv))
        return self._attend(q, owner.k, owner.v, w.out, around.mask)
