"""The cache changes nothing but the work: the toy's two runs, on any text at all."""

from functools import partial
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from model.errors import BadInput
from model.toy.arithmetic import Blas, FixedOrder
from model.toy.cache import Cache
from model.toy.config import ToyConfig
from model.toy.decode import (
    always_first,
    decode_cached,
    decode_naive,
    forced,
    prefill,
)
from model.toy.lexicon import english_words
from model.toy.masks import bidirectional, causal
from model.toy.network import Network
from model.toy.record import (
    record,
    record_prefill,
    record_run,
    shipped,
    source_of,
    toy_of,
    understand,
)
from model.toy.training import Trainee
from model.toy.vocabulary import vocabularies

TOY = shipped()
ODD_WORDS = [
    *("🍕", "👩‍👩‍👧‍👦", "🇫🇷", "👍🏽", "日本語", "猫", "שלום", "مرحبا", "e\u0301te\u0301"),
    *(
        "Zoë",
        "naïve",
        "x" * 40,
        "3.50",
        "co-op",
        "dog's",
        "don't",
        "It\N{RIGHT SINGLE QUOTATION MARK}s",
        "<b>hi</b>",
        "&amp;",
    ),
    *("<script>alert(1)</script>", "</s>", "<s>", "<1>", "\u202eevil\u202c", "\x00", "?!", "…"),
]
words = st.one_of(
    st.sampled_from(english_words()),
    st.sampled_from(ODD_WORDS),
    st.text(min_size=1, max_size=5),
)
texts = st.tuples(  # at least one word to read, and up to more than can be read
    st.lists(words, max_size=2), st.sampled_from(english_words()), st.lists(words, max_size=11)
).map(lambda parts: " ".join([*parts[0], parts[1], *parts[2]]))


def source_for(text: str, arithmetic: type[Blas] = FixedOrder):
    network = Network(TOY.config, TOY.parameters, arithmetic())
    _, source = source_of(network, understand(text, TOY.config))
    return network, source


@settings(max_examples=1000)
@given(texts)
@torch.inference_mode()
def test_the_cache_changes_no_word_and_no_bit_of_any_logit(text: str):
    network, source = source_for(text)
    naive = list(decode_naive(network, source))
    cached = list(decode_cached(network, source))
    assert [step.word for step in naive] == [step.word for step in cached]
    assert all(torch.equal(a.logits, b.logits) for a, b in zip(naive, cached, strict=True))
    n = len(cached)
    assert sum(step.work.positions for step in cached) == n
    assert sum(step.work.positions for step in naive) == n * (n + 1) // 2


@given(texts)
def test_rows_already_cached_never_change(text: str):
    steps = record(text).cached.steps
    for earlier, later in pairwise(steps):
        for a, b in zip(earlier.layers, later.layers, strict=True):
            n = earlier.n_seen
            assert later.n_seen == n + 1
            np.testing.assert_array_equal(a.attention.k, b.attention.k[:, :n])
            np.testing.assert_array_equal(a.attention.v, b.attention.v[:, :n])
            np.testing.assert_array_equal(a.cross.k, b.cross.k)


@given(texts)
def test_without_a_cache_the_rows_behind_do_not_move_either(text: str):
    trace = record(text)
    for full, cached in zip(trace.naive.steps, trace.cached.steps, strict=True):
        for a, b in zip(full.layers, cached.layers, strict=True):
            np.testing.assert_array_equal(a.attention.k, b.attention.k)
            np.testing.assert_array_equal(a.attention.v, b.attention.v)
            np.testing.assert_array_equal(a.norm3[-1:], b.norm3)


def test_a_bidirectional_mask_moves_the_rows_behind():
    run = record_run("the black cat sees me", partial(decode_naive, mask=bidirectional))
    first, second = (step.layers[1].attention.k for step in run.steps[1:3])
    assert np.abs(first - second[:, : first.shape[1]]).max() > 1e-3


def test_place_zero_at_every_step_breaks_the_run():
    text = "the black cat sees a white bird"
    right = record(text).cached
    wrong = record_run(text, partial(decode_cached, places=always_first))
    assert wrong.words != right.words
    np.testing.assert_array_equal(wrong.steps[0].logits, right.steps[0].logits)
    assert np.abs(wrong.steps[1].logits - right.steps[1].logits).max() > 1e-3


@given(texts, st.data())
def test_every_split_of_a_prompt_gives_the_same_rows(text: str, data: st.DataObject):
    cached = record(text).cached
    prompt = ["<s>", *cached.words[:-1]]
    split, rest = [], len(prompt)
    while rest:
        split.append(data.draw(st.integers(1, rest)))
        rest -= split[-1]
    kept = record_prefill(text, prompt, split)
    for layer, rows in zip(cached.steps[-1].layers, kept, strict=True):
        np.testing.assert_array_equal(layer.attention.k, rows.k)
        np.testing.assert_array_equal(layer.attention.v, rows.v)


def test_chunks_that_do_not_make_up_the_prompt_are_refused():
    with pytest.raises(BadInput, match=r"\[1, 1\].*prompt of 3"):
        record_prefill("the cat", ["<s>", "le", "chat"], [1, 1])


def test_words_can_be_forced():
    ids = vocabularies(TOY.config).french.ids
    wanted = ("un", "chat", "</s>")
    trace = record("the cat", choose=forced([ids[word] for word in wanted]))
    assert trace.words == wanted
    assert trace.max_abs_diff == 0.0


def test_the_library_order_of_sums_is_close_and_not_equal():
    gaps = [record(text, make_arithmetic=Blas).max_abs_diff for text in SENTENCES]
    assert 0.0 < max(gaps) < 1e-11


SENTENCES = ("The black cat sees a white bird.", "We don't like pineapple pizza", "猫 cat 猫")


@given(texts)
def test_work_is_what_the_closed_forms_say(text: str):
    trace = record(text)
    config, n, m = TOY.config, len(trace.words), len(trace.source)
    per_score = config.n_layers * config.n_heads
    cached, naive = trace.cached.work, trace.naive.work
    squares = n * (n + 1) * (2 * n + 1) // 6
    assert (cached.projected_rows, naive.projected_rows) == (2 * n, n * (n + 1))
    assert (cached.memory_rows, naive.memory_rows) == (2 * m, 2 * m * n)
    assert (cached.self_scores, naive.self_scores) == (
        per_score * n * (n + 1) // 2,
        per_score * squares,
    )
    assert cached.cross_scores == per_score * n * m
    assert cached.multiply_adds == sum(multiply_adds(seen, 1, m) for seen in range(1, n + 1)) + (
        config.n_layers * m * 2 * config.d_model**2
    )


def multiply_adds(seen: int, new: int, m: int) -> int:
    """Of one decode step, from the shapes alone: projections, scores and mixes, output."""
    config = TOY.config
    d, vocab = config.d_model, len(vocabularies(config).french.words)
    row = (4 + 2) * d * d + 2 * d * config.d_ff
    attention = 2 * d * (seen + m)
    return config.n_layers * new * (row + attention) + d * vocab


def test_a_written_word_costs_32_numbers_and_the_source_is_kept_once():
    trace = record("the black cat sees a white bird")
    assert trace.numbers_per_token == 32
    assert trace.cache_bytes == 32 * 8 * len(trace.words)
    assert trace.cross_bytes == 32 * 8 * len(trace.source)
    growth = np.diff([step.cache_bytes for step in trace.cached.steps])
    assert set(growth) == {32 * 8}


def test_the_mask_lets_each_query_read_up_to_its_own_place():
    for seen in range(1, 8):
        for new in range(1, seen + 1):
            mask = causal(new, seen)
            allowed = np.ones((1, seen), dtype=bool) if mask is None else mask.numpy()
            for query in range(new):
                assert allowed[query].tolist() == [k <= seen - new + query for k in range(seen)]


def test_nothing_the_sentence_lacks_can_be_written():
    trace = record("Bob sees 日本")
    impossible = [
        k
        for k, word in enumerate(trace.vocabulary)
        if word == "<s>" or (word.startswith("<") and word not in {"<1>", "<2>", "</s>"})
    ]
    for step in trace.cached.steps:
        assert step.probabilities[impossible].sum() == 0.0
        assert abs(step.probabilities.sum() - 1.0) < 1e-12


# PyTorch as oracle


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 1),
    st.integers(0, 2**31),
    st.sampled_from([1, 9]),
)
def test_attention_agrees_with_pytorch(new: int, seen: int, mask_it: int, seed: int, size: int):
    torch.manual_seed(seed)
    seen = max(new, seen)
    q, k, v = (size * torch.randn(2, n, 4, dtype=torch.float64) for n in (new, seen, seen))
    mask = torch.ones(new, seen, dtype=torch.bool).tril(seen - new) if mask_it else None
    expected = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    arithmetic = FixedOrder()
    scores = arithmetic.scores(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    mixed = arithmetic.mix(arithmetic.softmax(scores), v)
    assert (mixed - expected).abs().max() <= 1e-11


@given(st.integers(1, 9), st.integers(0, 2**31))
def test_norm_and_projection_agree_with_pytorch(rows: int, seed: int):
    torch.manual_seed(seed)
    norm = nn.LayerNorm(8, dtype=torch.float64)
    linear = nn.Linear(8, 24, bias=False, dtype=torch.float64)
    x = 5 * torch.randn(rows, 8, dtype=torch.float64)
    with torch.no_grad():
        assert (FixedOrder().standardise(x) - norm(x)).abs().max() <= 1e-11
        alone = torch.cat([FixedOrder().standardise(row) for row in x.split(1)])
        assert torch.equal(FixedOrder().standardise(x), alone)
        assert (FixedOrder().linear(x, linear.weight.T) - linear(x)).abs().max() <= 1e-11


@torch.inference_mode()
def test_the_whole_decoder_agrees_with_pytorchs_own_layers():
    """The same weights in nn.TransformerDecoder: no line of ours in the expected value."""
    network, source = source_for("the black cat sees a white bird")
    steps = list(decode_naive(network, source))
    fed = steps[-1].decoded.fed
    expected = pytorch_decoder()(
        (TOY.parameters.french[fed] * sqrt(8) + TOY.parameters.positions[: len(fed)])[None],
        source.memory[None],
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(len(fed), dtype=torch.float64),
    )[0]
    assert (steps[-1].decoded.y - expected).abs().max() <= 1e-11


def pytorch_decoder() -> nn.TransformerDecoder:
    layer = nn.TransformerDecoderLayer(8, 2, 32, dropout=0.0, batch_first=True, dtype=torch.float64)
    decoder = nn.TransformerDecoder(layer, 2).eval()
    zeros = torch.zeros
    for theirs, ours in zip(decoder.layers, TOY.parameters.decoder, strict=True):
        state = {
            "self_attn.in_proj_weight": ours.qkv.T,
            "self_attn.in_proj_bias": zeros(24),
            "self_attn.out_proj.weight": ours.out.T,
            "self_attn.out_proj.bias": zeros(8),
            "multihead_attn.in_proj_weight": torch.cat([ours.cross_q, ours.cross_kv], 1).T,
            "multihead_attn.in_proj_bias": zeros(24),
            "multihead_attn.out_proj.weight": ours.cross_out.T,
            "multihead_attn.out_proj.bias": zeros(8),
            "linear1.weight": ours.widen.T,
            "linear1.bias": ours.widen_bias,
            "linear2.weight": ours.narrow.T,
            "linear2.bias": ours.narrow_bias,
        }
        for number in (1, 2, 3):
            state[f"norm{number}.weight"] = getattr(ours, f"gain{number}")
            state[f"norm{number}.bias"] = getattr(ours, f"shift{number}")
        theirs.load_state_dict(state)
    return decoder


VARIANTS = {
    "one key-value head": ToyConfig(n_kv_heads=1),
    "two for four query heads": ToyConfig(n_heads=4, n_kv_heads=2),
    "four heads of two": ToyConfig(n_heads=4, n_kv_heads=4),
}


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_the_cache_changes_nothing_however_heads_share_it(config: ToyConfig):
    toy = toy_of(config, Trainee(config, seeds=(3,)).weights(0))
    trace = record("the black cat sees Bob", toy)
    assert trace.same_words
    assert trace.max_abs_diff == 0.0
    assert trace.numbers_per_token == 2 * config.n_layers * config.n_kv_heads * config.d_head
    assert trace.cache_bytes == 8 * trace.numbers_per_token * len(trace.words)


@pytest.mark.parametrize(
    ("wrong", "numbers"), [({"n_heads": 3}, "3.*8"), ({"n_heads": 4, "n_kv_heads": 3}, "3.*4")]
)
def test_heads_that_do_not_divide_are_refused(wrong: dict[str, int], numbers: str):
    with pytest.raises(BadInput, match=numbers):
        ToyConfig(**wrong)


def test_a_cache_counts_the_bytes_it_keeps():
    cache = Cache(TOY.config, capacity=10)
    assert cache.nbytes == 0
    rows = torch.ones(2, 3, 4, dtype=torch.float64)
    k, _ = cache.append(rows, rows)
    assert (cache.length, cache.nbytes) == (3, 2 * 3 * 2 * 4 * 8)
    assert torch.equal(k, rows)


def test_prefill_hands_back_what_the_last_step_computed():
    with torch.inference_mode():
        network, source = source_for("the cat sat on the mat")
        fed = list(decode_naive(network, source))[-1].decoded
        assert torch.equal(prefill(network, source, fed.fed.tolist(), [len(fed.fed)]).y, fed.y)
