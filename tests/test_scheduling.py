"""A schedule never uses more than it has, starves nobody, and writes every token once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import BadInput
from model.serving.batching import continuous_batching, static_batching
from model.serving.scheduling import Limits, Request, Timeline

SCHEDULERS = {"static": static_batching, "continuous": continuous_batching}
every_scheduler = pytest.mark.parametrize("name", SCHEDULERS)

SLOTS = st.integers(1, 5)
OUTPUTS = st.lists(st.integers(1, 16), min_size=1, max_size=12)
# per request: output, prompt, ticks since the one before
SHAPES = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 20), st.integers(0, 5)), min_size=1, max_size=10
)


def requests_of(outputs: list[int]) -> list[Request]:
    return [Request(name=f"r{i}", output=output) for i, output in enumerate(outputs)]


def shaped(shapes: list[tuple[int, int, int]]) -> list[Request]:
    requests, arrival = [], 0
    for i, (output, prompt, gap) in enumerate(shapes):
        arrival += gap
        requests.append(Request(name=f"r{i}", output=output, prompt=prompt, arrival=arrival))
    return requests


def assert_sound(timeline: Timeline, requests: list[Request], limits: Limits) -> None:
    used = Counter((cell.step, cell.slot) for cell in timeline.cells)
    assert max(used.values()) == 1, "two requests in one slot"
    assert {cell.slot for cell in timeline.cells} <= set(range(limits.slots))
    assert timeline.finish.keys() == {request.name for request in requests}
    for request in requests:
        steps = timeline.token_steps[request.name]
        assert len(steps) == request.output, "every token exactly once, and nobody starves"
        assert list(steps) == sorted(set(steps)), "at most one token a step"
        assert steps[0] > request.arrival
        cells = [cell for cell in timeline.cells if cell.request == request.name]
        assert cells[0].step >= request.arrival
        if not timeline.preemptions:
            assert sum(cell.fed for cell in cells) == request.prompt + request.output - 1
            assert cells[-1].kept == request.prompt + request.output - 1
    if limits.step_tokens is not None:
        assert max(timeline.fed()) <= limits.step_tokens


@every_scheduler
@given(SHAPES, SLOTS)
def test_slots_are_never_exceeded_and_nobody_starves(
    name: str, shapes: list[tuple[int, int, int]], slots: int
):
    requests, limits = shaped(shapes), Limits(slots=slots)
    assert_sound(SCHEDULERS[name](requests, limits), requests, limits)


@given(SHAPES, SLOTS, st.integers(0, 20))
def test_chunked_prompts_stay_in_the_token_budget(
    shapes: list[tuple[int, int, int]], slots: int, extra: int
):
    requests, limits = shaped(shapes), Limits(slots=slots, step_tokens=slots + extra)
    timeline = continuous_batching(requests, limits)
    assert_sound(timeline, requests, limits)
    for request in requests:  # a request that has begun to write is never held up again
        steps = timeline.token_steps[request.name]
        assert steps == tuple(range(steps[0], steps[0] + request.output))


@given(SHAPES, SLOTS, st.integers(0, 30), st.one_of(st.none(), st.integers(0, 8)))
def test_a_small_cache_preempts_but_everybody_ends(
    shapes: list[tuple[int, int, int]], slots: int, extra: int, budget: int | None
):
    requests = shaped(shapes)
    room = max(request.prompt + request.output - 1 for request in requests) + extra
    step_tokens = None if budget is None else slots + budget
    limits = Limits(slots=slots, cache_tokens=room, step_tokens=step_tokens)
    timeline = continuous_batching(requests, limits)
    assert_sound(timeline, requests, limits)
    kept = Counter[int]()
    for cell in timeline.cells:
        kept[cell.step] += cell.kept
    assert max(kept.values()) <= room
    order = [request.name for request in requests]
    for step, name in timeline.preemptions:  # nobody younger runs until it is back
        back = min(c.step for c in timeline.cells if c.request == name and c.step > step)
        meanwhile = {c.request for c in timeline.cells if step <= c.step < back}
        assert all(order.index(other) < order.index(name) for other in meanwhile)


@given(SHAPES, SLOTS)
def test_requests_start_in_the_order_they_came(shapes: list[tuple[int, int, int]], slots: int):
    requests = shaped(shapes)
    timeline = continuous_batching(requests, Limits(slots=slots))
    assert list(dict.fromkeys(cell.request for cell in timeline.cells)) == [
        request.name for request in requests
    ]


@given(SHAPES, SLOTS)
def test_continuous_batching_is_never_longer(shapes: list[tuple[int, int, int]], slots: int):
    requests, limits = shaped(shapes), Limits(slots=slots)
    static, continuous = static_batching(requests, limits), continuous_batching(requests, limits)
    assert continuous.n_steps <= static.n_steps
    for request in requests:
        assert continuous.finish[request.name] <= static.finish[request.name]


@given(OUTPUTS, SLOTS)
def test_makespans_lie_between_their_bounds(outputs: list[int], slots: int):
    requests, limits = requests_of(outputs), Limits(slots=slots)
    batches = [outputs[i : i + slots] for i in range(0, len(outputs), slots)]
    assert static_batching(requests, limits).n_steps == sum(map(max, batches))
    steps = continuous_batching(requests, limits).n_steps
    assert max(*outputs, -(-sum(outputs) // slots)) <= steps
    assert steps <= sum(outputs) // slots + max(outputs)  # list scheduling


@given(st.integers(1, 9), st.integers(1, 12), SLOTS)
def test_equal_lengths_gain_nothing(output: int, count: int, slots: int):
    requests, limits = requests_of([output] * count), Limits(slots=slots)
    static, continuous = static_batching(requests, limits), continuous_batching(requests, limits)
    assert static.n_steps == continuous.n_steps == output * -(-count // slots)


def test_worked_schedule_of_eight_requests_is_reproduced():
    requests, limits = requests_of([8, 2, 3, 7, 4, 1, 6, 5]), Limits(slots=4)
    static, continuous = static_batching(requests, limits), continuous_batching(requests, limits)
    assert (static.n_steps, continuous.n_steps) == (14, 11)
    assert static.busy == pytest.approx(36 / 56)
    assert continuous.busy == pytest.approx(36 / 44)
    assert list(continuous.finish.values()) == [8, 2, 3, 7, 6, 4, 10, 11]
    assert static.mean_completion == 8.5
    assert sum(static.release.values()) / 8 == 11.0
    assert continuous.mean_completion == 6.375


def test_worked_schedule_of_long_and_short_requests_is_reproduced():
    requests, limits = requests_of([16, 1, 1, 1] * 4), Limits(slots=4)
    static, continuous = static_batching(requests, limits), continuous_batching(requests, limits)
    assert (static.n_steps, continuous.n_steps) == (64, 22)
    assert static.busy == pytest.approx(0.297, abs=5e-4)
    assert continuous.busy == pytest.approx(0.864, abs=5e-4)


def test_a_chunked_prompt_does_not_hold_up_a_decode():
    requests = [
        Request(name="writing", output=6, prompt=1),
        Request(name="long", output=2, prompt=9, arrival=1),
    ]
    timeline = continuous_batching(requests, Limits(slots=2, step_tokens=4))
    assert timeline.fed() == [1, 4, 4, 4, 2, 1]
    assert timeline.token_steps["long"] == (4, 5)
    phases = [cell.phase for cell in timeline.cells if cell.request == "long"]
    assert phases == ["prefill", "prefill", "prefill", "decode"]


def test_the_youngest_is_preempted_and_feeds_its_own_words_again():
    requests = [Request(name=name, output=6, prompt=2) for name in "ab"]
    timeline = continuous_batching(requests, Limits(slots=2, cache_tokens=9))
    assert timeline.preemptions == ((3, "b"),)
    again = [c for c in timeline.cells if c.request == "b" and c.step > 3]
    assert (again[0].phase, again[0].fed) == ("prefill", 5)  # its prompt and three words
    assert timeline.finish["a"] == 6


REFUSED = {
    "no slots": lambda: Limits(slots=0),
    "budget below slots": lambda: Limits(slots=4, step_tokens=3),
    "no output": lambda: Request(name="a", output=0),
    "no prompt": lambda: Request(name="a", output=1, prompt=0),
    "before time": lambda: Request(name="a", output=1, arrival=-1),
    "nobody": lambda: static_batching([], Limits(slots=1)),
    "same name": lambda: continuous_batching([Request(name="a", output=1)] * 2, Limits(slots=1)),
    "never fits": lambda: continuous_batching(
        [Request(name="a", output=4, prompt=5)], Limits(slots=1, cache_tokens=7)
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_never_run_is_refused_with_numbers(case: str):
    with pytest.raises(BadInput, match=r"\d"):
        REFUSED[case]()
