"""One workload served from blocks and from reserved slabs: who holds what, tick by tick."""

from functools import cache
from typing import Any

import param

from figures.base import Figure

SEED = 0
N_BLOCKS, BLOCK_SIZE, SLAB = 32, 4, 48
MAX_TICKS = 44


class Paging(Figure):
    tick = param.Integer(
        default=12,
        bounds=(0, MAX_TICKS - 1),
        label="Tick",
        doc="Decode steps of the server so far.",
    )
    memory = param.Selector(
        default="blocks",
        objects={"blocks": "blocks", "reserved slabs": "reserved"},
        label="Memory",
        doc="Blocks on demand, or one slab a request for its longest length.",
    )

    title = "The same requests in blocks and in slabs"
    description = (
        "The cells of a cache memory, each with its number and how many texts read it; below, "
        "which text reads which cells, and how much of the memory is used, reserved and wasted."
    )
    sources = ("model.serving.tables:BlockTables.grow", "model.serving.blocks:BlockPool.allocate")

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Both recordings of one reproducible workload."""
        return recorded()

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        return {"tick": tuple(range(1, MAX_TICKS + 1))}


@cache
def recorded() -> dict[str, Any]:
    from model.serving.memories import PagedMemory, ReservedMemory  # noqa: PLC0415
    from model.serving.workload import make_workload  # noqa: PLC0415

    requests = make_workload(SEED)
    memories = {
        "blocks": PagedMemory(N_BLOCKS, BLOCK_SIZE),
        "reserved": ReservedMemory(N_BLOCKS * BLOCK_SIZE, SLAB),
    }
    return {name: _replayed(requests, memory) for name, memory in memories.items()}


def _replayed(requests: Any, memory: Any) -> dict[str, Any]:
    from model.serving.replay import replay  # noqa: PLC0415

    found = replay(requests, memory)
    columns = ("used", "reserved", "wasted", "logical", "waiting", "hit_rate")
    return {
        "answers": {request.name: len(request.outputs) for request in requests},
        "total": found.total,
        "unit": found.unit_size,
        "holders": found.holders.tolist(),
        "rows": [[row._asdict() for row in rows] for rows in found.rows],
        "events": [event._asdict() for event in found.events],
        **{name: getattr(found, name).tolist() for name in columns},
    }
