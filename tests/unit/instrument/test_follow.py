import json
from typing import Any

import pytest
from click.testing import CliRunner

from instrument.cli import main
from instrument.follow import follow, last_events
from instrument.schema.events import EVENT, EVENTS
from instrument.telling import tell
from support.sample import line_of

DONE = {
    "kind": "transition",
    "state_seq": 9,
    "key": "",
    "from_stage": "merge",
    "outcome": "merged",
    "to_stage": "done",
    "done": "merged",
    "spent_microusd": 54_400,
    "lower_bound": False,
}
FLAKY = {"kind": "check_flaky", "key": "k"}


def names(events: Any) -> list[str]:
    return [getattr(event, "name", event.kind) for event in events]


@pytest.fixture
def folder(home: Any) -> Any:
    made = home.folder("api-001")
    made.write_events(*(FLAKY | {"name": f"check-{number}"} for number in range(5)))
    return made


def test_the_last_ones_come_first_and_then_each_as_it_is_written_until_the_end(folder: Any) -> None:
    file = folder.path / "events.jsonl"
    lines = [FLAKY | {"name": "new-1"}, FLAKY | {"name": "new-2"}, DONE]
    pieces: list[bytes] = []
    for number, event in enumerate(lines, start=6):
        line = json.dumps(folder.line(number, event)).encode() + b"\n"
        # A line is taken once it is whole.
        pieces += [line[:30], line[30:]]

    def sleep(_: float) -> None:
        with file.open("ab") as opened:
            opened.write(pieces.pop(0))

    assert names(follow(file, 2, sleep)) == ["check-3", "check-4", "new-1", "new-2", "transition"]
    assert pieces == []


def test_a_record_that_begins_again_is_followed_from_its_beginning(folder: Any) -> None:
    file = folder.path / "events.jsonl"

    def sleep(_: float) -> None:
        file.write_text(json.dumps(folder.line(1, DONE)) + "\n")

    assert names(follow(file, 1, sleep)) == ["check-4", "transition"]


def test_lines_that_cannot_be_read_are_left_out(folder: Any) -> None:
    file = folder.path / "events.jsonl"
    file.write_bytes(b"{}\n" + file.read_bytes() + b'{"kind"')

    assert names(last_events(file, 9)) == [f"check-{number}" for number in range(5)]
    assert last_events(folder.path / "absent", 9) == []


def test_the_command_prints_what_is_there(home: Any, folder: Any) -> None:
    folder.write_events(DONE)
    env = {"FACTORY_HOME": str(home.path)}

    assert CliRunner().invoke(main, ["tail", "api-001"], env=env).stdout == (
        "10:00:00  merge: merged → done: merged, $0.0544 so far\n"
    )
    raw = CliRunner().invoke(main, ["tail", "api-001", "--json", "--no-follow"], env=env).stdout
    assert EVENT.validate_json(raw)
    absent = CliRunner().invoke(main, ["tail", "api-9"], env=env)
    assert (absent.exit_code, absent.stderr) == (2, f"no task api-9 has begun under {home.path}\n")


@pytest.mark.parametrize("model", EVENTS, ids=lambda model: model.__name__)
def test_every_kind_has_a_line_of_printable_text(model: Any) -> None:
    line = tell(EVENT.validate_json(json.dumps(line_of(model))))

    assert line.startswith("10:00:00  ")
    assert line.isprintable()


def test_a_hold_names_who_asked_for_it_and_who_ended_it(folder: Any) -> None:
    hold = {"kind": "waited", "what": "hold", "duration_ms": 61_000, "who": "ann", "released_by": "bob"}
    folder.write_events(hold, {"kind": "waited", "what": "slot", "duration_ms": 1_000})

    assert [tell(event) for event in last_events(folder.path / "events.jsonl", 9)] == [
        "10:00:00  waited 1m 01s for hold (ann, released by bob)",
        "10:00:00  waited 1.0s for slot",
    ]


def test_a_job_of_one_call_is_told_in_the_singular(folder: Any, events: Any) -> None:
    folder.write_events(events.job("k", 60, 1))

    (event,) = last_events(folder.path / "events.jsonl", 9)
    assert tell(event) == "10:00:00    coder job exited after 1m 01s, 1 call, $0.00006"


def test_an_agents_words_cannot_move_a_terminals_cursor(folder: Any) -> None:
    folder.write_events({"kind": "request_denied", "key": "k", "reason": "\x1b[2J", "count": 1})

    (event,) = last_events(folder.path / "events.jsonl", 9)
    assert tell(event).isprintable()
