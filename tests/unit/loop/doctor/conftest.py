"""Checks on a person's desk; the engine is what the test says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.engine.states import EngineInfo
from loop.doctor.finding import Finding
from loop.doctor.surroundings import Surroundings
from support.ends import START
from support.repos import Desk

INFO = EngineInfo(2, "x86_64", START, "20.10.24", ("runc", "runsc"), "overlay2", "2")


@dataclass(frozen=True, eq=False)
class Described(Surroundings):
    """An engine of which nothing but its description is known."""

    described: EngineInfo = INFO

    @property
    def info(self) -> EngineInfo:  # type: ignore[override]
        return self.described


@dataclass
class Office:
    """A desk and the checks done on it."""

    desk: Desk
    scratch: Path
    info: EngineInfo = INFO

    def surroundings(self, environment: Mapping[str, str] | None = None) -> Surroundings:
        self.scratch.mkdir(exist_ok=True)
        scratch = self.scratch / str(len(list(self.scratch.iterdir())))
        scratch.mkdir()
        known = {"ANTHROPIC_API_KEY": "sk-key", **self.desk.environment, **(environment or {})}
        return Described(self.desk.person.root, known, scratch, START, described=self.info)

    def look(
        self, check: Callable[[Surroundings], Finding], environment: Mapping[str, str] | None = None
    ) -> tuple[str, str, str]:
        """State, what was found, how to mend it."""
        finding = check(self.surroundings(environment))
        return finding.state.value, finding.found, finding.mend


@pytest.fixture
def office(desk: Desk, tmp_path: Path) -> Office:
    return Office(desk, tmp_path / "scratch")
