"""Attention against people who never saw this code: torch's kernels and transformers' modules."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    DeepseekV3Config,
    DynamicCache,
    GptOssConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention
from transformers.models.llama.modeling_llama import LlamaAttention

from model import masks, patterns
from model.attention.attend import attend, causal_mask, share_heads
from model.attention.heads import Attention, Parts, split_heads
from model.attention.latent import (
    AbsorbedLatentAttention,
    ExpandedLatentAttention,
    LatentConfig,
)
from model.attention.sink import attend_with_sink
from model.cache import KVCache
from model.config import DecoderConfig
from model.decoder import Decoder
from model.probe import ignore
from model.rope import frequencies, pairs, rotate
from model.storage.contiguous import Contiguous
from model.storage.ring import Ring

CONFIG = DecoderConfig(n_layers=2)
TOKENS = torch.randint(0, 29, (12,), generator=torch.Generator().manual_seed(5))
EAGER: dict[str, Any] = {"attn_implementation": "eager"}
SDPA: dict[str, Any] = {"attn_implementation": "sdpa"}
PATTERNS = {
    "full": patterns.full(),
    "causal": patterns.causal(),
    "window": patterns.window(3),
    "sinks": patterns.window_with_sinks(3, 2),
    "prefix": patterns.prefix(4),
    "strided": patterns.strided(3),
    "fixed": patterns.fixed(4, 1),
    "dilated": patterns.dilated(3, 2),
}


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).detach().abs().max())


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("new", [1, 3, 11])
def test_attend_equals_the_kernel_of_torch(name: str, n_kv_heads: int, new: int):
    q, k, v = normal(2, 8, new, 6), normal(2, n_kv_heads, 11, 6), normal(2, n_kv_heads, 11, 6)
    allowed = masks.mask(PATTERNS[name].may_read, torch.arange(11 - new, 11), torch.arange(11))
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)
    ours, weights = attend(q, k, v, allowed)
    assert gap(ours, theirs) <= 1e-13
    assert gap(weights.sum(dim=-1), torch.ones(2, 8, new)) <= 1e-13


def test_heads_are_shared_by_neighbours_not_dealt_out():
    q, k, v = normal(1, 4, 5, 6), normal(1, 2, 5, 6), normal(1, 2, 5, 6)
    theirs = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    tiled, _ = attend(q, k, v, share=lambda x, heads: x.repeat(1, heads // 2, 1, 1))
    assert gap(attend(q, k, v)[0], theirs) <= 1e-13
    assert gap(tiled, theirs) > 0.1
    assert torch.equal(share_heads(k, 4), k.repeat_interleave(2, dim=1))


@pytest.mark.parametrize(("new", "seen"), [(1, 5), (2, 5), (5, 5)])
def test_the_causal_mask_is_aligned_at_the_lower_right(new: int, seen: int):
    q, k, v = normal(1, 1, new, 4), normal(1, 1, seen, 4), normal(1, 1, seen, 4)
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(new, seen))
    ours, _ = attend(q, k, v, causal_mask(torch.arange(seen - new, seen), torch.arange(seen)))
    assert gap(ours, theirs) <= 1e-13
    upper_left = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert (gap(upper_left, theirs) > 1e-3) == (new < seen)


def test_hand_computed_means_come_out_of_equal_scores():
    v = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]], dtype=torch.float64)
    for new, expected in ((1, [2.5]), (2, [2.0, 2.5])):
        allowed = causal_mask(torch.arange(4 - new, 4), torch.arange(4))
        mixed, _ = attend(torch.zeros(1, new, 1).double(), torch.zeros_like(v), v, allowed)
        assert mixed.flatten().tolist() == pytest.approx(expected)


def test_a_query_that_sees_nothing_answers_zero():
    q, k, v = normal(1, 5, 4), normal(1, 2, 4), normal(1, 2, 4)
    visible = causal_mask(torch.arange(-3, 2), torch.arange(2))
    mixed, weights = attend(q, k, v, visible)
    assert visible.sum(dim=-1).tolist() == [0, 0, 0, 1, 2]
    assert torch.equal(mixed[0, :3], torch.zeros(3, 4).double())
    assert weights.isfinite().all()


def test_a_row_of_a_left_padded_batch_equals_the_sequence_alone():
    """Two layers deep, so that what padding could leak would be stored and read again."""
    lengths, width = [9, 5, 7], 9
    pad = torch.tensor([[width - n] for n in lengths])
    x = normal(3, 1, width, 8, seed=2)
    places = torch.arange(width) - pad  # negative where there is only padding
    allowed = (causal_mask(places, places) & (places >= 0).unsqueeze(-2)).unsqueeze(1)

    def two_layers(x: Tensor, positions: Tensor, allowed: Tensor) -> Tensor:
        for _ in range(2):
            turned = rotate(x, positions)
            x = x + attend(turned, turned, x, allowed)[0]
        return x

    batch = two_layers(x, places, allowed)
    for row, n in enumerate(lengths):
        positions = torch.arange(n)
        alone = two_layers(x[row, :, -n:], positions, causal_mask(positions, positions))
        assert gap(batch[row, :, -n:], alone) <= 1e-13


# --- transformers -----------------------------------------------------------------------------


def as_theirs(decoder: Decoder) -> dict[str, Tensor]:
    """The weights of our decoder under the names of Llama and Mistral."""
    names = {
        "attention.queries.q": "self_attn.q_proj",
        "attention.queries.o": "self_attn.o_proj",
        "attention.keys_values.k": "self_attn.k_proj",
        "attention.keys_values.v": "self_attn.v_proj",
        "feed_forward.": "mlp.",
        ".gate": ".gate_proj",
        ".up": ".up_proj",
        ".down": ".down_proj",
        "attention_norm": "input_layernorm",
        "feed_forward_norm": "post_attention_layernorm",
        "blocks": "model.layers",
        "embedding": "model.embed_tokens",
        "head.weight": "lm_head.weight",
    }
    theirs = {}
    for key, weight in decoder.state_dict().items():
        name = "model.norm.weight" if key == "norm.weight" else key
        for ours, other in names.items():
            name = name.replace(ours, other)
        theirs[name] = weight
    return theirs


def sizes(config: DecoderConfig) -> dict[str, Any]:
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.d_head,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
    } | EAGER


def loaded(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    module.load_state_dict(weights)
    return module.double().eval().requires_grad_(requires_grad=False)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_gqa_equals_llama_cached_and_not(n_kv_heads: int):
    config = replace(CONFIG, n_kv_heads=n_kv_heads)
    decoder = Decoder(config, 0)
    llama = loaded(LlamaForCausalLM(LlamaConfig(**sizes(config))), as_theirs(decoder))
    theirs = llama(TOKENS[None]).logits[0]
    assert gap(decoder(TOKENS), theirs) <= 1e-4  # they norm and turn in float32
    their_cache, our_cache = DynamicCache(), decoder.new_cache(12)
    for start, stop in ((0, 5), (5, 6), (6, 12)):
        piece = TOKENS[start:stop]
        step = llama(piece[None], cache=their_cache, use_cache=True).logits[0]
        assert gap(decoder(piece, our_cache), step) <= 1e-4
    for layer in range(config.n_layers):
        assert gap(our_cache[layer].read()[0], vars(their_cache.layers[layer])["keys"][0]) <= 1e-4


@pytest.mark.parametrize("store", ["contiguous", "ring"])
def test_a_window_equals_mistral_and_not_one_wider(store: str):
    config = replace(CONFIG, window=4)
    decoder = Decoder(config, 0)
    theirs = MistralForCausalLM(MistralConfig(**sizes(config), sliding_window=4))
    logits = loaded(theirs, as_theirs(decoder))(TOKENS[None]).logits[0]
    make = Contiguous if store == "contiguous" else lambda room: Ring(room, window=4)
    cache = decoder.new_cache(12, make)
    ours = torch.cat([decoder(piece, cache) for piece in TOKENS.split([5, 1, 1, 5])])
    assert gap(ours, logits) <= 1e-4
    assert gap(Decoder(replace(config, window=5), 0)(TOKENS), logits) > 1e-2


def angles(d_rope: int, base: float, positions: Tensor) -> tuple[Tensor, Tensor]:
    turns = positions[:, None] * frequencies(d_rope, base)
    return turns.cos()[None], turns.sin()[None]


def test_one_attention_layer_equals_llamas_to_the_last_digits():
    """With angles handed in and torch's softmax, nothing of theirs is left in float32."""
    layer = Attention(CONFIG, 0, Parts(), torch.Generator().manual_seed(1))
    theirs = LlamaAttention(LlamaConfig(**(sizes(CONFIG) | SDPA)), 0).double()
    ours = layer.state_dict()
    for name in "qkvo":
        part = "queries" if name in "qo" else "keys_values"
        theirs.get_submodule(f"{name}_proj").load_state_dict(
            {"weight": ours[f"{part}.{name}.weight"]}
        )
    x, positions = normal(9, 16), torch.arange(9)
    cos, sin = (torch.cat([turn, turn], dim=-1) for turn in angles(8, 1e4, positions))
    allowed = causal_mask(positions, positions)[None, None]
    expected, _ = theirs(x[None], (cos, sin), allowed)
    assert gap(layer(x, None, ignore), expected[0]) <= 1e-13


@pytest.mark.parametrize("attention", [ExpandedLatentAttention, AbsorbedLatentAttention])
@pytest.mark.parametrize("d_query_latent", [None, 10])
def test_mla_equals_deepseek_v3(attention: type, d_query_latent: int | None):
    config = LatentConfig(d_query_latent=d_query_latent)
    turned_in_pairs = Parts(rotate=lambda x, at, base: rotate(x, at, base, pairs))
    ours = attention(config, 0, turned_in_pairs, torch.Generator().manual_seed(1))
    theirs = DeepseekV3Attention(
        DeepseekV3Config(
            hidden_size=config.d_model,
            num_attention_heads=config.n_heads,
            num_key_value_heads=config.n_heads,
            q_lora_rank=d_query_latent,
            kv_lora_rank=config.d_latent,
            qk_nope_head_dim=config.d_head,
            qk_rope_head_dim=config.d_rope,
            v_head_dim=config.d_value,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_base},
            **EAGER,
        ),
        0,
    ).double()
    weights = ours.state_dict()
    up_key = weights["up_key.weight"].unflatten(0, (config.n_heads, -1))
    up_value = weights["up_value.weight"].unflatten(0, (config.n_heads, -1))
    renamed = {
        "kv_a_proj_with_mqa.weight": torch.cat(
            [weights["down.weight"], weights["rope_key.weight"]]
        ),
        "kv_a_layernorm.weight": weights["latent_norm.weight"],
        "kv_b_proj.weight": torch.cat([up_key, up_value], dim=1).flatten(0, 1),
        "o_proj.weight": weights["o.weight"],
    }
    if d_query_latent is None:
        renamed["q_proj.weight"] = weights["query.weight"]
    else:
        renamed["q_a_proj.weight"] = weights["query.0.weight"]
        renamed["q_a_layernorm.weight"] = weights["query.1.weight"]
        renamed["q_b_proj.weight"] = weights["query.2.weight"]
    theirs.load_state_dict(renamed)
    x, positions = normal(9, 16), torch.arange(9)
    cos, sin = (torch.cat([turn, turn], dim=-1) for turn in angles(4, 1e4, positions))
    hidden = torch.zeros(9, 9).double().masked_fill(~causal_mask(positions, positions), -torch.inf)
    expected, _ = theirs(x[None], (cos, sin), hidden[None, None])
    assert gap(ours(x, None, ignore), expected[0]) <= 1e-5  # their norms are in float32
    cache = KVCache([Contiguous(ours.room(9))])
    pieces = torch.cat([ours(piece, cache[0], ignore) for piece in x.split([4, 1, 4])])
    assert gap(pieces, expected[0]) <= 1e-5


@pytest.mark.parametrize("window", [None, 4])
def test_sinks_equal_gpt_oss(window: int | None):
    theirs = GptOssAttention(
        GptOssConfig(
            hidden_size=16,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            num_hidden_layers=2,
            **EAGER,
        ),
        0,
    ).double()
    with torch.no_grad():
        for n, parameter in enumerate(theirs.parameters()):
            parameter.copy_(0.2 * normal(*parameter.shape, seed=n))
    x, positions = normal(9, 16), torch.arange(9)
    pattern = masks.causal if window is None else masks.window(window)
    allowed = masks.mask(pattern, positions, positions)
    hidden = torch.zeros(9, 9).double().masked_fill(~allowed, -torch.inf)
    expected, their_weights = theirs(x[None], angles(8, 150_000.0, positions), hidden[None, None])
    q = rotate(split_heads(theirs.q_proj(x), 4), positions, 150_000.0)
    k = rotate(split_heads(theirs.k_proj(x), 2), positions, 150_000.0)
    mixed, weights = attend_with_sink(q, k, split_heads(theirs.v_proj(x), 2), theirs.sinks, allowed)
    assert gap(weights, their_weights[0]) <= 1e-13
    assert gap(theirs.o_proj(mixed.transpose(0, 1).flatten(1)), expected[0]) <= 1e-12
    assert (weights.sum(dim=-1) < 1).all()
