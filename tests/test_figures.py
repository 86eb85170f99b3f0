"""Every figure: declared in full, drawn by a script, fed with the trace's own numbers."""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from bokeh.embed import json_item

from app.figure_specs import spec
from app.lessons import load_lessons
from app.pages import PART_OF, build, pages
from app.paths import STATIC
from app.runs import DEFAULT_SENTENCE, EXAMPLES, PARTS, run_of
from app.source import source_of
from figures import FIGURES
from figures.base import Figure, own_params, schema
from figures.growth import growth_plot
from figures.weights import projections
from model.errors import BadInput
from model.toy.record import record

GALLERY = "/gallery"
MOST_LINES_SHOWN = 40
SENTENCES = (*EXAMPLES, "x", "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich 😀")

every_figure = pytest.mark.parametrize("name", FIGURES)
every_sentence = pytest.mark.parametrize("text", SENTENCES)


def unpacked(part: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Read a payload's block the way the browser does."""
    block = np.frombuffer(base64.b64decode(part["data"]), "<f8")
    found = {}
    for name, entry in part["arrays"].items():
        size = int(np.prod(entry["shape"]))
        found[name] = block[entry["offset"] : entry["offset"] + size].reshape(entry["shape"])
    return found


@every_figure
def test_a_figure_says_what_it_is(name: str):
    figure = FIGURES[name]
    assert figure.title.strip()
    assert figure.description.strip().endswith(".")
    assert (figure.__doc__ or figure.description).strip()
    for one in schema(figure):
        assert one["label"].strip(), one["name"]
        assert one["doc"].strip(), one["name"]


@every_figure
def test_a_figure_is_plain_data_for_the_browser(name: str):
    told = json.loads(json.dumps(spec(name), allow_nan=False))
    assert told["name"] == name
    assert [one["name"] for one in told["params"]] == own_params(FIGURES[name])


@every_figure
def test_a_figure_has_a_script_that_registers_it(name: str):
    script = (STATIC / "figures" / f"{name}.js").read_text(encoding="utf-8")
    assert f'kv.figure("{name}"' in script


def test_no_script_draws_a_figure_that_does_not_exist():
    assert {path.stem for path in (STATIC / "figures").glob("*.js")} == set(FIGURES)


@every_figure
def test_a_figure_is_used_by_a_page_and_shown_in_the_gallery(name: str):
    script = f"figures/{name}.js"
    assert script in build(GALLERY).scripts
    assert [path for path in pages() if path != GALLERY and script in build(path).scripts]


@every_figure
def test_the_code_a_figure_shows_is_real_and_fits_a_screen(name: str):
    assert FIGURES[name].sources
    for reference in FIGURES[name].sources:
        code = source_of(reference)["code"]
        assert len(code.splitlines()) <= MOST_LINES_SHOWN, reference


@every_figure
def test_slider_positions_stand_for_numbers_one_to_one(name: str):
    for one in schema(FIGURES[name]):
        if "values" in one:
            assert len(one["values"]) == one["high"] - one["low"] + 1
            assert len(set(one["values"])) == len(one["values"])


def test_every_part_a_figure_asks_for_is_one_the_server_answers():
    assert set(PART_OF) <= set(FIGURES)
    assert set(PART_OF.values()) <= set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_plain_finite_data(part: str):
    try:
        made = PARTS[part](DEFAULT_SENTENCE)
    except BadInput:
        pytest.skip(f"{part} is not asked with a sentence")
    json.dumps(made, allow_nan=False)
    if "arrays" in made:
        for name, array in unpacked(made).items():
            assert np.isfinite(array).all(), name


@every_sentence
def test_what_is_sent_is_what_was_recorded(text: str):
    """The browser's arrays against the trace, number for number, read another way round."""
    sent, trace = unpacked(run_of(text)), record(text)
    steps = trace.cached.steps
    for layer in range(2):
        for t, step in enumerate(steps):
            one = step.layers[layer].attention
            np.testing.assert_array_equal(sent["q"][layer, :, t], one.q[:, 0])
            np.testing.assert_array_equal(sent["k"][layer, :, t], one.k[:, -1])
            np.testing.assert_array_equal(sent["v"][layer, :, t], one.v[:, -1])
            np.testing.assert_array_equal(sent["scores"][layer, :, t, : t + 1], one.scores[:, 0])
            np.testing.assert_array_equal(sent["weights"][layer, :, t, : t + 1], one.weights[:, 0])
            np.testing.assert_array_equal(sent["mixed"][layer, :, t], one.heads[:, 0])
            again = trace.naive.steps[t].layers[layer].attention
            np.testing.assert_array_equal(sent["naive.k"][t, layer, :, : t + 1], again.k)
        np.testing.assert_array_equal(sent["cross.k"][layer], trace.cached.cross[layer].k)
        np.testing.assert_array_equal(sent["cross.v"][layer], trace.cached.cross[layer].v)
    np.testing.assert_array_equal(sent["memory"], trace.encoder.memory)
    np.testing.assert_array_equal(sent["probability.cached"], [s.probability for s in steps])


@every_sentence
def test_counts_sent_are_those_of_the_closed_forms(text: str):
    sent, run = unpacked(run_of(text)), run_of(text)
    n = len(run["fed"])
    t = np.arange(1, n + 1)
    np.testing.assert_array_equal(sent["count.naive.positions"], t * (t + 1) // 2)
    np.testing.assert_array_equal(sent["count.cached.positions"], t)
    np.testing.assert_array_equal(
        sent["count.cached.numbers"], t * run["sizes"]["numbers_per_token"]
    )
    assert run["sizes"]["max_abs_diff"] == 0.0
    assert run["same_words"]


@every_sentence
def test_the_share_on_the_first_word_is_that_of_the_weights_sent(text: str):
    """Weights of later words on the start mark; all of them spread evenly are 1, 1/2, 1/3 .."""
    run, weights = run_of(text), unpacked(run_of(text))["weights"]
    n = weights.shape[2]
    later = slice(1, n) if n > 1 else slice(0, n)
    found = {name: run["live"][f"first-token-{name}"]["text"] for name in ("weight", "even")}
    assert found["weight"] == f"{weights[:, :, later, 0].mean():.0%}"
    assert found["even"] == f"{(1 / np.arange(1, n + 1))[later].mean():.0%}"


def test_the_projections_in_the_tooltips_are_the_ones_that_ran():
    """Memory · W and row · W, multiplied with what was sent, give the rows that were sent."""
    sent = {**unpacked(run_of(DEFAULT_SENTENCE)), **unpacked(projections())}
    for layer in range(2):
        for head in range(2):
            for kind in "qkv":
                made = sent["input"][layer] @ sent[f"w.{kind}"][layer, head]
                np.testing.assert_allclose(made, sent[kind][layer, head], atol=1e-12)
            for kind in "kv":
                made = sent["memory"] @ sent[f"w.cross.{kind}"][layer, head]
                np.testing.assert_allclose(made, sent[f"cross.{kind}"][layer, head], atol=1e-12)


def test_steps_of_a_lesson_differ_from_their_neighbours():
    """Two steps in a row that show the same state are one step."""
    for lesson in load_lessons():
        for one, following in zip(lesson.steps, lesson.steps[1:], strict=False):
            assert (one.figure, one.figure_params) != (following.figure, following.figure_params)


NAMES_OF_THE_ADDRESS = {"s", "figure", "embed", "controls"}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_a_param_can_stand_in_the_address(figure: type[Figure]):
    """Its name is its own; layer and head always mean the toy's, which go from figure to figure."""
    for one in schema(figure):
        assert one["name"] not in NAMES_OF_THE_ADDRESS
        if one["name"] in {"layer", "head"}:
            assert (one["kind"], one["options"], one["names"]) == ("choice", [0, 1], ["1", "2"])
        if one["kind"] == "choice":
            words = [str(option) for option in one["options"]]
            assert len(set(words)) == len(words)
        if "values" in one:
            assert len(set(one["values"])) == one["high"] - one["low"] + 1


DRAWN = {name: figure.plot() for name, figure in FIGURES.items()} | {"sizes": growth_plot()}
PLOTS = {
    name: json_item(plot)["doc"]["roots"]  # beside them: defaults of every class that is loaded
    for name, plot in DRAWN.items()
    if plot is not None
}
ROLES = dict(
    re.findall(r'"(#[0-9a-f]{6})": "([a-z]+)"', (STATIC / "js/chart.js").read_text("utf-8"))
)


@pytest.mark.parametrize("name", PLOTS)
def test_a_chart_is_coloured_by_roles_which_dark_paper_draws_in_its_own_colours(name: str):
    light, dark, *_ = (STATIC / "css/tokens.css").read_text("utf-8").split('[data-theme="dark"]')
    colours = set(re.findall(r"#[0-9a-f]{6}", json.dumps(PLOTS[name])))
    assert colours
    for colour in colours:
        assert f"--{ROLES[colour]}: {colour};" in light
        assert f"--{ROLES[colour]}: #" in dark
