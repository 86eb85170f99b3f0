"""What each family of plain decoders adds to the Llama recipe."""

from collections.abc import Mapping

from model.sizing.fields import Fields
from model.sizing.parameters.decoder import Recipe
from model.sizing.parameters.experts import (
    Experts,
    after_first,
    by_step,
    ernie_range,
    interleaved,
    listed,
    shared_times,
    shared_width,
)

LLAMA = Recipe(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
PLAIN = Recipe()
GPT = Recipe(norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, positions=0)
SANDWICH = Recipe(norms=4, qkv_bias="attention_bias", out_bias="attention_bias")


def bloom_extra(_fields: Fields, hidden: int) -> int:
    return 2 * hidden  # a norm after the word table


def two_scalars(_fields: Fields, _hidden: int) -> int:
    return 2  # the learned slopes of xIELU


def sparse_by_list_or_first(first: int):  # noqa: ANN201 - a Sparse, as in experts
    """`mlp_layer_types`, else dense for the first layers."""

    def sparse(fields: Fields, n_layers: int) -> list[bool]:
        return listed(fields, n_layers) or [i >= first for i in range(n_layers)]

    return sparse


DEEPSEEK_EXPERTS = Experts(
    sparse=after_first("first_k_dense_replace"), shared=shared_times("n_shared_experts")
)
QWEN_EXPERTS = Experts(sparse=by_step)
QWEN_SHARED = Experts(
    sparse=by_step, shared=shared_width("shared_expert_intermediate_size"), shared_gate=True
)
ALL_EXPERTS = Experts(width="intermediate_size")


def opt_extra(fields: Fields, hidden: int) -> int:
    """OPT-350m's tables are narrower than the model, with a matrix in and out."""
    narrow = fields.integer("word_embed_proj_dim") or hidden
    if narrow == hidden:
        return 0
    return 2 * narrow * hidden - fields.defining("vocab_size") * (hidden - narrow)


RECIPES: Mapping[str, Recipe] = {
    **dict.fromkeys(("llama", "granite", "ministral3", "helium", "smollm3", "nanochat"), LLAMA),
    **dict.fromkeys(("yi", "Yi", "cwm", "exaone", "iquestcoder"), LLAMA),
    **dict.fromkeys(("mistral", "ministral", "phi3"), PLAIN),
    "helium": Recipe(qkv_bias="attention_bias", mlp_bias="mlp_bias"),
    "nanochat": Recipe(norms=0, end_norms=0, gated=False),
    "exaone": PLAIN,
    "iquestcoder": LLAMA,
    "internlm3": Recipe(qkv_bias="qkv_bias", out_bias="bias", mlp_bias="bias"),
    "arcee": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", gated=False
    ),
    "apertus": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", gated=False, qk_norm="head",
        per_layer_extra=two_scalars,
    ),
    "gemma": LLAMA,
    "gemma2": SANDWICH,
    "vaultgemma": LLAMA,
    "gemma3_text": Recipe(
        norms=4, qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head"
    ),
    "qwen2": Recipe(qkv_bias=True),
    "qwen2_vl_text": Recipe(qkv_bias=True),
    "qwen2_5_vl_text": Recipe(qkv_bias=True),
    "qwen2_5_omni_text": Recipe(qkv_bias=True),
    "qwen3": Recipe(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head"),
    "qwen3_vl_text": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head"
    ),
    "qwen2_moe": Recipe(qkv_bias="qkv_bias", experts=QWEN_SHARED),
    "qwen3_moe": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", experts=QWEN_EXPERTS
    ),
    "qwen3_vl_moe_text": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", experts=QWEN_EXPERTS
    ),
    "mixtral": Recipe(experts=ALL_EXPERTS),
    "minimax_m2": Recipe(qk_norm="wide", experts=ALL_EXPERTS),
    "olmo": Recipe(
        norms=0, end_norms=0, qkv_bias="attention_bias", out_bias="attention_bias"
    ),
    "olmo2": Recipe(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="wide"),
    "olmo3": Recipe(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="wide"),
    "olmoe": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="wide", experts=ALL_EXPERTS
    ),
    "flex_olmo": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="wide", experts=ALL_EXPERTS
    ),
    "exaone4": Recipe(qk_norm="head"),
    "exaone_moe": Recipe(
        qk_norm="head",
        experts=Experts(
            sparse=sparse_by_list_or_first(1), shared=shared_times("num_shared_experts")
        ),
    ),
    "glm": Recipe(qkv_bias="attention_bias"),
    "glm4": Recipe(norms=4, qkv_bias="attention_bias"),
    "glm4v_text": Recipe(norms=4, qkv_bias=True),
    "solar_open": Recipe(
        qkv_bias="attention_bias",
        experts=Experts(shared=shared_times("n_shared_experts")),
    ),
    "dots1": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head",
        experts=DEEPSEEK_EXPERTS,
    ),
    "ernie4_5": Recipe(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "ernie4_5_moe": Recipe(
        qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias",
        experts=Experts(
            sparse=ernie_range, shared=shared_times("moe_num_shared_experts"), correction=True
        ),
    ),
    "gpt_oss": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", sinks="all",
        experts=Experts(width="intermediate_size", biased=True),
    ),
    "granite_swa": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", sinks="all"
    ),
    "granitemoe": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", experts=ALL_EXPERTS
    ),
    "hunyuan_v1_dense": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head"
    ),
    "hy_v3": Recipe(
        qk_norm="head",
        experts=Experts(
            sparse=sparse_by_list_or_first(1), shared=shared_times("num_shared_experts")
        ),
    ),
    "llama4_text": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias", dense_width="intermediate_size_mlp",
        experts=Experts(
            width="intermediate_size", sparse=interleaved,
            shared=shared_width("intermediate_size"),
        ),
    ),
    "mimo_v2_flash": Recipe(
        qkv_bias="attention_bias",
        sinks="sliding",
        experts=Experts(sparse=sparse_by_list_or_first(1)),
    ),
    "nemotron": Recipe(
        norm_numbers=2, qkv_bias="attention_bias", out_bias="attention_bias",
        mlp_bias="mlp_bias", gated=False,
    ),
    "aria_text": Recipe(
        qkv_bias="attention_bias", out_bias="attention_bias",
        experts=Experts(
            width="intermediate_size",
            shared=shared_times("moe_num_shared_experts", "intermediate_size"),
        ),
    ),
    "gpt2": GPT,
    "gpt-sw3": GPT,
    "gpt_bigcode": GPT,
    "openai-gpt": Recipe(
        norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, positions=0,
        end_norms=0,
    ),
    "gpt_neo": Recipe(
        norm_numbers=2, out_bias=True, mlp_bias=True, gated=False, positions=0
    ),
    "gptj": Recipe(norms=1, norm_numbers=2, mlp_bias=True, gated=False, head_bias=True),
    "codegen": Recipe(norms=1, norm_numbers=2, mlp_bias=True, gated=False, head_bias=True),
    "bloom": Recipe(
        norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False,
        more=bloom_extra,
    ),
    "opt": Recipe(
        norm_numbers=2, qkv_bias="enable_bias", out_bias="enable_bias", mlp_bias="enable_bias",
        gated=False, positions=2, more=opt_extra,
    ),
    "biogpt": Recipe(
        norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, positions=2
    ),
    "xglm": Recipe(norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False),
    "persimmon": Recipe(
        norm_numbers=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False,
        qk_norm="head with bias",
    ),
    "mpt": Recipe(gated=False),
    "jais2": Recipe(
        norm_numbers=2, qkv_bias="attention_bias", out_bias="attention_bias",
        mlp_bias="mlp_bias", gated=False,
    ),
    "internlm2": Recipe(qkv_bias="bias", out_bias="bias"),
    "baichuan": PLAIN,
    "deepseek": Recipe(experts=DEEPSEEK_EXPERTS),
}  # fmt: skip
