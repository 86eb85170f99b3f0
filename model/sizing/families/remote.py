"""Model types whose code travels with the weights: what they are called and what they resemble."""

from collections.abc import Mapping

from model.sizing.families.attention import (
    Heads,
    check_groups,
    head_width,
    layer_count,
    query_heads,
)
from model.sizing.families.dense import Family, multi_head, uniform
from model.sizing.families.grouped import falcon, gpt_bigcode
from model.sizing.families.mla import mla_unless_switched_off
from model.sizing.families.recurrent import minimax
from model.sizing.fields import Fields
from model.sizing.kinds import full
from model.sizing.layers import Layer


def chatglm(fields: Fields) -> list[Layer]:
    """ChatGLM 2 and 3, GLM-4-9B: groups only where `multi_query_attention` says so."""
    query = query_heads(fields)
    width = head_width(fields, query)
    grouped = fields.flag("multi_query_attention")
    kv = fields.required("multi_query_group_num") if grouped else query
    heads = Heads(query=query, kv=check_groups(query, kv), key_width=width, value_width=width)
    return [full(i, heads) for i in range(layer_count(fields))]


def codeshell(fields: Fields) -> list[Layer]:
    """CodeShell: `num_query_groups`, when `group_query_attention` is on."""
    if fields.given("group_query_attention") is False:
        return multi_head(fields)
    return uniform(fields)


FAMILIES: Mapping[str, Family] = {
    "RefinedWeb": falcon,
    "RefinedWebModel": falcon,
    "gpt_refact": gpt_bigcode,
    "chatglm": chatglm,
    "codeshell": codeshell,
    "deepseek_vl_v2": mla_unless_switched_off,
    **dict.fromkeys(("MiniMaxM1", "MiniMaxText01", "minimax_m1", "minimax_text_01"), minimax),
    **dict.fromkeys(
        ("baichuan", "btlm", "gpt-sw3", "gpt_jais", "internlm", "jais", "qwen"), multi_head
    ),
    **dict.fromkeys(
        (
            "aquila",
            "arctic",
            "bailing_moe",
            "bailing_moe_v2",
            "deepseek",
            "grok-1",
            "hf_olmo",
            "internlm2",
            "minicpm",
            "orion",
            "phi-msft",
            "mixformer-sequential",
            "phi3_v",
            "phi3small",
            "phi4mm",
            "skywork",
            "stablelm_epoch",
            "step3_text",
            "telechat",
            "xverse",
            "yi",
            "Yi",
        ),
        uniform,
    ),
}

LIKE: Mapping[str, str] = {
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "kimi_k2": "deepseek_v3",
    "deepseek_vl_v2": "deepseek_v2",
    "fuyu": "persimmon",
    "gpt-sw3": "gpt2",
    "hunyuan": "hunyuan_v1_moe",
    "gpt_refact": "gpt_bigcode",
    "jais": "gpt2",
    "gpt_jais": "gpt2",
    "btlm": "gpt2",
    "nemotron-nas": "llama",
    "deci": "llama",
    "internlm2": "llama",
    "internlm": "llama",
    "baichuan": "llama",
    "yi": "llama",
    "Yi": "llama",
    "aquila": "llama",
    "deepseek": "llama",
    "xverse": "llama",
    "orion": "llama",
    "skywork": "llama",
    "telechat": "llama",
    "minicpm": "llama",
    "bailing_moe": "llama",
    "bailing_moe_v2": "llama",
    "phi3small": "phi3",
    "phi-msft": "phi",
    "mixformer-sequential": "phi",
    "phi3_v": "phi3",
    "phi4mm": "phi3",
    "stablelm_epoch": "stablelm",
    "byt5": "t5",
}
"""Whose key names and flags such a type shares; its numbers are never borrowed."""
