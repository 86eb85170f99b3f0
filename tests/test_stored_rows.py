"""The toy's rows in smaller stores: codes and scales are the bytes kept, and errors are bounded."""

import numpy as np
import pytest

from model.storage.codecs import CODECS
from model.toy.record import record
from model.toy.stored import BLOCK, FORMATS, Stored, stored
from model.toy.trace import Trace

EXAMPLE = "The quick brown fox jumps over the lazy dog"
every_format = pytest.mark.parametrize("name", FORMATS)
ROW_FORMATS = [name for name in FORMATS if not name.startswith("kivi")]
KIVI_FORMATS = [name for name in FORMATS if name.startswith("kivi")]


def exact(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    last = [layer.attention for layer in trace.cached.steps[-1].layers]
    return np.stack([a.k for a in last]), np.stack([a.v for a in last])


@pytest.fixture(scope="module")
def trace() -> Trace:
    return record(EXAMPLE)


@pytest.fixture(scope="module")
def found(trace: Trace) -> dict[str, Stored]:
    return {name: stored(trace, form) for name, form in FORMATS.items()}


@every_format
def test_every_number_read_back_is_zero_and_units_times_scale(name: str, found: dict[str, Stored]):
    one = found[name]
    for value, codes in zip((one.k, one.v), one.codes, strict=True):
        np.testing.assert_array_equal(codes.zero + codes.units * codes.scale, value)


@pytest.mark.parametrize("name", ROW_FORMATS)
def test_bits_a_number_are_the_bytes_held(name: str, trace: Trace, found: dict[str, Stored]):
    n_numbers = trace.numbers_per_token * len(trace.words)
    assert found[name].cache_bytes * 8 == FORMATS[name].bits_here * n_numbers


@every_format
def test_the_error_is_at_most_what_the_format_promises(
    name: str, trace: Trace, found: dict[str, Stored]
):
    one = found[name]
    for value, whole, codes in zip((one.k, one.v), exact(trace), one.codes, strict=True):
        error = np.abs(value - whole)
        if name == "fp8-e4m3":
            assert (error <= np.abs(whole) / 17 + 2**-10).all()
        elif name == "fp4":
            assert (error <= codes.scale * (1 + 1e-9)).all()
        else:
            assert (error <= codes.scale * 0.52 + 2e-3).all()  # zero and scale are rounded too
        assert error.max() > 0


@pytest.mark.parametrize("name", KIVI_FORMATS)
def test_recent_rows_wait_as_they_are(name: str, trace: Trace, found: dict[str, Stored]):
    one, (k, v) = found[name], exact(trace)
    n = len(trace.words)
    coded = n // BLOCK * BLOCK
    np.testing.assert_array_equal(one.k[:, :, coded:], k[:, :, coded:])
    np.testing.assert_array_equal(one.v[:, :, n - BLOCK :], v[:, :, n - BLOCK :])
    assert np.abs(one.k[:, :, :coded] - k[:, :, :coded]).max() > 0
    assert np.abs(one.v[:, :, : n - BLOCK] - v[:, :, : n - BLOCK]).max() > 0


@pytest.mark.parametrize("name", KIVI_FORMATS)
def test_kivi_scales_keys_by_channel_and_values_by_word(name: str, found: dict[str, Stored]):
    keys, values = found[name].codes
    group = keys.scale[:, :, :BLOCK]
    assert (group == group[:, :, :1]).all()  # one scale for four words of a channel
    assert (keys.scale[:, :, 0, 0] != keys.scale[:, :, 0, 1]).any()
    assert (values.scale == values.scale[..., :1]).all()  # one for the four numbers of a word


@every_format
def test_the_logits_move_and_fewer_bits_move_them_more(name: str, found: dict[str, Stored]):
    moved = found[name].logits_moved
    assert (moved >= 0).all()
    assert moved.max() > 0
    assert found["kivi-2"].logits_moved.max() > found["kivi-4"].logits_moved.max()
    assert found["fp4"].logits_moved.max() > found["int8"].logits_moved.max()


def test_wide_heads_pay_less_for_scales():
    for form in FORMATS.values():
        assert form.bits_wide <= form.bits_here
    assert FORMATS["fp4"].bits_wide == CODECS["fp4"].bits_per_value(128) == 4.5
    assert FORMATS["kivi-2"].bits_wide == 3
    assert FORMATS["kivi-4"].bits_wide == 5
