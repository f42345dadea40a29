from instrument.schema.job import Decision
from instrument.schema.vocabulary import Severity
from loop.messages import commit_message
from loop.taskfile import parse_task
from support.ends import finding
from support.lives import new_state
from support.repos import TASK, TASK_TEXT, edited

TITLE = "Retry with the delay that the server names"


def task(text: str = TASK_TEXT):
    return parse_task(text.encode(), TASK)


def test_the_least_message_is_the_title_and_two_trailers():
    assert commit_message(task(), new_state(), "demo-001-rebase-1-0a") == (
        f"{TITLE}\n\nTask: demo-001\nFactory-Key: demo-001-rebase-1-0a\n"
    )


def test_summary_decisions_and_findings_left_open_are_the_body_and_an_issue_is_resolved():
    state = new_state(
        summary=" It waits.\n\n",
        decisions=(Decision(choice="seconds", why="the header has them", undo="parse dates"),),
        findings=(finding(1, 1), finding(2, 2, Severity.NOTE)),
    )
    state = state.model_copy(update={"counters": state.counters.model_copy(update={"review_rounds": 2})})
    with_issue = edited(TASK_TEXT, "files:", "issue: 12\nfiles:")
    assert commit_message(task(with_issue), state, "k") == (
        f"{TITLE}\n\nIt waits.\n\n"
        "Decisions:\n- seconds: the header has them (undo: parse dates)\n\n"
        "Left open:\n- F2 (note) src/x.py: wrong\n\n"
        "Task: demo-001\nFactory-Key: k\nResolves: #12\n"
    )


def test_an_agents_nul_never_reaches_git():
    assert "\0" not in commit_message(task(), new_state(summary="a\0b"), "k")
