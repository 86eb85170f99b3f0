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

    def weights(self, hidden: int) -> int:
        inner, state = self.inner, self.state
        total = matrix(hidden, 2 * inner, bias=self.bias) + matrix(inner, hidden, bias=self.bias)
        total += inner * self.kernel + (inner if self.conv_bias else 0)
        total += matrix(inner, self.rank + 2 * state) + matrix(self.rank, inner, bias=True)
        return total + inner * state + inner


def mamba2(hidden: int, shape: StateSpace, *, bias: bool, conv_bias: bool, norm: bool) -> int:
    """In and out, the convolution, three numbers a head, and a norm where there is one."""
    total = matrix(hidden, shape.inner + shape.channels + shape.heads, bias=bias)
    total += matrix(shape.inner, hidden, bias=bias)
    total += shape.channels * (shape.kernel + (1 if conv_bias else 0)) + 3 * shape.heads
    return total + (shape.inner if norm else 0)


def named_mamba2(fields: Fields, hidden: int, *, inner: int, norm: bool) -> int:
    """Mamba 2 as Bamba, Granite 4 and Falcon-H1 name its sizes."""
    return mamba2(
        hidden,
        named_shape(fields, inner),
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("mamba_conv_bias", otherwise=True),
        norm=norm,
    )


def gated_delta(fields: Fields, hidden: int) -> int:
    """Queries, keys, values, a gate; two numbers a head; the convolution and a norm."""
    key = fields.required("linear_num_key_heads") * fields.required("linear_key_head_dim")
    heads, width = (
        fields.required("linear_num_value_heads"),
        fields.required("linear_value_head_dim"),
    )
    value = heads * width
    total = hidden * (2 * key + 2 * value) + hidden * 2 * heads + value * hidden
    total += (2 * key + value) * fields.required("linear_conv_kernel_dim")
    return total + 2 * heads + width


def kimi_delta(fields: Fields, hidden: int) -> int:
    """As the delta net, with decay and gate through a bottleneck of one head's width."""
    inner_fields = fields.inside("linear_attn_config")
    heads = inner_fields.integer("num_heads") or fields.required("linear_num_heads")
    width = inner_fields.integer("head_dim") or fields.required("linear_head_dim")
    kernel = inner_fields.integer("short_conv_kernel_size") or fields.required(
        "linear_conv_kernel_dim"
    )
    inner = heads * width
    total = 4 * hidden * inner + 3 * inner * kernel + inner + heads + hidden * heads + width
    return total + 2 * (hidden * width + width * inner)


def short_convolution(fields: Fields, hidden: int) -> int:
    bias = fields.flag("conv_bias")
    total = matrix(hidden, 3 * hidden, bias=bias) + matrix(hidden, hidden, bias=bias)
    return total + hidden * fields.required("conv_L_cache") + (hidden if bias else 0)
