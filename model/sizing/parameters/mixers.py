"""Which mixer with a state each family has in its layers, read from its config."""

from collections.abc import Callable

from model.sizing.families.mamba import mamba2_shape, nemotron_shape
from model.sizing.fields import Fields, whole
from model.sizing.parameters import states

AnyMixer = states.Mamba1 | states.Mamba2 | states.Delta
Mixer = Callable[[Fields, int], AnyMixer]


def mamba_mixer(fields: Fields, hidden: int) -> states.Mamba1:
    given = fields.given("intermediate_size")
    inner = (
        fields.required("expand") * hidden if given is None else whole(given, "intermediate_size")
    )
    return states.Mamba1(
        inner=inner,
        state=fields.required("state_size"),
        kernel=fields.required("conv_kernel"),
        rank=states.step_rank(fields, "time_step_rank", hidden),
        bias=fields.flag("use_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
    )


def mamba2_mixer(fields: Fields, _hidden: int) -> states.Mamba2:
    return states.Mamba2(
        shape=mamba2_shape(fields),
        bias=fields.flag("use_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        norm=True,
    )


def jamba_mixer(fields: Fields, hidden: int) -> states.Mamba1:
    return states.Mamba1(
        inner=fields.required("mamba_expand") * hidden,
        state=fields.required("mamba_d_state"),
        kernel=fields.required("mamba_d_conv"),
        rank=states.step_rank(fields, "mamba_dt_rank", hidden),
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("mamba_conv_bias", otherwise=True),
    )


def bamba_mixer(fields: Fields, hidden: int) -> states.Mamba2:
    return states.named_mamba2(fields, fields.required("mamba_expand") * hidden, norm=True)


def falcon_h1_mixer(fields: Fields, hidden: int) -> states.Mamba2:
    inner = fields.integer("mamba_d_ssm") or fields.required("mamba_expand") * hidden
    return states.named_mamba2(fields, inner, norm=fields.flag("mamba_rms_norm"))


def nemotron_mixer(fields: Fields, _hidden: int) -> states.Mamba2:
    return states.Mamba2(
        shape=nemotron_shape(fields),
        bias=fields.flag("mamba_proj_bias"),
        conv_bias=fields.flag("use_conv_bias", otherwise=True),
        norm=True,
    )


def delta_mixer(fields: Fields, _hidden: int) -> states.Delta:
    return states.gated_delta(fields)
