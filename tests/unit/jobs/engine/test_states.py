from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobs.engine.states import ContainerState, parse_container, parse_image, parse_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-30T11:41:40.807658123Z", datetime(2026, 11, 30, 11, 41, 40, 807658, tzinfo=UTC)),
        ("2026-11-30T11:41:40Z", datetime(2026, 11, 30, 11, 41, 40, tzinfo=UTC)),
        ("2026-11-30T11:41:40.5Z", datetime(2026, 11, 30, 11, 41, 40, 500000, tzinfo=UTC)),
        (
            "2026-11-30T13:41:40.5+02:00",
            datetime(2026, 11, 30, 13, 41, 40, 500000, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("0001-01-01T00:00:00Z", None),
        ("", None),
    ],
)
def test_engine_times(text: str, time: datetime | None) -> None:
    assert parse_time(text) == time


def test_what_is_no_time_is_named() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        parse_time("yesterday")


def test_an_inspection_becomes_a_state() -> None:
    state = parse_container(
        {
            "Id": "5f1",
            "Name": "/factory-a",
            "State": {
                "Status": "created",
                "ExitCode": 0,
                "OOMKilled": False,
                "StartedAt": "0001-01-01T00:00:00Z",
                "FinishedAt": "0001-01-01T00:00:00Z",
            },
            "Config": {"Labels": None},
        }
    )
    assert (state.name, state.labels, state.is_running, state.has_started) == ("factory-a", {}, False, False)


def test_a_container_tells_how_much_memory_it_may_take() -> None:
    times = {"StartedAt": "", "FinishedAt": ""}
    raw = {"Id": "5f1", "Name": "/a", "State": {"Status": "running", "ExitCode": 0, **times}, "Config": {}}
    limits = [{}, {"HostConfig": {"Memory": 0}}, {"HostConfig": {"Memory": 4096}}]
    assert [parse_container(raw | each).memory_bytes for each in limits] == [0, 0, 4096]


@pytest.mark.parametrize(("status", "is_going"), [("dead", True), ("removing", True), ("exited", False)])
def test_a_removal_that_was_begun_is_told_from_an_end(status: str, is_going: bool) -> None:  # noqa: FBT001
    state = ContainerState(
        "5f1", "a", status, 0, oom_killed=False, started_utc=None, finished_utc=None, labels={}
    )
    assert (state.is_going, state.is_running) == (is_going, False)


def test_an_image_has_its_labels_from_an_inspection_or_a_list() -> None:
    assert parse_image({"Id": "a", "RepoTags": None, "Config": {"Labels": {"x": "1"}}}).labels == {"x": "1"}
    assert parse_image({"Id": "a", "RepoTags": ["t:1"], "Labels": {"x": "2"}}).labels == {"x": "2"}
