"""Recipes that depend on the config: norms, biases and experts that a flag switches."""

from collections.abc import Callable, Mapping

from model.sizing.fields import UNNAMED, Fields, Missing
from model.sizing.parameters.decoder import Recipe
from model.sizing.parameters.experts import Experts, shared_times, shared_width
from model.sizing.parameters.recipes import ALL_EXPERTS, DEEPSEEK_EXPERTS


def falcon(fields: Fields) -> Recipe:
    """One norm, or two where attention and MLP have their own."""
    bias = fields.flag("bias")
    own = fields.flag("new_decoder_architecture")
    norms = 2 if own and fields.given("num_ln_in_parallel_attn") in (None, 2) else 1
    if not own and not fields.flag("parallel_attn", otherwise=True):
        norms = 2
    return Recipe(
        norms=norms, norm_numbers=2, qkv_bias=bias, out_bias=bias, mlp_bias=bias, gated=False,
        dense_width="ffn_hidden_size",
    )  # fmt: skip


def phi(fields: Fields) -> Recipe:
    norm = "head with bias" if fields.flag("qk_layernorm") else ""
    return Recipe(
        norms=1, norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False,
        head_bias=True, qk_norm=norm,
    )  # fmt: skip


def phimoe(fields: Fields) -> Recipe:
    return Recipe(
        norm_numbers=2,
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        experts=ALL_EXPERTS,
        head_bias=fields.flag("lm_head_bias"),
    )


def stablelm(fields: Fields) -> Recipe:
    norms = 1 if fields.flag("use_parallel_residual") else 2
    return Recipe(norms=norms, norm_numbers=2, qkv_bias="use_qkv_bias")


def gpt_neox(fields: Fields) -> Recipe:
    bias = fields.flag("attention_bias", otherwise=True)
    return Recipe(norm_numbers=2, qkv_bias=bias, out_bias=bias, mlp_bias=True, gated=False)


def cohere(fields: Fields) -> Recipe:
    return Recipe(
        norms=1, qkv_bias="attention_bias", out_bias="attention_bias",
        qk_norm="wide" if fields.flag("use_qk_norm") else "",
    )  # fmt: skip


def starcoder2(_fields: Fields) -> Recipe:
    return Recipe(
        norm_numbers=2, qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", gated=False
    )


def glm4_moe(fields: Fields) -> Recipe:
    return Recipe(
        qkv_bias="attention_bias",
        qk_norm="head" if fields.flag("use_qk_norm") else "",
        experts=DEEPSEEK_EXPERTS,
    )


def seed_oss(_fields: Fields) -> Recipe:
    return Recipe(qkv_bias="attention_bias", out_bias="attention_out_bias", mlp_bias="mlp_bias")


def granite_moe_shared(_fields: Fields) -> Recipe:
    experts = Experts(width="intermediate_size", shared=shared_width("shared_intermediate_size"))
    return Recipe(qkv_bias="attention_bias", out_bias="attention_bias", experts=experts)


def hunyuan(fields: Fields) -> Recipe:
    """Hunyuan-Large: one shared expert beside the routed ones, in every layer."""
    shared = shared_times("num_shared_expert", "intermediate_size")
    return Recipe(
        qk_norm="head" if fields.flag("use_qk_norm") else "",
        experts=Experts(width="intermediate_size", shared=shared),
    )


def unnamed(fields: Fields) -> Recipe:
    """A config without a model type: plain, when it says that its MLP has a gate."""
    if fields.given("hidden_act") != "swiglu":
        raise Missing("without a model_type, hidden_act = swiglu is what says how wide an MLP is")
    return Recipe()


CHOSEN: Mapping[str, Callable[[Fields], Recipe]] = {
    "cohere": cohere,
    "cohere2": cohere,
    "falcon": falcon,
    "RefinedWeb": falcon,
    "RefinedWebModel": falcon,
    "glm4_moe": glm4_moe,
    "gpt_neox": gpt_neox,
    "granitemoeshared": granite_moe_shared,
    "hunyuan": hunyuan,
    UNNAMED: unnamed,
    "phi": phi,
    "phimoe": phimoe,
    "seed_oss": seed_oss,
    "stablelm": stablelm,
    "starcoder2": starcoder2,
}
"""Families whose recipe depends on the config."""
