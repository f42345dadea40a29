from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from jobs.engine.states import ContainerState
from jobs.load import ALIVE, Load, look_at_load

NOW = datetime(2026, 11, 30, 15, 20, tzinfo=UTC)
OWN = {"factory.run": "0a1b2c3d", "factory.home": "aa"}


def container(
    key: str, part: str = "job", status: str = "running", *, age_s: float = 5, **labels: str
) -> ContainerState:
    named = {f"factory.{name}": value for name, value in labels.items()}
    return ContainerState(
        id=f"{key}-{part}",
        name=f"factory-{key}",
        status=status,
        exit_code=0,
        oom_killed=False,
        started_utc=None,
        finished_utc=None,
        labels={**OWN, "factory.key": key, "factory.part": part, **named},
        created_utc=NOW - timedelta(seconds=age_s),
        memory_bytes=512 if part == "proxy" else 4096,
    )


@dataclass
class Engine:
    """Answers as an engine that has these containers; its clock is asked only where that matters."""

    states: Sequence[ContainerState]
    clock: datetime | None = None

    @property
    def containers(self) -> "Engine":
        return self

    def find(self, labels: Mapping[str, str], *, statuses: Sequence[str]) -> tuple[ContainerState, ...]:
        assert labels == {"factory-loop": "1", "factory.run": ""}
        return tuple(state for state in self.states if state.status in statuses)

    def info(self) -> SimpleNamespace:
        assert self.clock, "nobody needs it"
        return SimpleNamespace(now_utc=self.clock)


def load(*states: ContainerState, clock: datetime | None = None, host: str = "") -> Load:
    engine = Engine(states, clock)
    return look_at_load(engine, 9999, home="aa", host=host)  # type: ignore[arg-type]


def test_a_pod_is_one_job_with_the_memory_of_both_its_containers() -> None:
    found = load(container("a"), container("a", "proxy"), container("b", "proxy"))
    assert found == Load(frozenset("a"), {"a": 4608, "b": 512}, 0, 9999)


def test_what_is_of_another_home_or_host_takes_memory_alone() -> None:
    states = [container("a", home="bb"), container("b", host="big"), container("c", host="")]
    assert load(*states) == Load(frozenset("c"), {"c": 4096}, 8192, 9999)
    assert load(*states, host="big") == Load(frozenset("b"), {"b": 4096}, 8192, 9999)


def test_a_persons_own_container_of_an_image_of_ours_is_not_counted() -> None:
    assert load(container("a", run="")) == Load(frozenset(), {}, 0, 9999)


def test_an_exited_container_is_not_counted_and_a_paused_one_is() -> None:
    assert "exited" not in ALIVE
    assert load(container("a", status="exited"), container("b", status="paused")).jobs == frozenset("b")


@pytest.mark.parametrize(("age_s", "is_counted"), [(1, True), (59, True), (61, False)])
def test_a_container_that_may_be_about_to_start_is_counted(age_s: float, *, is_counted: bool) -> None:
    found = load(container("a", status="created", age_s=age_s), clock=NOW)
    assert (found.jobs == frozenset("a")) is is_counted
