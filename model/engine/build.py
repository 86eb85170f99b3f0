"""From a checkpoint to a model in place: read, pack, convert and lay out, one matrix at a time."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from model.engine.checkpoint import Checkpoint
from model.engine.config import EngineConfig
from model.engine.layer import Layer
from model.engine.layers import Linear
from model.engine.model import LanguageModel
from model.engine.rotary import RotaryTable


class Builder:
    """Turns tensors of one checkpoint into weights of one type, on one device, in one layout."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        dtype: torch.dtype,
        device: torch.device,
        layout: type[Linear],
    ) -> None:
        self.checkpoint, self.config = checkpoint, checkpoint.config
        self.dtype, self.device = dtype, device
        self.layout = layout

    @torch.no_grad()
    def model(self) -> LanguageModel:
        """Read everything. Raises BadInput for missing tensors and for wrong shapes."""
        config = self.config
        embedding = self.tensor("model.embed_tokens.weight", config.vocab_size, config.d_model)
        return LanguageModel(
            config=config,
            embedding=embedding,
            layers=tuple(self.layer(index) for index in range(config.n_layers)),
            norm=self.tensor("model.norm.weight", config.d_model),
            head=self.layout(
                embedding
                if config.tied
                else self.tensor("lm_head.weight", config.vocab_size, config.d_model)
            ),
            rotary=RotaryTable(config, config.context, self.dtype, self.device),
        )

    def layer(self, index: int) -> Layer:
        """Read one layer; q, k and v become one matrix, gate and up another."""
        c, own = self.config, f"model.layers.{index}."
        attention = own + "self_attn."
        queries, keys = c.n_heads * c.d_head, c.n_kv_heads * c.d_head
        return Layer(
            attention_norm=self.tensor(own + "input_layernorm.weight", c.d_model),
            qkv=self.packed(
                c.d_model,
                {
                    attention + "q_proj": queries,
                    attention + "k_proj": keys,
                    attention + "v_proj": keys,
                },
            ),
            q_norm=self.tensor(attention + "q_norm.weight", c.d_head) if c.qk_norm else None,
            k_norm=self.tensor(attention + "k_norm.weight", c.d_head) if c.qk_norm else None,
            out=self.packed(queries, {attention + "o_proj": c.d_model}),
            feed_forward_norm=self.tensor(own + "post_attention_layernorm.weight", c.d_model),
            gate_up=self.packed(
                c.d_model, {own + "mlp.gate_proj": c.d_ff, own + "mlp.up_proj": c.d_ff}
            ),
            down=self.packed(c.d_ff, {own + "mlp.down_proj": c.d_model}),
        )

    def tensor(self, name: str, *shape: int) -> Float[Tensor, "..."]:
        """Read one tensor into place."""
        return self.checkpoint.take(name, *shape).to(device=self.device, dtype=self.dtype)

    def packed(self, d_in: int, parts: dict[str, int]) -> Linear:
        """Stack projections of the same input into one matrix, and so their biases, if any."""
        weight = torch.cat([self.tensor(f"{p}.weight", d_out, d_in) for p, d_out in parts.items()])
        biases = [self.checkpoint.take_if_there(f"{p}.bias", n) for p, n in parts.items()]
        if all(bias is None for bias in biases):
            return self.layout(weight)
        whole = [
            torch.zeros(n) if bias is None else bias
            for bias, n in zip(biases, parts.values(), strict=True)
        ]
        bias = torch.cat([b.to(device=self.device, dtype=self.dtype) for b in whole])
        return self.layout(weight, bias)


def random_checkpoint(
    config: EngineConfig, seed: int, *, device: torch.device, dtype: torch.dtype
) -> Checkpoint:
    """Weights of a real shape with nothing learnt: to measure a machine without any files.

    Every call draws a tensor anew from its own seed, so a tensor read twice is the same twice.
    """
    shapes = tensor_shapes(config)
    seeds = {name: seed * len(shapes) + i for i, name in enumerate(shapes)}

    def read(name: str) -> Tensor:
        shape = shapes[name]
        if len(shape) == 1:
            return torch.ones(shape, device=device, dtype=dtype)
        generator = torch.Generator(device).manual_seed(seeds[name])
        std = 1.0 if name == "model.embed_tokens.weight" else 1 / math.sqrt(shape[-1])
        empty = torch.empty(shape, device=device, dtype=dtype)
        return empty.normal_(std=std, generator=generator)

    names = frozenset(shapes)
    return Checkpoint(name="random weights", config=config, names=names, read=read, tokenizer=None)


def tensor_shapes(config: EngineConfig) -> dict[str, tuple[int, ...]]:
    """State every tensor a bias-free member of the family has, by its Hugging Face name."""
    d, q, kv = config.d_model, config.n_heads * config.d_head, config.n_kv_heads * config.d_head
    in_layer = {
        "input_layernorm": (d,),
        "self_attn.q_proj": (q, d),
        "self_attn.k_proj": (kv, d),
        "self_attn.v_proj": (kv, d),
        "self_attn.o_proj": (d, q),
        "post_attention_layernorm": (d,),
        "mlp.gate_proj": (config.d_ff, d),
        "mlp.up_proj": (config.d_ff, d),
        "mlp.down_proj": (d, config.d_ff),
    }
    if config.qk_norm:
        in_layer |= {"self_attn.q_norm": (config.d_head,), "self_attn.k_norm": (config.d_head,)}
    shapes = {"model.embed_tokens.weight": (config.vocab_size, d), "model.norm.weight": (d,)}
    for index in range(config.n_layers):
        shapes |= {f"model.layers.{index}.{part}.weight": s for part, s in in_layer.items()}
    return shapes if config.tied else {**shapes, "lm_head.weight": (config.vocab_size, d)}
