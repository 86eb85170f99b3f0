"""One small config per family, as a file would hold it: every real class runs them in moments.

Windows are 8 to 16 tokens and stacks 2 to 8 layers, so that 40 tokens fill every window.
"""

from typing import Any

BASE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def base(**changes: Any) -> dict[str, Any]:
    """The common sizes with changes; a change to None takes the key away."""
    return {k: v for k, v in {**BASE, **changes}.items() if v is not None}


def gpt(**changes: Any) -> dict[str, Any]:
    sizes = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, "vocab_size": 64}
    return {**sizes, "bos_token_id": 1, "eos_token_id": 2, **changes}


MLA: dict[str, Any] = {
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 12,
    "num_key_value_heads": 4,
}
MOE: dict[str, Any] = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
INDEX: dict[str, Any] = {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 8}
DELTA: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}
MAMBA2: dict[str, Any] = {
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_d_state": 16,
    "mamba_n_groups": 2,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 16,
}
BART: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "vocab_size": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": 2,
}
T5: dict[str, Any] = {
    "d_model": 32,
    "d_kv": 12,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "vocab_size": 64,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
}
DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", base()),
    "llama, every head its own": ("llama", base(num_key_value_heads=None)),
    "llama, explicit head_dim": ("llama", base(head_dim=12)),
    "llama, biased": ("llama", base(attention_bias=True, mlp_bias=True)),
    "mistral, windowed": ("mistral", base(sliding_window=16)),
    "mistral, null window": ("mistral", base(sliding_window=None) | {"sliding_window": None}),
    "mixtral": ("mixtral", base(num_local_experts=4, num_experts_per_tok=2)),
    "qwen2": ("qwen2", base(use_sliding_window=False, sliding_window=8)),
    "qwen2, upper half windowed": (
        "qwen2",
        base(use_sliding_window=True, sliding_window=8, max_window_layers=2),
    ),
    "qwen2_moe": (
        "qwen2_moe",
        base(
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=24,
        ),
    ),
    "qwen3": ("qwen3", base(head_dim=16)),
    "qwen3_moe": (
        "qwen3_moe",
        base(head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16),
    ),
    "phi3": ("phi3", base(sliding_window=8)),
    "phi": ("phi", base()),
    "phimoe": ("phimoe", base(num_local_experts=4)),
    "phimoe, biased": (
        "phimoe",
        base(num_local_experts=4, attention_bias=True, lm_head_bias=True),
    ),
    "starcoder2": ("starcoder2", base(sliding_window=8)),
    "stablelm": ("stablelm", base()),
    "olmo": ("olmo", base()),
    "olmo2": ("olmo2", base()),
    "olmo3": ("olmo3", base(sliding_window=8)),
    "olmoe": ("olmoe", base(num_experts=4, num_experts_per_tok=2)),
    "cohere": ("cohere", base()),
    "cohere2": ("cohere2", base(sliding_window=8, sliding_window_pattern=2)),
    "gemma": ("gemma", base(head_dim=16)),
    "gemma2": ("gemma2", base(head_dim=16, sliding_window=8)),
    "gemma3_text": (
        "gemma3_text",
        base(head_dim=16, sliding_window=8, sliding_window_pattern=3, num_hidden_layers=7),
    ),
    "gemma3n_text": (
        "gemma3n_text",
        base(
            head_dim=16,
            sliding_window=8,
            num_hidden_layers=10,
            num_kv_shared_layers=4,
            hidden_size_per_layer_input=8,
            vocab_size_per_layer_input=64,
            laurel_rank=4,
            activation_sparsity_pattern=[0.0] * 10,
        ),
    ),
    "gemma4_text": (
        "gemma4_text",
        base(
            head_dim=16,
            global_head_dim=24,
            num_global_key_value_heads=1,
            attention_k_eq_v=True,
            sliding_window=8,
            num_hidden_layers=12,
            num_kv_shared_layers=4,
            hidden_size_per_layer_input=8,
            vocab_size_per_layer_input=64,
            use_double_wide_mlp=True,
        ),
    ),
    "gpt_oss": (
        "gpt_oss",
        base(head_dim=16, sliding_window=8, num_local_experts=4, num_experts_per_tok=2),
    ),
    "llama4_text": (
        "llama4_text",
        base(
            head_dim=8,
            attention_chunk_size=8,
            intermediate_size_mlp=48,
            num_local_experts=2,
            interleave_moe_layer_step=2,
        ),
    ),
    "smollm3": ("smollm3", base(use_sliding_window=True, sliding_window=8)),
    "exaone4": ("exaone4", base(sliding_window=8, sliding_window_pattern=4)),
    "glm4": ("glm4", base(head_dim=8)),
    "glm4_moe": ("glm4_moe", base(head_dim=16, **MOE)),
    "ernie4_5": ("ernie4_5", base(head_dim=8)),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", base(head_dim=8)),
    "granite": ("granite", base()),
    "granitemoe": ("granitemoe", base(num_local_experts=4, num_experts_per_tok=2)),
    "nemotron": ("nemotron", base(head_dim=8)),
    "seed_oss": ("seed_oss", base(head_dim=16)),
    "minimax_m2": ("minimax_m2", base(head_dim=16, num_local_experts=4, num_experts_per_tok=2)),
    "mimo_v2_flash": (
        "mimo_v2_flash",
        base(
            head_dim=12,
            v_head_dim=8,
            num_key_value_heads=1,
            num_hidden_layers=8,
            sliding_window_size=8,
            **MOE,
        ),
    ),
    "gpt2": ("gpt2", gpt()),
    "gpt_bigcode, one head": ("gpt_bigcode", gpt(multi_query=True)),
    "gpt_bigcode, all heads": ("gpt_bigcode", gpt(multi_query=False)),
    "gptj": ("gptj", gpt(rotary_dim=8)),
    "codegen": ("codegen", gpt(rotary_dim=8)),
    "gpt_neox": ("gpt_neox", base(num_key_value_heads=None)),
    "gpt_neo": (
        "gpt_neo",
        {
            "hidden_size": 32,
            "num_layers": 4,
            "num_heads": 4,
            "vocab_size": 64,
            "max_position_embeddings": 128,
            "window_size": 8,
            "attention_types": [[["global", "local"], 2]],
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
    ),
    "bloom": ("bloom", {"hidden_size": 32, "n_layer": 3, "n_head": 4, "vocab_size": 64}),
    "opt": (
        "opt",
        base(num_key_value_heads=None, intermediate_size=None, ffn_dim=48, word_embed_proj_dim=32),
    ),
    "mpt": (
        "mpt",
        {"d_model": 32, "n_heads": 4, "n_layers": 3, "max_seq_len": 128, "vocab_size": 64},
    ),
    "falcon, one head": (
        "falcon",
        base(num_key_value_heads=None, multi_query=True, num_kv_heads=4),
    ),
    "falcon, new architecture": (
        "falcon",
        base(num_key_value_heads=None, new_decoder_architecture=True, num_kv_heads=2),
    ),
    "falcon, all heads": (
        "falcon",
        base(num_key_value_heads=None, multi_query=False, alibi=True, parallel_attn=False),
    ),
    "deepseek_v2": ("deepseek_v2", base(**MLA, **MOE)),
    "deepseek_v3": ("deepseek_v3", base(**MLA, **MOE)),
    "deepseek_v32": ("deepseek_v32", base(**MLA, **MOE, **INDEX)),
    "glm_moe_dsa": ("glm_moe_dsa", base(**MLA, **MOE, **INDEX)),
    "glm_moe_dsa, shared indexers": (
        "glm_moe_dsa",
        base(**MLA, **MOE, **INDEX, indexer_types=["full", "shared", "full", "shared"]),
    ),
    "minicpm3": ("minicpm3", base(**MLA)),
    "jamba": (
        "jamba",
        base(
            attn_layer_period=4,
            attn_layer_offset=2,
            num_experts=2,
            mamba_d_state=8,
            mamba_dt_rank=4,
            use_mamba_kernels=False,
        ),
    ),
    "bamba": ("bamba", base(attn_layer_indices=[1, 3], **MAMBA2)),
    "granitemoehybrid": (
        "granitemoehybrid",
        base(
            layer_types=["mamba", "attention", "mamba", "mamba"],
            num_local_experts=4,
            num_experts_per_tok=2,
            shared_intermediate_size=24,
            **MAMBA2,
        ),
    ),
    "falcon_h1": ("falcon_h1", base(head_dim=8, mamba_d_ssm=64, **MAMBA2)),
    "nemotron_h": (
        "nemotron_h",
        base(
            num_hidden_layers=6,
            head_dim=8,
            hybrid_override_pattern="M-M*-M",
            mamba_num_heads=8,
            mamba_head_dim=8,
            ssm_state_size=16,
            n_groups=2,
            chunk_size=16,
        ),
    ),
    "zamba2": (
        "zamba2",
        base(
            layers_block_type=["mamba", "hybrid", "mamba", "hybrid"],
            num_key_value_heads=4,
            n_mamba_heads=8,
            mamba_d_state=16,
            chunk_size=16,
        ),
    ),
    "mamba": ("mamba", base(num_key_value_heads=None, num_attention_heads=None,
                            intermediate_size=None, state_size=8)),
    "mamba2": (
        "mamba2",
        {
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_heads": 8,
            "head_dim": 8,
            "n_groups": 2,
            "state_size": 16,
            "vocab_size": 64,
            "chunk_size": 16,
        },
    ),
    "falcon_mamba": ("falcon_mamba", base(num_key_value_heads=None, num_attention_heads=None,
                                          intermediate_size=None, state_size=8)),
    "qwen3_next": (
        "qwen3_next",
        base(
            head_dim=16,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=24,
            **DELTA,
        ),
    ),
    "qwen3_5_text": ("qwen3_5_text", base(head_dim=16, full_attention_interval=2, **DELTA)),
    "kimi_linear": (
        "kimi_linear",
        base(
            **MLA,
            linear_attn_config={
                "full_attn_layers": [2, 4],
                "kda_layers": [1, 3],
                "head_dim": 8,
                "num_heads": 4,
                "short_conv_kernel_size": 4,
            },
            num_experts=4,
            num_experts_per_token=2,
            num_shared_experts=1,
            moe_intermediate_size=16,
            first_k_dense_replace=1,
        ),
    ),
    "minimax": (
        "minimax",
        base(head_dim=8, num_local_experts=2, block_size=16,
             layer_types=["linear_attention", "full_attention"] * 2),
    ),
    "olmo_hybrid": ("olmo_hybrid", base(num_key_value_heads=4, linear_num_key_heads=4,
                                        linear_num_value_heads=4, linear_key_head_dim=8,
                                        linear_value_head_dim=16)),
    "lfm2": ("lfm2", base(full_attn_idxs=[1, 3], conv_L_cache=3)),
    "lfm2_moe": (
        "lfm2_moe",
        base(
            layer_types=["conv", "full_attention"] * 2,
            conv_L_cache=3,
            num_dense_layers=1,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=16,
        ),
    ),
}  # fmt: skip
SPEECH: dict[str, Any] = {
    **{k: v for k, v in BART.items() if k != "max_position_embeddings"},
    "num_mel_bins": 8,
    "max_source_positions": 10,
    "max_target_positions": 64,
    "suppress_tokens": [],
    "begin_suppress_tokens": [],
}
ENCODER_DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bart": ("bart", BART),
    "mbart": ("mbart", BART),
    "marian": ("marian", BART),
    "pegasus": ("pegasus", BART),
    "m2m_100": ("m2m_100", BART),
    "t5": ("t5", T5),
    "t5, decoder as deep as the encoder": (
        "t5",
        {k: v for k, v in T5.items() if k != "num_decoder_layers"},
    ),
    "mt5": ("mt5", {**T5, "feed_forward_proj": "gated-gelu"}),
    "whisper": ("whisper", SPEECH),
}
