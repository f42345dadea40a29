"""What a person may be told while a job runs.

Reads the ledger of a running sidecar, about every two seconds; nothing is decided from it.
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
from jobs.pod import LEDGER_FOLDER
from jobs.unpack import read_one

EVERY_S = 2.0
LEDGER_LOOK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a running job."""

    key: str
    role: Role
    elapsed_s: float
    """Since the container's start, by the engine's clock."""
    ledger: LedgerSummary
    """Of the calls so far; empty where the job has no proxy."""


class Ticker:
    """Calls `report` at most every two seconds; without a listener it does nothing."""

    def __init__(
        self, order: JobOrder, job: ContainerState, report: Callable[[Progress], None] | None, engine: Engine
    ) -> None:
        self._order = order
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
        self._report(Progress(order.identity.key, order.role, now - self._zero, self._look(sidecar)))

    def _look(self, sidecar: ContainerState | None) -> LedgerSummary:
        if sidecar is None:
            return LedgerSummary()
        try:
            archive = self._engine.containers.get(
                sidecar.id, f"{LEDGER_FOLDER}/ledger.jsonl", max_bytes=LEDGER_LOOK_BYTES
            )
        except EngineRefusedError:
            return LedgerSummary()
        if archive is None:
            return LedgerSummary()
        with archive:
            return read_ledger(read_one(archive))
