"""One worker, a short queue: long runs wait their turn, say where they stand, and can be dropped.

A reader has one job at a time: a new one takes the place of the one before it. Readers look at
their job by a name nobody else can guess.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from model.errors import BadInput

MAX_WAITING = 8
KEPT_DONE = 64


@dataclass
class Job:
    """A run: what it works on, how far it is. ``told`` is replaced whole, never changed."""

    owner: str
    work: Callable[["Job"], None]
    name: str = field(default_factory=lambda: secrets.token_hex(12))
    state: str = "waiting"
    told: dict[str, Any] = field(default_factory=dict)
    cancelled: bool = False

    @property
    def over(self) -> bool:
        return self.state in {"done", "failed", "cancelled"}


class Jobs:
    """The queue of one process."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self.max_waiting = max_waiting
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.changed = threading.Condition()
        self.worker: threading.Thread | None = None

    def start(self, owner: str, work: Callable[[Job], None]) -> Job:
        """Queue work for a reader, dropping what that reader had asked for before.

        Raises
        ------
        BadInput
            The queue is full: how many wait, and what to do.
        """
        with self.changed:
            for other in self.jobs.values():
                if other.owner == owner and not other.over:
                    self._drop(other)
            waiting = [job for job in self.jobs.values() if job.state == "waiting"]
            if len(waiting) >= self.max_waiting:
                raise BadInput(
                    f"{len(waiting)} runs wait already, at most {self.max_waiting} may: try again"
                )
            job = Job(owner, work)
            self.jobs[job.name] = job
            self._forget_old()
            if self.worker is None or not self.worker.is_alive():
                self.worker = threading.Thread(target=self._work, daemon=True, name="jobs")
                self.worker.start()
            self.changed.notify_all()
            return job

    def look(self, name: str) -> dict[str, Any]:
        """How far a job is; ``ahead`` counts the runs before it."""
        with self.changed:
            job = self._find(name)
            before = [j for j in self.jobs.values() if j.state in {"waiting", "running"}]
            ahead = before.index(job) if job in before else 0
            return {"job": job.name, "state": job.state, "ahead": ahead, **job.told}

    def cancel(self, name: str) -> dict[str, Any]:
        with self.changed:
            self._drop(self._find(name))
        return self.look(name)

    def _find(self, name: str) -> Job:
        if name not in self.jobs:
            raise BadInput("that run is no longer kept here: start it again")
        return self.jobs[name]

    @staticmethod
    def _drop(job: Job) -> None:
        job.cancelled = True
        if job.state == "waiting":
            job.state = "cancelled"

    def _forget_old(self) -> None:
        over = [name for name, job in self.jobs.items() if job.over]
        for name in over[:-KEPT_DONE]:
            del self.jobs[name]

    def _work(self) -> None:
        while True:
            with self.changed:
                job = self._next()
                while job is None:
                    self.changed.wait()
                    job = self._next()
                job.state = "running"
            self._run(job)

    def _next(self) -> Job | None:
        return next((job for job in self.jobs.values() if job.state == "waiting"), None)

    @staticmethod
    def _run(job: Job) -> None:
        try:
            job.work(job)
            job.state = "cancelled" if job.cancelled else "done"
        except BadInput as error:
            job.told = {**job.told, "message": str(error)}
            job.state = "failed"
        except Exception as error:  # noqa: BLE001 -- the worker must outlive any run
            job.told = {**job.told, "message": f"The run failed ({type(error).__name__})."}
            job.state = "failed"


JOBS = Jobs()
