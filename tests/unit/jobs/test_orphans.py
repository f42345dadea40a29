from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.engine.states import ContainerState
from jobs.orphans import FoundPod, decide

NOW = datetime(2026, 11, 30, 15, 20, tzinfo=UTC)


def container(part: str, status: str) -> ContainerState:
    return ContainerState("1", "factory-x", status, 0, oom_killed=False, started_utc=NOW, finished_utc=None,
                          labels={"factory.part": part})  # fmt: skip


POD = FoundPod("0a1b2c3d", "demo-001-check-1-99", "demo-001", (), ("v",), NOW)
OLD = replace(POD, seen_utc=NOW - timedelta(days=2))


@pytest.mark.parametrize(
    ("pod", "attempts", "is_kept"),
    [
        (OLD, {POD.run_id: POD.key}, True),
        (POD, {POD.run_id: "demo-001-gate-1-11"}, False),
        (POD, {POD.run_id: None}, False),
        (POD, {"another": POD.key}, True),
        (OLD, {"another": POD.key}, False),
        (replace(OLD, containers=(container("job", "running"),)), {}, True),
        (replace(OLD, containers=(container("job", "exited"), container("proxy", "running"))), {}, False),
    ],
    ids=[
        "its task waits for it, however long",
        "its task is at something else",
        "its task is at nothing",
        "of nobody, but fresh",
        "of nobody, and old",
        "of nobody, and at work",
        "of nobody, and only its sidecar is there",
    ],
)
def test_a_pod_goes_once_nobody_waits_for_it(
    pod: FoundPod, attempts: dict[str, str | None], *, is_kept: bool
):
    assert decide(pod, attempts, NOW).is_kept is is_kept
