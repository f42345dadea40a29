import pytest

from instrument.schema.job import BigPath
from instrument.schema.state import Spend
from instrument.schema.vocabulary import Ended, Outcome
from loop.machine.details import stop_details
from loop.machine.facts import (
    BaseFacts,
    CandidateFacts,
    EngineFacts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ReviewFacts,
    SetupFacts,
)
from support.ends import (
    agent_run,
    call,
    coder_end,
    command,
    commands_end,
    failed_call,
    finding,
    review_end,
    tree,
)
from support.lives import new_state, terms


def lines(facts, outcome=Outcome.ENGINE_FAILED, **changes):
    return stop_details(new_state(**changes), outcome, facts)


def job(made):
    return JobFacts(key="k", end=made)


def test_at_most_twenty_lines_of_three_hundred_characters():
    paths = tuple(f"{n:03d}{'x' * 400}" for n in range(50))
    shown = lines(CandidateFacts(key="k", details=paths))
    assert len(shown) == 20
    assert {len(line) for line in shown} == {300}
    assert [line[:3] for line in shown[:2]] == ["000", "001"]


def test_the_cap_holds_with_the_budget_line_before_the_rest():
    big = tree(oversized=True, biggest=tuple(BigPath(path=f"p{n}", size_bytes=n) for n in range(30)))
    shown = lines(job(coder_end("k", report={"tree": big})), Outcome.TIME_EXHAUSTED, terms=terms(budget_ms=1))
    assert len(shown) == 20
    assert shown[0].startswith("time budget")


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        (None, ()),
        (EngineFacts(key="k", detail="gone"), ("gone",)),
        (SetupFacts(key="k", image=None, detail="pip: exit code 1"), ("pip: exit code 1",)),
        (BaseFacts(key="k", base="a", terms=terms(), detail="HTTP 429"), ("HTTP 429",)),
        (BaseFacts(key="k", base="a", terms=terms()), ()),
        (
            BaseFacts(key="k", base="a", terms=terms(), unpriced=("m1", "m2"), detail="HTTP 200"),
            ("model without a known price: m1", "model without a known price: m2"),
        ),
        (RebaseFacts(key="k", onto="9", conflicts=("a.py", "b.py")), ("a.py", "b.py")),
        (MergeFacts(key="k", result="refused", details=("hook declined",)), ("hook declined",)),
        (MergeFacts(key="k", result="moved"), ("the branch moved 1 times",)),
    ],
)
def test_what_is_particular_to_a_stop(facts, shown):
    assert lines(facts) == shown


def test_a_full_disk_of_the_engine_is_named_as_such():
    shown = lines(job(coder_end("k", report={"ended": Ended.HOST_DISK})))
    assert shown[0] == "the disk of the Docker Engine was full: free some of it, then run again"


def test_money_and_time_are_said_before_the_evidence():
    state = {"terms": terms(budget_microusd=2_000_000, budget_ms=240_000), "spend": Spend(microusd=1_500_000)}
    assert lines(None, Outcome.SPEND_EXHAUSTED, **state) == ("budget $2.0000, spent $1.5000 before this",)
    assert lines(None, Outcome.TIME_EXHAUSTED, **state) == ("time budget 4 min of job run time",)


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({"exit_code": 2}, "exit code 2"),
        ({"exit_code": None, "signal": 9}, "signal 9"),
        ({"exit_code": None, "timed_out": True}, "timed out"),
    ],
)
def test_a_failed_command_is_named_with_its_end(changes, how):
    shown = lines(job(commands_end("k", command("lint"), command("unit", **changes))))
    assert shown[0] == f"unit: {how}: run unit"
    assert not any(line.startswith("lint") for line in shown)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ({"report_error": "job.json is torn"}, "job.json is torn"),
        ({"report": {"error": "no space"}}, "no space"),
        ({"report": {"setup_failed": "pip"}}, "set-up command failed: pip"),
        ({"report": {"exit_code": 3}}, "ended: exited, exit code 3"),
        ({"report": {"exit_code": None, "signal": 9}}, "ended: exited, signal 9"),
        ({"report": {"exit_code": None}}, "ended: exited"),
        ({"calls": (call(1), failed_call(529, 2))}, "last model call: HTTP 529, x_error"),
        ({"calls": (call(unknown_price=True, model_answered="m"),)}, "model without a known price: m"),
        ({"agent": agent_run().model_copy(update={"error": "I gave up"})}, "the agent said: I gave up"),
        ({"result_error": "result.json is no JSON"}, "result.json is no JSON"),
        ({"report": {"tree": tree(nested_repos=("v/x",))}}, "nested repository: v/x"),
        ({"report": {"tree": tree(unreadable=("v/x",))}}, "cannot be captured: v/x"),
        (
            {"report": {"tree": tree(unencodable=("v/x",))}},
            "not in the encoding that .gitattributes names: v/x",
        ),
        (
            {"report": {"tree": tree(oversized=True, total_files=3, total_bytes=4)}},
            "3 files, 4 bytes; the biggest:",
        ),
    ],
)
def test_a_jobs_evidence(made, line):
    assert line in lines(job(coder_end("k", **made)))


def test_a_call_that_succeeded_is_no_evidence():
    assert not any(
        "model call" in line for line in lines(job(coder_end("k", calls=(failed_call(529, 1), call(2)))))
    )


def test_a_review_names_its_must_fixes_or_why_it_is_none():
    found = ReviewFacts(key="k", end=review_end("k"), findings=(finding(1, 1),))
    assert lines(found) == ("F1 src/x.py: wrong",)
    none = ReviewFacts(key="k", end=review_end("k"), fault="no_block")
    assert lines(none)[0] == "no verdict: no_block"
