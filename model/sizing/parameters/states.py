"""Weights of layers that keep a state: Mamba 1 and 2, delta nets, short convolutions."""

import math
from dataclasses import dataclass

from model.sizing.families.mamba import named_shape
from model.sizing.fields import Fields, whole
from model.sizing.kinds import StateSpace
from model.sizing.parameters.parts import matrix


def step_rank(fields: Fields, name: str, hidden: int) -> int:
    """The rank of Mamba's time step: a sixteenth of the width when it says auto."""
    value = fields.given(name)
    return math.ceil(hidden / 16) if value in (None, "auto") else whole(value, name)


@dataclass(frozen=True, kw_only=True)
class Mamba1:
    """The widths of Mamba 1, and which of its matrices have a bias."""

    inner: int
    state: int
    kernel: int
    rank: int
    bias: bool
    conv_bias: bool

    def matrices(self, hidden: int) -> int:
        """In and out, the convolution, the step size, B and C: what a token is multiplied with."""
        inner, rank = self.inner, self.rank
        total = matrix(hidden, 2 * inner) + matrix(inner, hidden) + inner * self.kernel
        return total + matrix(inner, rank + 2 * self.state) + matrix(rank, inner)

    def weights(self, hidden: int) -> int:
        """The matrices, their biases, and the decays and skips of every channel."""
        inner = self.inner
        biases = (2 * inner + hidden if self.bias else 0) + (inner if self.conv_bias else 0) + inner
        return self.matrices(hidden) + biases + inner * self.state + inner


@dataclass(frozen=True, kw_only=True)
class Mamba2:
    """The widths of Mamba 2, which of its matrices have a bias, and whether it norms its output."""

    shape: StateSpace
    bias: bool
    conv_bias: bool
    norm: bool

    @property
    def n_in(self) -> int:
        return self.shape.inner + self.shape.channels + self.shape.heads

    def matrices(self, hidden: int) -> int:
        """In and out, and the convolution."""
        shape = self.shape
        return (
            matrix(hidden, self.n_in)
            + matrix(shape.inner, hidden)
            + shape.channels * shape.kernel
        )  # fmt: skip

    def weights(self, hidden: int) -> int:
        """The matrices, biases, three numbers a head, and a norm where there is one."""
        shape = self.shape
        biases = self.n_in + hidden if self.bias else 0
        biases += shape.channels if self.conv_bias else 0
        norm = shape.inner if self.norm else 0
        return self.matrices(hidden) + biases + 3 * shape.heads + norm


def named_mamba2(fields: Fields, inner: int, *, norm: bool) -> Mamba2:
    """Mamba 2 as Bamba, Granite 4 and Falcon-H1 name its sizes."""
    return Mamba2(
        shape=named_shape(fields, inner),
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("mamba_conv_bias", otherwise=True),
        norm=norm,
    )


@dataclass(frozen=True, kw_only=True)
class Delta:
    """Heads and widths of a delta net; `low` is the rank of decay and gate where they have one."""

    key_heads: int
    key_width: int
    value_heads: int
    value_width: int
    kernel: int
    low: int | None = None

    @property
    def state(self) -> int:
        """Numbers of the matrices, one for each value head."""
        return self.value_heads * self.key_width * self.value_width

    def matrices(self, hidden: int) -> int:
        """Queries, keys, values, out; gate, decay and step size; the convolution."""
        key, value = self.key_heads * self.key_width, self.value_heads * self.value_width
        total = hidden * (2 * key + value) + value * hidden + (2 * key + value) * self.kernel
        if self.low is None:
            return total + hidden * (value + 2 * self.value_heads)
        bottlenecks = 2 * (hidden * self.low + self.low * value)
        return total + bottlenecks + hidden * self.value_heads

    def weights(self, hidden: int) -> int:
        """The matrices, the numbers of decay, and a norm."""
        per_head = 2 if self.low is None else self.value_width + 1
        return self.matrices(hidden) + per_head * self.value_heads + self.value_width


def gated_delta(fields: Fields) -> Delta:
    """Queries, keys, values, a gate; two numbers a head (arXiv 2412.06464)."""
    return Delta(
        key_heads=fields.required("linear_num_key_heads"),
        key_width=fields.required("linear_key_head_dim"),
        value_heads=fields.required("linear_num_value_heads"),
        value_width=fields.required("linear_value_head_dim"),
        kernel=fields.required("linear_conv_kernel_dim"),
    )


def kimi_delta(fields: Fields) -> Delta:
    """As the delta net, with decay and gate through a bottleneck of one head's width."""
    nested = fields.inside("linear_attn_config")
    heads = nested.integer("num_heads") or fields.required("linear_num_heads")
    width = nested.integer("head_dim") or fields.required("linear_head_dim")
    kernel = nested.integer("short_conv_kernel_size") or fields.required("linear_conv_kernel_dim")
    return Delta(
        key_heads=heads, key_width=width, value_heads=heads, value_width=width, kernel=kernel,
        low=width,
    )  # fmt: skip


def convolution_matrices(fields: Fields, hidden: int) -> int:
    """Three gates' worth in, one out, and the kernel."""
    return 4 * hidden * hidden + hidden * fields.required("conv_L_cache")


def short_convolution(fields: Fields, hidden: int) -> int:
    biases = 5 * hidden if fields.flag("conv_bias") else 0
    return convolution_matrices(fields, hidden) + biases
