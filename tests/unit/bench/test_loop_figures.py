import pytest

from tests.bench import floor, loop_figures
from tests.bench.loop_profile import sums
from tests.bench.loop_runs import parts_of

EPOCH = "2026-01-01T00:00:{:06.3f}Z"
BEGUN_S = 1767225600.0


def event(at_s: float, kind: str, **fields: object) -> dict[str, object]:
    return {"at_utc": EPOCH.format(at_s), "kind": kind, **fields}


def one_round(loop_s: float, floor_s: float, rerun_s: float) -> dict[str, object]:
    parts = {"agents_s": 1.0, "commands_s": 1.0, "git_s": 1.0}
    more = {"between_s": 0.5, "start_s": 0.4, "end_s": 0.3, "inside_s": 2.5}
    return {
        "loop": {"total_s": loop_s, **parts, **more},
        "floor": {"total_s": floor_s, **parts, "inside_s": 2.0, "cli_start_s": 0.01},
        "crash": {effect: {"start_s": 0.5, "rerun_s": rerun_s} for effect in ("job.check", "git.rebase")},
    }


def page(*rounds: dict[str, object]) -> str:
    return loop_figures.render({"rounds": list(rounds), "profile_s": {"waiting": 2.0, "Python": 1.0}})


def test_the_goals_are_judged_by_the_rounds_own_ratios() -> None:
    met = page(one_round(12.0, 10.0, 1.25), one_round(36.0, 30.0, 1.25))
    missed = page(one_round(14.0, 10.0, 2.5), one_round(42.0, 30.0, 2.5))

    assert "| at most 1.3 | 1.2 met |" in met
    assert "| at most 1 s | 0.75 met |" in met
    assert "| at most 1.3 | 1.4 **missed** |" in missed
    assert "| at most 1 s | 2 **missed** |" in missed


def test_what_the_floor_has_not_stays_empty() -> None:
    text = page(one_round(12.0, 10.0, 1.0))

    assert "| between two effects | 0.5 |  |" in text
    assert "| agents' jobs | 1 | 1 |" in text
    assert "| `git.rebase` | 0.5 |" in text
    assert "waiting 2 s, Python 1 s" in text


def test_a_runs_time_is_shared_out_without_rest() -> None:
    record = [
        event(1.0, "run_started"),
        event(1.5, "attempt_started", effect="git.find_base"),
        event(2.0, "transition"),
        event(2.25, "attempt_started", effect="job.implement"),
        event(6.0, "job_ended", duration_ms=3000),
        event(6.25, "transition"),
        event(6.5, "attempt_started", effect="job.check"),
        event(8.0, "job_ended", duration_ms=1000),
        event(8.5, "transition"),
        event(9.0, "run_ended"),
    ]

    parts = parts_of(record, BEGUN_S, BEGUN_S + 10)

    assert parts == pytest.approx(
        {
            "start_s": 1.5,
            "git_s": 0.5,
            "agents_s": 4.0,
            "commands_s": 2.0,
            "between_s": 0.5,
            "inside_s": 4.0,
            "end_s": 1.5,
        }
    )
    assert sum(parts.values()) - parts["inside_s"] == pytest.approx(10)


def test_the_floors_marks_end_what_they_name() -> None:
    marks = "10.0 start\n12.5 agents 0003-coder-1\n12.75 git 0003\n14.75 commands 0004-check-1\n15.0 git x\n"

    assert floor.parts_of(marks) == {"agents_s": 2.5, "commands_s": 2.0, "git_s": 0.5}
    assert floor.inside_s_of("at:10.25\nok\nat:12.5\n") == 2.25


def test_a_profile_is_summed_by_what_was_waited_for() -> None:
    functions = [
        ("~:<method 'recv_into' of '_socket.socket' objects>", 3.0),
        ("~:<method 'poll' of 'select.epoll' objects>", 1.0),
        ("loop/drive.py:drive", 0.5),
        ("loop/store.py:save_state", 0.25),
    ]

    assert sums(functions) == {"waiting for the engine": 3.0, "waiting for git": 1.0, "Python": 0.75}
    assert next(iter(sums(functions))) == "waiting for the engine"
