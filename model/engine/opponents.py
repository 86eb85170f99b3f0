"""What the engine is measured against: the same weights in other people's hands."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from model.engine.build import tensor_shapes
from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig
from model.errors import BadInput

Tokens = Int[Tensor, "batch new"]
Chosen = Int[Tensor, "batch 1"]


def transformers_model(checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device) -> Any:
    """Put a checkpoint into transformers' LlamaForCausalLM. Raises BadInput where it has none."""
    from transformers import LlamaForCausalLM  # noqa: PLC0415 - only a benchmark needs it

    shapes = tensor_shapes(checkpoint.config)
    if checkpoint.names != set(shapes) or checkpoint.config.rope_divisors:
        message = f"{checkpoint.name} is no plain Llama: it is measured without transformers"
        raise BadInput(message)
    config = llama_config(checkpoint.config)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    weights = {name: checkpoint.read(name).to(device=device, dtype=dtype) for name in shapes}
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(device)  # it was on meta
    return model.eval()


def llama_config(c: EngineConfig) -> Any:
    """Write our config as transformers' own, with no token that ends a text."""
    from transformers import LlamaConfig  # noqa: PLC0415

    return LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads,
        head_dim=c.d_head,
        max_position_embeddings=c.context,
        rms_norm_eps=c.norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
        tie_word_embeddings=c.tied,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )


class Transformers:
    """Greedy decoding through `forward`: without the bookkeeping of `generate`, so at its best."""

    def __init__(self, model: Any, n_static: int | None = None) -> None:
        self.model, self.n_static = model, n_static
        self.cache: Any = None

    def prefill(self, prompt: Tokens) -> Chosen:
        from transformers import DynamicCache, StaticCache  # noqa: PLC0415

        config = self.model.config
        if self.n_static is None:
            self.cache = DynamicCache(config=config)
        else:
            self.cache = StaticCache(config=config, max_cache_len=self.n_static)
        return self.step(prompt)

    @torch.inference_mode()
    def step(self, tokens: Tokens) -> Chosen:
        scores = self.model(tokens, cache=self.cache, logits_to_keep=1).logits[:, -1]
        return scores.argmax(dim=-1, keepdim=True)
