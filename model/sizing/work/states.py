"""Layers with a state: every token updates it and reads it, however long the text is.

For each number of a state: 1 FLOP to let it decay, 2 to add to it, 2 to read it with a query.
In Mamba 1 every number has a decay of its own, 1 FLOP more; a delta rule reads what its key
already holds before it writes, 2 more. That is the recurrent form, as decode runs it. Prefill
kernels work in chunks, with more FLOPs in larger products; they are not counted.
"""

from model.layer_work import LayerWork
from model.sizing.layers import Layer
from model.sizing.parameters.mixers import AnyMixer
from model.sizing.parameters.states import Mamba1, Mamba2
from model.sizing.work.parts import state_bytes

DECAY, ADD, READ = 1, 2, 2
OWN_DECAY = 1
RECURRENT = "states are counted token by token, in their recurrent form"


def mixing(mixer: AnyMixer, layer: Layer, hidden: int) -> LayerWork:
    """Matrices of a mixer, its state's work, and the bytes a token reads and writes back."""
    return LayerWork(
        weights=mixer.matrices(hidden),
        token_flops=state_flops(mixer),
        state_bytes=state_bytes(layer),
    )


def state_flops(mixer: AnyMixer) -> int:
    """One token's update and read-out of a mixer's state."""
    if isinstance(mixer, Mamba1):  # Gu and Dao, arXiv 2312.00752
        return (OWN_DECAY + DECAY + ADD + READ) * mixer.inner * mixer.state
    if isinstance(mixer, Mamba2):  # Dao and Gu, arXiv 2405.21060
        shape = mixer.shape
        return (DECAY + ADD + READ) * shape.heads * shape.head_width * shape.state
    return (DECAY + READ + ADD + READ) * mixer.state  # Yang et al., arXiv 2412.06464


def lightning(layer: Layer, weights: int) -> LayerWork:
    """Linear attention: a matrix a head decays, takes key times value, is read by the query."""
    numbers = sum(state.numbers for state in layer.states)
    return LayerWork(
        weights=weights,
        token_flops=(DECAY + ADD + READ) * numbers,
        state_bytes=state_bytes(layer),
    )
