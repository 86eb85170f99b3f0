"""Static and continuous batching as twins: the same requests, slots and recorder."""

from collections.abc import Sequence

from model.errors import BadInput
from model.serving.scheduling import Limits, Recorder, Request, Running, Timeline, in_order


def static_batching(requests: Sequence[Request], limits: Limits) -> Timeline:
    """Fill the slots, run until the longest request of the batch is done, fill them again.

    Whole prompts are fed at once. `limits.step_tokens` and `cache_tokens` play no part.
    """
    waiting, record = in_order(requests), Recorder(limits.slots)
    while waiting:
        record.step = max(record.step, waiting[0].arrival)
        here = [request for request in waiting if request.arrival <= record.step]
        batch = [Running(request, i) for i, request in enumerate(here[: limits.slots])]
        waiting = waiting[len(batch) :]
        while not all(running.finished for running in batch):
            for running in batch:
                if running.finished:
                    record.idle(running)
                else:
                    record.feed(running, running.to_feed)
            record.step += 1
    return record.timeline()


def continuous_batching(requests: Sequence[Request], limits: Limits) -> Timeline:
    """After every step finished requests leave and waiting ones take their slots.

    With `limits.step_tokens` decodes are fed first and prompts get what is left, in chunks.
    When `limits.cache_tokens` would be passed, the youngest request is preempted: its cache
    is dropped, and it waits at the head of the queue. The oldest always runs on, so every
    request ends.
    """
    check_fits(requests, limits)
    waiting = [Running(request, 0) for request in in_order(requests)]
    running: list[Running] = []
    record = Recorder(limits.slots)
    while waiting or running:
        if not running:
            record.step = max(record.step, waiting[0].request.arrival)
        admit(waiting, running, record.step, limits)
        feeds = plan(running, limits)
        while over_cache(running, feeds, limits):
            preempt(waiting, running, record)
            feeds = plan(running, limits)
        for one, n in zip(running, feeds, strict=True):
            if n:
                record.feed(one, n)
        running = [one for one in running if not one.finished]
        record.step += 1
    return record.timeline()


def check_fits(requests: Sequence[Request], limits: Limits) -> None:
    """Refuse a request that could not even run alone."""
    for request in requests:
        longest = request.prompt + request.output - 1  # the last token is never fed
        if limits.cache_tokens is not None and longest > limits.cache_tokens:
            message = (
                f"request {request.name} keeps {longest} tokens, the cache has room for "
                f"{limits.cache_tokens}: use at least {longest}"
            )
            raise BadInput(message)


def admit(waiting: list[Running], running: list[Running], step: int, limits: Limits) -> None:
    """Give free slots to those that have arrived, in order, as far as the cache has room."""
    while waiting and len(running) < limits.slots and waiting[0].request.arrival <= step:
        promised = sum(one.kept + one.to_feed for one in (*running, waiting[0]))
        if limits.cache_tokens is not None and promised > limits.cache_tokens:
            return
        taken = {one.slot for one in running}
        waiting[0].slot = min(set(range(limits.slots)) - taken)
        running.append(waiting.pop(0))


def plan(running: Sequence[Running], limits: Limits) -> list[int]:
    """Tokens to feed to each: one to every decode, the rest of the budget to prompts in order."""
    if limits.step_tokens is None:
        return [one.to_feed for one in running]
    left = limits.step_tokens - sum(one.phase == "decode" for one in running)
    feeds = []
    for one in running:
        n = 1 if one.phase == "decode" else min(one.to_feed, left)
        left -= 0 if one.phase == "decode" else n
        feeds.append(n)
    return feeds


def over_cache(running: Sequence[Running], feeds: Sequence[int], limits: Limits) -> bool:
    """Whether this step would keep more tokens than the cache has room for."""
    kept = sum(one.kept + n for one, n in zip(running, feeds, strict=True))
    return limits.cache_tokens is not None and kept > limits.cache_tokens


def preempt(waiting: list[Running], running: list[Running], record: Recorder) -> None:
    """Drop the cache of the youngest; what it has written is kept and fed again later."""
    youngest = running.pop()
    youngest.kept = 0
    waiting.insert(0, youngest)
    record.preemptions.append((record.step, youngest.request.name))
