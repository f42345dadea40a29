import resource
from datetime import timedelta
from pathlib import Path

import pytest

from instrument.schema.events import (
    EVENT,
    AgentDiffered,
    AnyEvent,
    AttemptCancelled,
    AttemptInterrupted,
    AttemptStarted,
    CheckEnded,
    Continued,
    ModelCallEnded,
    NoticeRaised,
    RequestDenied,
    RulingRecorded,
    RunEnded,
    RunStarted,
    TaskEdited,
    Transition,
    Waited,
)
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import (
    EffectKind,
    NoticeKind,
    Outcome,
    Purpose,
    Role,
    Stage,
    StopReason,
    WaitedFor,
)
from loop.journal import Journal
from support.ends import START
from support.repos import mode_of

STARTED = {"pid": 1, "host": "h", "version": "0"}
KEY = "demo-001-implement-1-00000000"
RULING = {"stop": StopReason.NO_CHANGE, "digest": "d", "finding": "F1"}
HELD = {"what": WaitedFor.HOLD, "duration_ms": 60_000, "ended_utc": START}


def opened(folder: Path) -> Journal:
    return Journal(
        folder, task_id="demo-001", run_id="0123abcd", purpose=Purpose.TASK, now=lambda: START + timedelta(1)
    )


def events(folder: Path, name: str = "events.jsonl") -> list[AnyEvent]:
    return [EVENT.validate_json(line) for line in (folder / name).read_bytes().splitlines()]


def kinds(folder: Path) -> list[str]:
    return [event.kind for event in events(folder)]


def test_events_are_whole_lines_numbered_from_1_across_openings(tmp_path: Path):
    for _ in range(2):
        journal = opened(tmp_path)
        journal.append(RunStarted, **STARTED)
        journal.append(RunEnded, exit_code=3)
        journal.close()
        journal.close()
    found = events(tmp_path)
    assert [event.n for event in found] == [1, 2, 3, 4]
    assert {event.task_id for event in found} == {"demo-001"}
    assert mode_of(tmp_path / "events.jsonl") == 0o600


CALL = {"key": KEY, "call": 1, "role": Role.CODER, "round": 1, "model_asked": "m", "model_answered": "m"}
CALL |= {"status": 200, "error_type": None, "usage": Usage(), "cost_microusd": 5, "settled": True}
CALL |= {"estimated": False, "unknown_price": False, "duration_ms": 1}
MOVE = {"state_seq": 4, "key": KEY, "from_stage": Stage.IMPLEMENT, "outcome": Outcome.DIFF_RETURNED}
MOVE |= {"to_stage": Stage.IMPLEMENT, "spent_microusd": 5, "lower_bound": False}
OTHER_MODEL = {"key": KEY, "role": Role.CODER, "round": 1, "what": "model", "asked": "a", "found": "b"}
NOTICE = {"key": KEY, "role": Role.CODER, "round": 1, "what": NoticeKind.BUDGET_80, "call": 1}
NOTICE |= {"spent_microusd": 8, "budget_microusd": 10}
CHECK = {"key": KEY, "name": "unit", "exit_code": 0, "timed_out": False, "duration_ms": 1}
WENT_ON = {"state_seq": 9, "how": "ruling", "stop": StopReason.NO_CHANGE, "to_stage": Stage.IMPLEMENT}


@pytest.mark.parametrize(
    ("kind", "fields", "other"),
    [
        (AttemptStarted, {"key": KEY, "effect": EffectKind.IMPLEMENT, "round": 1}, {"key": "other"}),
        (AttemptInterrupted, {"key": KEY, "interruptions": 1}, {"key": "other"}),
        (AttemptCancelled, {"key": KEY, "signal": 2}, {"key": "other"}),
        (ModelCallEnded, CALL, {"call": 2}),
        (NoticeRaised, NOTICE, {"what": NoticeKind.BUDGET_95}),
        (CheckEnded, CHECK, {"name": "lint"}),
        (RequestDenied, {"key": KEY, "reason": "path", "count": 2}, {"reason": "budget"}),
        (AgentDiffered, OTHER_MODEL, {"found": "c"}),
        (Transition, MOVE, {"state_seq": 5}),
        (Continued, WENT_ON, {"state_seq": 10}),
        (RulingRecorded, RULING, {"digest": "e"}),
        pytest.param(RulingRecorded, RULING, {"finding": "F2"}, id="RulingRecorded of another finding"),
        pytest.param(
            RulingRecorded, RULING, {"stop": StopReason.MERGE_CONFLICT}, id="RulingRecorded elsewhere"
        ),
        (Waited, HELD, {"ended_utc": START + timedelta(2)}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_event_written_again_after_a_crash_stands_once(tmp_path: Path, kind, fields, other):
    journal = opened(tmp_path)
    journal.append(kind, **fields)
    journal.append(kind, **fields)
    journal.close()
    journal = opened(tmp_path)
    journal.append(kind, **fields)
    journal.append(kind, **(fields | other))
    journal.close()
    assert [event.n for event in events(tmp_path)] == [1, 2]


def test_a_disk_that_fills_in_the_middle_of_a_line_keeps_nothing_of_it(tmp_path: Path):
    journal = opened(tmp_path)
    journal.append(RunStarted, **STARTED)
    whole = (tmp_path / "events.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 20, before[1]))
    try:
        with pytest.raises(OSError, match="No space left"):
            journal.append(RunEnded, exit_code=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "events.jsonl").stat().st_size == whole
    journal.append(RunEnded, exit_code=0)
    journal.close()
    assert [(event.n, event.kind) for event in events(tmp_path)] == [(1, "run_started"), (2, "run_ended")]


def test_an_edit_taken_back_and_made_again_is_three_edits(tmp_path: Path):
    journal = opened(tmp_path)
    for old, new in (("a", "b"), ("b", "a"), ("a", "b")):
        journal.append(TaskEdited, old_blob=old, new_blob=new)
    journal.close()
    assert len(events(tmp_path)) == 3


def test_case_19_a_torn_tail_is_set_aside_and_the_next_event_has_its_own_line(tmp_path: Path):
    journal = opened(tmp_path)
    journal.append(RunStarted, **STARTED)
    journal.close()
    fragment = b'{"n":2,"msg":"caf\xc3'
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(fragment)
    journal = opened(tmp_path)
    journal.append(RunEnded, exit_code=0)
    journal.close()
    assert kinds(tmp_path) == ["run_started", "torn_tail", "run_ended"]
    torn = events(tmp_path)[1]
    assert torn.path == "events.torn-1.jsonl"
    assert torn.size_bytes == len(fragment)
    assert (tmp_path / torn.path).read_bytes() == fragment
    assert mode_of(tmp_path / torn.path) == 0o600


@pytest.mark.parametrize("bad", [b"{half\n", b'{"kind":"unheard_of","n":1}\n', b"\n", b"\x00\xff\n"])
def test_case_19_a_bad_line_in_the_middle_sets_the_file_aside_whole(tmp_path: Path, bad):
    journal = opened(tmp_path)
    journal.append(RunStarted, **STARTED)
    journal.append(Transition, **MOVE)
    journal.close()
    path = tmp_path / "events.jsonl"
    damaged = path.read_bytes().replace(b"\n", b"\n" + bad, 1)
    path.write_bytes(damaged)
    for _ in range(2):
        journal = opened(tmp_path)
        journal.append(Transition, **MOVE)
        journal.close()
    assert kinds(tmp_path) == ["record_set_aside", "transition"]
    first = events(tmp_path)[0]
    assert (first.path, first.bad_line, first.n) == ("events.damaged-1.jsonl", 2, 1)
    assert (tmp_path / first.path).read_bytes() == damaged
