"""What a person may be told while a job runs.

Reads the ledger of a running sidecar and what the agent does, about every two seconds; nothing is decided
from them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from instrument.ledger import read_ledger
from instrument.schema.ledger import LedgerSummary
from instrument.schema.vocabulary import Role
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.errors import EngineRefusedError
from jobs.order import JobOrder
from jobs.pod import JOB_FOLDER, LEDGER_FOLDER
from jobs.unpack import read_one

EVERY_S = 2.0
LEDGER_LOOK_BYTES = 16 * 1024 * 1024
DOING_LOOK_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a running job."""

    key: str
    role: Role
    elapsed_s: float
    """Since the container's start, by the engine's clock."""
    ledger: LedgerSummary
    """Of the calls so far; empty where the job has no proxy."""
    doing: str
    """The shell line that the agent began last; empty where there is none. A model's words."""


class Ticker:
    """Calls `report` at most every two seconds; without a listener it does nothing."""

    def __init__(
        self, order: JobOrder, job: ContainerState, report: Callable[[Progress], None] | None, engine: Engine
    ) -> None:
        self._order = order
        self._job = job
        self._report = report
        self._engine = engine
        self._last = time.monotonic()
        now = engine.info().now_utc if report else None
        passed = (now - job.started_utc).total_seconds() if now and job.started_utc else 0.0
        self._zero = self._last - passed

    def tick(self, sidecar: ContainerState | None) -> None:
        """Report, if it is time."""
        now = time.monotonic()
        if self._report is None or now - self._last < EVERY_S:
            return
        self._last = now
        order = self._order
        ledger = self._look(sidecar, f"{LEDGER_FOLDER}/ledger.jsonl", LEDGER_LOOK_BYTES)
        doing = self._look(self._job if order.agent else None, f"{JOB_FOLDER}/doing", DOING_LOOK_BYTES)
        self._report(
            Progress(
                order.identity.key,
                order.role,
                now - self._zero,
                read_ledger(ledger),
                doing.decode("utf-8", "replace"),
            )
        )

    def _look(self, container: ContainerState | None, path: str, max_bytes: int) -> bytes:
        """A file's content; empty where it cannot be had."""
        if container is None:
            return b""
        try:
            archive = self._engine.containers.get(container.id, path, max_bytes=max_bytes)
        except EngineRefusedError:
            return b""
        if archive is None:
            return b""
        with archive:
            return read_one(archive)
