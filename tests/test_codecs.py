"""Rounding to few bits: the code tables, torch's own casts, error bounds, honest bytes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.errors import BadInput
from model.storage import STORAGE
from model.storage.base import Room
from model.storage.codecs import CODECS
from model.storage.codecs.blocks import Fp4, Mx
from model.storage.codecs.fp8 import Fp8
from model.storage.codecs.minifloat import E2M1, E4M3, E5M2, MiniFloat
from model.storage.codecs.packing import pack, unpack
from model.storage.kivi import decode_groups, encode_groups

FORMATS = {"e4m3": E4M3, "e5m2": E5M2, "e2m1": E2M1}
TORCH = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
FORMAT = pytest.mark.parametrize("number", FORMATS.values(), ids=FORMATS)
EVERY = pytest.mark.parametrize("name", CODECS)
WIDTH = 64


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def through(name: str, x: Tensor) -> Tensor:
    codec = CODECS[name]
    return codec.decode(codec.encode(x), x.shape[-1], x.dtype)


@pytest.mark.parametrize("name", TORCH)
def test_every_code_has_the_value_torch_gives_it(name: str):
    codes = torch.arange(256, dtype=torch.uint8)
    theirs = codes.view(TORCH[name]).double()
    ours = FORMATS[name].decode(codes)
    finite = theirs.isfinite()
    assert torch.equal(ours[finite], theirs[finite])
    assert torch.equal(ours.isnan(), ~finite)  # infinities are no numbers to us either


@pytest.mark.parametrize("name", TORCH)
def test_rounding_equals_the_cast_of_torch_ties_included(name: str):
    number = FORMATS[name]
    middles = (number.magnitudes[1:] + number.magnitudes[:-1]) / 2
    x = torch.cat([number.magnitudes, middles, number.largest * normal(20_000).tanh()])
    x = torch.cat([x, normal(20_000), 1e-3 * normal(2_000)]).float()
    x = torch.cat([x, -x])
    theirs = x.to(TORCH[name]).view(torch.uint8)
    assert torch.equal(number.encode(x), theirs)


@FORMAT
def test_finite_codes_round_trip(number: MiniFloat):
    codes = torch.arange(2**number.n_bits, dtype=torch.uint8)
    finite = codes[number.values.isfinite()]
    assert torch.equal(number.encode(number.decode(finite)), finite)


@FORMAT
def test_numbers_beyond_the_largest_saturate(number: MiniFloat):
    x = torch.tensor([1.01, 10.0, 1e30, torch.inf], dtype=torch.float64) * number.largest
    for sign in (1, -1):
        assert (number.decode(number.encode(sign * x)) == sign * number.largest).all()


@FORMAT
@given(st.data())
def test_rounding_takes_the_nearest_code_and_even_on_a_tie(number: MiniFloat, data: st.DataObject):
    x = data.draw(st.floats(-number.largest, number.largest, allow_nan=False))
    code = number.encode(torch.tensor([x], dtype=torch.float64))
    distance = (number.values - x).abs().nan_to_num(torch.inf)
    nearest = (distance == distance.min()).nonzero().flatten()
    assert number.decode(code) in number.values[nearest]
    magnitudes = {int(candidate) % 2 ** (number.n_bits - 1) for candidate in nearest}
    if len(magnitudes) > 1:
        assert int(code) % 2 == 0


def test_fp4_ties_go_where_the_table_says():
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)
    assert E2M1.decode(E2M1.encode(ties)).tolist() == [0, 1, 1, 2, 2, 4, 4]


def test_formats_have_their_published_limits():
    assert [number.largest for number in FORMATS.values()] == [448, 57_344, 6]
    assert [float(number.magnitudes[1]) for number in FORMATS.values()] == [2**-9, 2**-16, 0.5]
    assert [int(number.values.isfinite().sum()) for number in FORMATS.values()] == [254, 248, 16]


@FORMAT
def test_normal_numbers_are_off_by_half_a_step_at_most(number: MiniFloat):
    smallest_normal = float(number.magnitudes[2**number.mantissa_bits])
    x = torch.linspace(smallest_normal, number.largest, 100_003, dtype=torch.float64)
    error = (number.decode(number.encode(x)) - x).abs() / x
    assert float(error.max()) <= 1 / (2 ** (number.mantissa_bits + 1) + 1) + 1e-12


def test_nan_stays_visible_where_the_format_has_one():
    x = torch.full((1, WIDTH), torch.nan, dtype=torch.float64)
    for name in ("fp8-e4m3", "fp8-e5m2"):
        assert through(name, x).isnan().all()


@pytest.mark.parametrize("n_bits", [1, 2, 4, 8])
def test_packing_round_trips(n_bits: int):
    codes = torch.arange(64, dtype=torch.uint8).reshape(2, 32) & (2**n_bits - 1)
    packed = pack(codes, n_bits)
    assert packed.nbytes == codes.nbytes * n_bits // 8
    assert torch.equal(unpack(packed, n_bits), codes)


BLOCKS = {
    "normal": normal(8, WIDTH),
    "zero": torch.zeros(3, WIDTH, dtype=torch.float64),
    "constant": torch.full((3, WIDTH), 1.7, dtype=torch.float64),
    "outlier": normal(8, WIDTH) + 90 * torch.eye(8, WIDTH, dtype=torch.float64),
    "tiny": 1e-12 * normal(8, WIDTH),
    "one": torch.eye(8, WIDTH, dtype=torch.float64),
}
BLOCK = pytest.mark.parametrize("x", BLOCKS.values(), ids=BLOCKS)


@EVERY
@BLOCK
def test_bytes_are_what_the_codec_says(name: str, x: Tensor):
    codec = CODECS[name]
    rows = codec.encode(x)
    assert rows.dtype == torch.uint8
    assert rows.nbytes == x.shape[0] * codec.row_bytes(WIDTH)


@EVERY
@BLOCK
def test_zeros_stay_zeros_and_signs_stay_signs(name: str, x: Tensor):
    coded = through(name, x)
    assert (coded[x == 0] == 0).all()
    assert (coded * x >= 0).all()
    assert torch.equal(through(name, -x), -coded)


@EVERY
@BLOCK
def test_coding_what_was_decoded_changes_nothing(name: str, x: Tensor):
    once = through(name, x)
    assert torch.equal(through(name, once), once)


@BLOCK
def test_int8_is_off_by_half_a_step(x: Tensor):
    step = x.abs().amax(dim=-1, keepdim=True) / 127
    assert ((through("int8", x) - x).abs() <= step / 2 * (1 + 1e-6) + 1e-30).all()


@BLOCK
def test_fp4_is_off_by_at_most_its_scale(x: Tensor):
    blocks = x.unflatten(-1, (-1, 16))
    largest = blocks.abs().amax(dim=-1, keepdim=True)
    normal_scale = largest >= 6 * 2**-6
    error = (through("fp4", x).unflatten(-1, (-1, 16)) - blocks).abs()
    bound = torch.where(normal_scale, 18 / 17 / 6 * largest, 3 * 2**-9 + largest)
    assert (error <= bound + 1e-15).all()


@BLOCK
def test_mxfp4_is_off_by_at_most_its_scale_and_never_clamps(x: Tensor):
    blocks = x.unflatten(-1, (-1, 32))
    scale = torch.exp2((blocks.abs().amax(dim=-1, keepdim=True) / 6).log2().ceil())
    error = (through("mxfp4", x).unflatten(-1, (-1, 32)) - blocks).abs()
    assert (error <= scale).all()


def test_the_fp4_block_of_the_worked_example():
    x = [0.1, -0.2, 0.3, 0.75, -1.0, 1.4, 2.1, -2.6, 3.0, 0.05, -0.6, 0.9, 1.1, -1.7, 2.4, -0.4]
    codes = [0, -0.5, 0.5, 1.5, -2, 3, 4, -6, 6, 0, -1, 2, 2, -3, 4, -1]
    block = torch.tensor([x], dtype=torch.float64)
    rows = Fp4().encode(block)
    assert rows.shape == (1, 9)
    assert float(E4M3.decode(rows[0, 8:])) == 0.5
    decoded = Fp4().decode(rows, 16, torch.float64)
    assert (2 * decoded[0]).tolist() == codes
    assert float((decoded - block).abs().max()) == pytest.approx(0.4)


def test_published_bits_a_value_are_met():
    assert Fp4().bits_per_value(512) == 4.5
    assert Mx().bits_per_value(128) == 4.25
    assert Fp8().bits_per_value(128) == 8
    assert Fp4().row_bytes(512) == 288
    assert Mx().row_bytes(128) == 68
    assert Mx(E4M3).row_bytes(512) == 528


@pytest.mark.parametrize(
    ("name", "percent"), [("int8", 0.74), ("fp8-e4m3", 2.65), ("fp8-e5m2", 5.27), ("fp4", 9.5)]
)
def test_gaussian_rows_lose_the_known_share(name: str, percent: float):
    x = normal(400, 512)
    lost = (through(name, x) - x).square().mean().sqrt() / x.square().mean().sqrt()
    assert float(100 * lost) == pytest.approx(percent, rel=0.03)


def test_rows_that_do_not_divide_into_blocks_are_refused():
    with pytest.raises(BadInput, match="24 numbers does not divide into blocks of 16"):
        Fp4().encode(normal(2, 24))


@pytest.mark.parametrize("n_bits", [2, 4])
@pytest.mark.parametrize("x", [*BLOCKS.values(), BLOCKS["normal"] + 20], ids=[*BLOCKS, "offset"])
def test_asymmetric_groups_are_off_by_half_a_step(n_bits: int, x: Tensor):
    groups = x.unflatten(-1, (-1, 16))
    coded = decode_groups(encode_groups(groups, n_bits), n_bits)
    low, high = groups.aminmax(dim=-1, keepdim=True)
    half_rounding = (low.abs() + high - low) * 2**-11 + 2**-24 * 2**n_bits
    assert ((coded - groups).abs() <= (high - low) / (2**n_bits - 1) / 2 + half_rounding).all()


def test_asymmetric_codes_of_the_worked_example():
    groups = encode_groups(torch.tensor([[-1, 0.2, 0.5, 2]], dtype=torch.float64), 2)
    assert unpack(groups.codes, 2).flatten().tolist() == [0, 1, 2, 3]
    assert decode_groups(groups, 2).flatten().tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize(("n_bits", "per_channel", "per_token"), [(2, 0.39, 2.0), (4, 0.08, 0.37)])
def test_keys_with_offsets_want_a_range_per_channel(
    n_bits: int, per_channel: float, per_token: float
):
    keys = normal(128, 64)
    keys[:, 3] += 20
    keys[:, 40] -= 15
    store = STORAGE[f"kivi-{n_bits}"](Room(kv_heads=1, d_key=64, d_value=64, capacity=128))
    k, _ = store.append(keys[None], keys[None])
    by_token = decode_groups(encode_groups(keys.unflatten(-1, (-1, 32)), n_bits), n_bits).flatten(1)
    errors = [float((coded - keys).square().mean().sqrt()) for coded in (k[0], by_token)]
    assert errors[0] == pytest.approx(per_channel, rel=0.15)
    assert errors[1] > 4 * errors[0]
    assert errors[1] == pytest.approx(per_token, rel=0.4)


@given(st.integers(0, 99))
def test_lossy_values_move_the_output_no_more_than_a_row_moved(seed: int):
    v = normal(9, WIDTH, seed=seed)
    weights = normal(9, seed=seed + 1).softmax(dim=0)
    coded = through("fp4", v)
    assert float((weights @ (coded - v)).abs().max()) <= float((coded - v).abs().max())
