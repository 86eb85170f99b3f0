"""The calculator's list of layers, written for the toy and its variants, against their tensors."""

import pytest
import torch

from model.sizing.layers import Layer, Model, Rows
from model.sizing.question import Question
from model.sizing.size import total_bytes
from model.toy.config import ToyConfig
from model.toy.variants.catalogue import VARIANTS, Variant
from model.toy.variants.latent import D_LATENT, D_ROPE
from model.toy.variants.run import network_of, steps_of

FP64_OVER_FP32 = 2  # the toy keeps float64; the calculator's widest format is fp32
EXAMPLE = "The black cat sees a white bird."


def rows_of(name: str, config: ToyConfig, window: int | None) -> tuple[Rows, ...]:
    if name == "mla":
        latent = Rows(name="latent", role="key", width=D_LATENT)
        return latent, Rows(name="rotary key", role="key", width=D_ROPE)
    heads, width = config.n_kv_heads, config.d_head
    kinds = (("key", "key"), ("value", "value"))
    return tuple(
        Rows(name=kind, role=role, heads=heads, width=width, window=window)  # pyright: ignore[reportArgumentType]
        for kind, role in kinds
    )


def calculated(name: str, variant: Variant) -> Model:
    """The variant as the calculator sees a model: layers, owners, rows."""
    config = variant.config
    held = rows_of(name, config, variant.most_words)
    shares = name == "cla"
    layers = tuple(
        Layer(
            index=index,
            kind="full",
            owner=0 if shares else index,
            holds=() if shares and index else held,
        )
        for index in range(config.n_layers)
    )
    return Model(name=name, model_type="toy", layers=layers, parameters=None)


@pytest.mark.parametrize("name", VARIANTS)
@torch.inference_mode()
def test_bytes_the_toy_keeps_are_the_bytes_the_calculator_says(name: str):
    model = calculated(name, VARIANTS[name])
    for n_words, step in enumerate(steps_of(network_of(name), EXAMPLE), start=1):
        question = Question(tokens=n_words, k_format="fp32", v_format="fp32")
        assert step.cache_bytes == FP64_OVER_FP32 * total_bytes(model, question)
