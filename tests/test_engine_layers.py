"""However a matrix is laid out it is the same matrix, and the processor decides which layout."""

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_limits

from model.engine import layers
from model.engine.layers import (
    LAYOUTS,
    InOut,
    Linear,
    OutIn,
    Packed,
    Streamed,
    Widened,
    fastest_layout,
    keep_numpy_to_one_thread,
)
from tests.oracles.engine import CPU

OF_FLOAT32 = {name: layout for name, layout in LAYOUTS.items() if layout is not Widened}
WEIGHT = torch.randn(40, 24, generator=torch.Generator().manual_seed(1))
BIAS = torch.randn(40, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("bias", [None, BIAS], ids=["plain", "bias"])
@pytest.mark.parametrize("shape", [(1, 1, 24), (24,), (1, 7, 24), (3, 2, 24)], ids=str)
@pytest.mark.parametrize("layout", OF_FLOAT32.values(), ids=OF_FLOAT32)
@torch.inference_mode()
def test_every_layout_is_the_linear_map_of_pytorch(
    layout: type[Linear], shape: tuple[int, ...], bias: torch.Tensor | None
):
    if layout is Packed and not layers.has_packed(torch.float32):
        pytest.skip("this build of PyTorch has no oneDNN")
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    expected = torch.nn.functional.linear(x, WEIGHT, bias)
    assert layout(WEIGHT, bias)(x).shape == expected.shape
    assert (layout(WEIGHT, bias)(x) - expected).abs().max() <= 2e-5


@pytest.mark.parametrize("bias", [None, BIAS], ids=["plain", "bias"])
def test_rows_of_16_bits_are_multiplied_in_32_and_rounded_once(bias: torch.Tensor | None):
    weight = WEIGHT.bfloat16()
    narrow = None if bias is None else bias.bfloat16()
    wide = None if narrow is None else narrow.float()
    x = torch.randn(5, 24, generator=torch.Generator().manual_seed(3)).bfloat16()
    expected = torch.nn.functional.linear(x.float(), weight.float(), wide).bfloat16()
    assert torch.equal(Widened(weight, narrow)(x), expected)
    one = torch.nn.functional.linear(x[:1], weight, narrow)
    assert torch.equal(Widened(weight, narrow)(x[:1]), one)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_without_16_bit_instructions_a_prompt_is_read_in_32_bits(n_threads: int):
    assert fastest_layout(torch.bfloat16, CPU, n_threads, packs=lambda _: False) is Widened
    assert fastest_layout(torch.bfloat16, CPU, n_threads, packs=lambda _: True) is Packed


def test_one_thread_streams_float32_and_several_share_it_in_blocks():
    assert fastest_layout(torch.float32, CPU, 1) is Streamed
    assert fastest_layout(torch.float32, CPU, 2, packs=lambda _: True) is Packed
    assert fastest_layout(torch.float32, CPU, 2, packs=lambda _: False) is InOut


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_other_types_and_other_devices_take_weights_as_files_have_them(dtype: torch.dtype):
    assert fastest_layout(dtype, CPU, 1) is OutIn
    assert fastest_layout(torch.float32, torch.device("cuda"), 1) is OutIn


def test_numpy_is_kept_to_the_callers_thread():
    assert (np.ones((2, 2)) @ np.ones((2, 2)) == 2).all()
    with threadpool_limits(2, user_api="blas"):
        keep_numpy_to_one_thread()
        blas = ThreadpoolController().select(user_api="blas").info()
        assert {library["num_threads"] for library in blas} <= {1}
