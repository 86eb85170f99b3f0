"""The counted FLOPs are those that transformers' own classes multiply, exactly."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

from model.errors import BadInput
from model.layer_work import LayerWork
from model.sizing.read_config import read_config
from model.work import ModelWork
from model.work_of import work_of_config
from tests.oracles import flops, tiny

TOKENS = 40
NOT_COUNTED = {"zamba2", "olmo_hybrid"}
V4 = tiny.base(
    intermediate_size=None,
    num_key_value_heads=1,
    head_dim=16,
    q_lora_rank=24,
    o_groups=2,
    o_lora_rank=12,
    moe_intermediate_size=20,
    n_routed_experts=4,
    num_experts_per_tok=2,
    n_shared_experts=1,
    num_hash_layers=0,
    sliding_window=8,
    index_n_heads=2,
    index_head_dim=8,
    index_topk=4,
    hc_mult=3,
    num_hidden_layers=5,
    layer_types=[
        "sliding_attention",
        "compressed_sparse_attention",
        "heavily_compressed_attention",
        "compressed_sparse_attention",
        "heavily_compressed_attention",
    ],
    mlp_layer_types=["moe"] * 5,
    compress_rates={"compressed_sparse_attention": 4, "heavily_compressed_attention": 16},
)
DECODERS = {
    **{name: one for name, one in tiny.DECODERS.items() if name not in NOT_COUNTED},
    "deepseek_v4": ("deepseek_v4", V4),
}


def parts_of(work: ModelWork) -> list[LayerWork]:
    return [part for layer in work.layers for part in layer.parts]


def config_of(name: str) -> dict[str, Any]:
    model_type, raw = DECODERS[name]
    return {"model_type": model_type, **raw}


def visible_step(work: ModelWork, numbers_of_kernels: int) -> int:
    """A decode step's FLOPs without states and their convolutions, which no product shows."""
    states = sum(part.token_flops for part in parts_of(work) if part.state_bytes)
    return work.decode_flops(TOKENS + 1) - states - 2 * numbers_of_kernels


def visible_pass(work: ModelWork, numbers_of_kernels: int) -> int:
    """A pass as these classes run it: every query against every row, the hidden ones too."""
    total = 2 * (work.ends + work.head - numbers_of_kernels) * TOKENS
    for layer in work.layers:
        total += 2 * layer.weights_used * TOKENS
        for part in layer.parts:
            form, squares = part.expanded or part, TOKENS * (TOKENS // part.every)
            total += form.attention_flops(squares) + 2 * part.index_width * squares
            total += 0 if part.state_bytes else part.token_flops * TOKENS
    return total


def expands_what_is_cached(work: ModelWork, config: dict[str, Any]) -> int:
    """Classes of latent attention keep latents, and make heads of all of them in every step."""
    heads, rank = config["num_attention_heads"], config["kv_lora_rank"]
    each = 2 * rank * heads * (config["qk_nope_head_dim"] + config["v_head_dim"])
    found = [part for part in parts_of(work) if part.row == rank + config["qk_rope_head_dim"]]
    return sum(
        each * TOKENS
        + heads_flops(config) * (TOKENS + 1)
        - part.attention_flops(part.keys(TOKENS + 1))
        for part in found
    )


def heads_flops(config: dict[str, Any]) -> int:
    """A query and a key of full heads, in one latent layer."""
    width = config["qk_rope_head_dim"] + config["qk_nope_head_dim"] + config["v_head_dim"]
    return 2 * config["num_attention_heads"] * width


def masks_what_an_index_leaves_out(work: ModelWork, config: dict[str, Any]) -> int:
    """As above, over all keys; the weighted sum over index heads is a product as well."""
    scored = sum(2 * config["index_n_heads"] * (TOKENS + 1) for p in parts_of(work) if p.index_row)
    return expands_what_is_cached(work, config) + scored


def masks_entries(work: ModelWork, _config: dict[str, Any]) -> int:
    return sum(
        part.attention_flops(part.index_rows(TOKENS + 1) - part.keys(TOKENS + 1))
        for part in parts_of(work)
        if part.index_row
    )


def runs_every_expert(work: ModelWork, _config: dict[str, Any]) -> int:
    experts = [part.experts for part in parts_of(work) if part.experts]
    return sum(2 * (one.count - one.used) * one.weights for one in experts)


def reads_one_more(work: ModelWork, _config: dict[str, Any]) -> int:
    return sum(part.attention_flops(1) for part in parts_of(work) if part.window is not None)


def keeps_all(work: ModelWork, _config: dict[str, Any]) -> int:
    more = [(part, TOKENS + 1 - (part.window or TOKENS + 1)) for part in parts_of(work)]
    return sum(part.attention_flops(keys) for part, keys in more)


Extra = Callable[[ModelWork, dict[str, Any]], int]
MORE_IN_A_STEP: dict[str, Extra] = {
    **dict.fromkeys(
        ("deepseek_v2", "deepseek_v3", "minicpm3", "kimi_linear"), expands_what_is_cached
    ),
    **dict.fromkeys(
        ("deepseek_v32", "glm_moe_dsa", "glm_moe_dsa, shared indexers"),
        masks_what_an_index_leaves_out,
    ),
    "deepseek_v4": masks_entries,
    "llama4_text": runs_every_expert,
    "mimo_v2_flash": reads_one_more,
    "gpt_neo": keeps_all,
}
"""What a class multiplies in a decode step beyond the model itself."""


def all_experts_all_tokens(work: ModelWork, config: dict[str, Any]) -> int:
    return TOKENS * runs_every_expert(work, config)


def heads_and_an_index(work: ModelWork, config: dict[str, Any]) -> int:
    """A masked pass over full heads, where a sparse one reads latents."""
    return sum(
        (heads_flops(config) * TOKENS - part.attention_flops(TOKENS)) * TOKENS
        + (2 * config["index_n_heads"] * TOKENS**2 if part.index_row else 0)
        for part in parts_of(work)
    )


MORE_IN_A_PASS: dict[str, Extra] = {
    "llama4_text": all_experts_all_tokens,
    **dict.fromkeys(
        ("deepseek_v32", "glm_moe_dsa", "glm_moe_dsa, shared indexers"), heads_and_an_index
    ),
}


def nothing(_work: ModelWork, _config: dict[str, Any]) -> int:
    return 0


@pytest.mark.parametrize("name", DECODERS)
def test_passes_and_steps_multiply_what_is_counted(name: str):
    config = config_of(name)
    work = work_of_config(config, name=name)
    real = flops.build(*DECODERS[name])
    prefill, step = flops.pass_and_step(real, TOKENS)
    kernels = flops.kernel_numbers(real)
    assert step == visible_step(work, kernels) + MORE_IN_A_STEP.get(name, nothing)(work, config)
    more = MORE_IN_A_PASS.get(name, nothing)(work, config)
    assert prefill == visible_pass(work, kernels) + more


STATEFUL = {
    "jamba": (1, "the step is multiplied with B before the input, for every number"),
    "bamba": (2, "the same, and a decay is made for every number, not for every head"),
    "nemotron_h": (2, "as bamba"),
    "falcon_h1": (2, "as bamba"),
    "granitemoehybrid": (2, "as bamba"),
    "qwen3_next": (0, ""),
    "qwen3_5_text": (0, ""),
    "kimi_linear": (0, ""),
    "minimax": (0, ""),
}
"""FLOPs for each number of a state that a class spends beyond the count, and on what."""


@pytest.mark.parametrize("name", STATEFUL)
def test_a_step_updates_and_reads_states_as_counted(name: str):
    work = work_of_config(config_of(name), name=name)
    numbers = [
        state.numbers
        for layer in read_config(config_of(name)).layers
        for state in layer.states
        if state.name == "recurrent state"
    ]
    assert len(set(numbers)) == 1
    found = flops.state_flops(flops.build(*DECODERS[name]), TOKENS, numbers[0])
    ours = sum(part.token_flops for part in parts_of(work) if part.state_bytes)
    assert found == ours + STATEFUL[name][0] * sum(numbers)


@pytest.mark.parametrize("name", tiny.ENCODER_DECODERS)
def test_an_encoder_decoder_multiplies_what_is_counted(name: str):
    model_type, raw = tiny.ENCODER_DECODERS[name]
    tokens, source = 7, 10
    work = work_of_config({"model_type": model_type, **raw}, name=name, source=source)
    speech = model_type == "whisper"
    real = flops.build(
        model_type, raw, AutoModelForSpeechSeq2Seq if speech else AutoModelForSeq2SeqLM
    )
    frames = torch.zeros((1, raw.get("num_mel_bins", 0), 2 * source))
    read = {"input_features": frames} if speech else {"input_ids": torch.ones((1, source)).long()}
    written = torch.ones((1, tokens)).long()
    first, out = flops.counted(lambda: real(**read, decoder_input_ids=written, use_cache=True))
    full_square = sum(part.score_width + part.mix_width for part in (w for w in work.layers))
    hidden_half = tokens**2 - tokens * (tokens + 1) // 2
    assert first.get_total_flops() == (
        work.prefill_flops(tokens, logits=tokens) + 2 * full_square * hidden_half
    )
    again = {"encoder_outputs": (out.encoder_last_hidden_state,), **flops.cache_of(out)}
    step, _ = flops.counted(lambda: real(**again, decoder_input_ids=written[:, :1]))
    assert step.get_total_flops() == work.decode_flops(tokens + 1)


@pytest.mark.parametrize("name", sorted(NOT_COUNTED))
def test_a_type_of_unknown_matrices_is_refused_by_name(name: str):
    model_type, raw = tiny.DECODERS[name]
    with pytest.raises(BadInput, match=f"the work of {name} is not counted"):
        work_of_config({"model_type": model_type, **raw}, name=name)


def test_exceptions_have_members():
    assert set(MORE_IN_A_STEP) | set(MORE_IN_A_PASS) | set(STATEFUL) <= set(DECODERS)
