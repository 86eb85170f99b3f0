"""However a matrix is laid out it is the same matrix, and the processor decides which layout."""

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from model.engine import layers
from model.engine.layers import (
    LAYOUTS,
    Linear,
    OutIn,
    Packed,
    Streamed,
    Widened,
    cores_to_blas,
    fastest_layout,
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


def test_without_16_bit_instructions_a_prompt_is_read_in_32_bits():
    assert fastest_layout(torch.bfloat16, CPU, packs=lambda _: False) is Widened
    assert fastest_layout(torch.bfloat16, CPU, packs=lambda _: True) is Packed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_what_numpy_has_a_type_for_is_streamed(dtype: torch.dtype):
    assert fastest_layout(dtype, CPU) is Streamed


@pytest.mark.parametrize("shape", [(40, 24), (24, 40)], ids=str)
def test_the_longer_side_of_a_streamed_matrix_lies_along_memory(shape: tuple[int, int]):
    matrix = Streamed(torch.zeros(shape)).matrix
    assert matrix.shape == shape[::-1]
    assert matrix.strides[matrix.shape.index(max(shape))] == matrix.itemsize


def test_float16_and_other_devices_take_weights_as_files_have_them():
    assert fastest_layout(torch.float16, CPU) is OutIn
    assert fastest_layout(torch.float32, torch.device("cuda")) is OutIn


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in ThreadpoolController().select(user_api="blas").info()}


@pytest.mark.parametrize("n_threads", [1, 2])
def test_for_a_row_numpy_has_the_cores_of_pytorch_and_then_all_is_as_before(n_threads: int):
    assert (np.ones((2, 2)) @ np.ones((2, 2)) == 2).all()
    before, blas_before = torch.get_num_threads(), blas_threads()
    torch.set_num_threads(n_threads)
    try:
        with cores_to_blas():
            assert blas_threads() <= {n_threads}
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == n_threads
        assert blas_threads() == blas_before
    finally:
        torch.set_num_threads(before)
