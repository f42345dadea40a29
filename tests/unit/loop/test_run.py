"""Whole runs on real git, with a fake engine: how they end, and what they leave."""

import os
import shlex
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from instrument.schema.job import AgentResult, Decision
from instrument.schema.vocabulary import Role, StopReason
from loop.errors import BusyError, Exit, UsageError
from loop.home import task_folder
from loop.progress import Progress
from loop.session import hold_lock
from loop.signals import Interrupted, Signals
from support.ends import call, failed_call
from support.fake_jobs import CREATED, WORKED_ON, Turn, must_fix, verdict
from support.gitkit import ENV
from support.repos import (
    JOB_SECRET,
    TASK,
    TASK_ID,
    TASK_TEXT,
    TOML,
    Desk,
    edited,
    mode_of,
    tree_of_folder,
)

CALM = (
    "base_found image_ready baseline_passed diff_returned candidate_committed checks_passed"
    " review_approved rebased gate_passed"
)
APPROVE = Turn(review=verdict("approve"))


def private(home: Path) -> list[str]:
    """What below the home others may read or write."""
    return [str(p) for p in (home, *home.rglob("*")) if not p.is_symlink() and mode_of(p) & 0o077]


def test_a_calm_task_lands_in_the_origin_and_in_the_checkout(desk: Desk):
    base = desk.person.head()
    ending = desk.run(auto_merge=True)
    result = ending.result
    assert desk.outcomes() == f"{CALM} merged"
    assert (result.exit_code, result.coder_rounds, result.review_rounds) == (Exit.DONE, 1, 1)
    assert (result.cost_microusd, result.cost_is_lower_bound) == (2000, False)
    assert result.commit == desk.origin.head("main") == desk.person.head()
    assert desk.person.head("HEAD^") == base
    assert desk.person.ask("status", "--porcelain") == ""
    assert (desk.person.root / WORKED_ON).read_text() == "good\n"
    assert (desk.person.root / TASK).read_text() == edited(TASK_TEXT, "ready", "done")
    message = desk.person.git("log", "-1", "--format=%B").decode()
    assert message.startswith("Retry with the delay that the server names\n\nTask: demo-007\nFactory-Key: ")
    assert desk.jobs.left() == []
    assert set(desk.jobs.created().values()) == {1}
    assert private(desk.home) == []
    assert desk.said.getvalue().startswith(f"demo-007 begins: {TASK} on main\n")
    landed = f"demo-007 is merged: {desk.origin.head('main')[:12]} on main, pushed to origin.\n\nbill of"
    assert ending.text.startswith(landed)
    assert ending.text.endswith(f"Run folder: {desk.task_folder}\n")
    before = desk.jobs.created()
    again = desk.run()
    assert again.result == result, "a rerun of what is done says so again"
    assert desk.jobs.created() == before


def test_a_task_that_lands_in_the_checkout_alone_says_that_it_is_not_pushed(desk: Desk):
    desk.commit({"factory.toml": edited(TOML, "push = true", "push = false")})
    ending = desk.run(auto_merge=True)
    assert ending.text.startswith(f"demo-007 is merged: {desk.person.head()[:12]} on main, not pushed.\n")


def hard_story(desk: Desk) -> None:
    """A failed check, a must-fix, a failed gate; marks wherever a text could leak from."""
    desk.commit({TASK: edited(TASK_TEXT, "Wait for it.", "MARK-task")})
    desk.script.failing = {"unit": b"BUG", "full": b"ROUGH"}
    desk.script.output = "MARK-output\n"
    decision = Decision(choice="MARK-choice", why="MARK-why", undo="MARK-undo")
    told = AgentResult(outcome="done", summary="MARK-summary", decisions=(decision,))
    desk.script.coder = [
        Turn({WORKED_ON: b"BUG\n"}, result=told, error="MARK-error"),
        Turn({WORKED_ON: b"ROUGH 1\n"}),
        Turn({WORKED_ON: b"ROUGH 2\n"}),
        Turn({WORKED_ON: b"good\n"}, calls=(call(), call(2, cost_microusd=234))),
    ]
    desk.script.reviewer = [Turn(review=must_fix("MARK-finding")), APPROVE]


def test_failures_go_back_with_what_is_needed_and_the_record_holds_no_text(desk: Desk):
    hard_story(desk)
    mask = os.umask(0)
    try:
        assert desk.ends(auto_merge=True) == "merged"
    finally:
        os.umask(mask)
    again = "diff_returned candidate_committed checks_passed"
    assert desk.outcomes() == (
        "base_found image_ready baseline_passed diff_returned candidate_committed check_doubted check_failed"
        f" {again} must_fix_found {again} review_approved rebased gate_doubted gate_failed"
        f" {again} review_approved rebased gate_passed merged"
    )
    assert desk.state.spend.microusd == 6 * 1000 + 1234
    first, after_check, after_review, after_gate = desk.prompts("coder")
    assert "MARK-output" not in first
    assert "$ run unit\nMARK-output" in after_check
    assert "MARK-finding" in after_review
    assert "MARK-output" not in after_review
    assert "$ run full\nMARK-output" in after_gate
    message = desk.person.git("log", "-1", "--format=%B").decode()
    assert "MARK-summary" in message
    assert "- MARK-choice: MARK-why (undo: MARK-undo)" in message
    files = tree_of_folder(desk.home)
    assert b"MARK" not in files[f"tasks/{TASK_ID}/events.jsonl"]
    assert [name for name, data in files.items() if JOB_SECRET.encode() in data] == []
    assert private(desk.home) == [], "a loose umask opens nothing"


def test_ready_to_merge_is_looked_at_by_the_briefs_own_commands_and_then_merged(desk: Desk):
    tip = desk.origin.head("main")
    ending = desk.run()
    assert ending.result.exit_code is Exit.STOPPED
    assert ending.result.stop_reason is StopReason.READY_TO_MERGE
    assert desk.origin.head("main") == tip == desk.person.head()
    brief = (desk.task_folder / "brief.md").read_text()
    assert brief == ending.text
    see, branch = (line.partition(": ")[2].strip() for line in brief.splitlines()[:2])
    shown = subprocess.run(shlex.split(see), env=ENV, capture_output=True, check=True, text=True).stdout
    assert "+good" in shown
    for _ in range(2):
        subprocess.run(shlex.split(branch), env=ENV, capture_output=True, check=True)
    assert desk.person.head(f"factory/{TASK_ID}") == ending.result.commit
    created = desk.jobs.created()
    bare = desk.run()
    assert bare.text == ending.text, "a bare rerun prints the brief and does nothing"
    assert desk.ends(auto_merge=True) == "merged"
    assert desk.jobs.created() == created, "nothing is run again for a yes"
    assert not (desk.task_folder / "brief.md").exists()


def test_case_13_an_unknown_price_is_refused_before_a_container_exists(desk: Desk):
    desk.commit({"factory.toml": edited(TOML, "claude-sonnet-4-5", "made-up-1")})
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.UNKNOWN_PRICE
    assert "- model without a known price: made-up-1\n" in ending.text
    assert "proxy/aliases.toml" in ending.text
    assert desk.jobs.created() == {}
    desk.script.unfit = "no"
    assert desk.ends(model="claude-sonnet-4-5") == "image_unfit", "with a price it goes on"


def test_case_13_an_answer_of_an_unknown_model_stops_after_that_call_and_another_is_remembered(desk: Desk):
    answered = call(unknown_price=True, model_answered="made-up-2", cost_microusd=9000)
    limited = Turn(calls=(failed_call(429),))
    desk.script.coder = [(Turn(calls=(answered,)), limited, Turn({WORKED_ON: b"good\n"}))]
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.UNKNOWN_PRICE
    assert (ending.result.cost_microusd, ending.result.cost_is_lower_bound) == (9000, True)
    assert "made-up-2" in ending.text
    assert desk.ends(model="claude-opus-4-1") == "provider_rate_limited"
    assert desk.ends() == "ready_to_merge"
    assert desk.state.terms.coder.model == desk.state.terms.reviewer.model == "claude-opus-4-1"


def test_case_14_what_is_no_verdict_is_asked_for_again_once_and_then_a_person(desk: Desk):
    desk.script.reviewer = [(Turn(review="I could not run the tests, looks fine"), Turn(review=""), APPROVE)]
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.REVIEW_UNREADABLE
    assert "- no verdict: empty\n" in ending.text
    verdicts = [event.verdict for event in desk.events if event.kind == "review_ended"]
    assert verdicts == ["no_block", "empty"]
    assert desk.ends(rulings=("look again",)) == "ready_to_merge"
    assert desk.state.counters.review_rounds == 1
    assert desk.state.spend.microusd == 4000


def test_case_16_what_is_merged_is_what_the_gate_tested_on_the_moved_main(desk: Desk):
    gated: list[str] = []

    def at(status, order) -> None:
        if status == CREATED and order.role is Role.GATE:
            gated.append(order.commit)
            if len(gated) == 1:
                desk.other_commit({"docs.md": "somebody else's"})

    desk.jobs.at = at
    assert desk.ends(auto_merge=True) == "merged"
    assert desk.outcomes() == f"{CALM} main_moved rebased image_ready gate_passed merged"
    assert gated[1] == desk.origin.head("main") == desk.state.merged
    assert desk.origin.head("main^") == desk.folder.joinpath("other/.git/refs/heads/main").read_text().strip()
    assert desk.origin.ask("show", "main:docs.md") == "somebody else's"


def test_case_16_a_main_that_never_rests_is_a_stop_with_nothing_merged(desk: Desk):
    desk.commit({"factory.toml": TOML + "[caps]\nmain_moved = 1\n"})

    def at(status, order) -> None:
        if status == CREATED and order.role is Role.GATE:
            desk.other_commit({"docs.md": order.identity.key})

    desk.jobs.at = at
    assert desk.ends(auto_merge=True) == "main_moving"
    assert desk.origin.ask("show", f"main:{WORKED_ON}") == "old"
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends() == "merged"


@pytest.mark.parametrize(
    ("path", "reason"), [("docs.md", "out_of_scope"), ("tasks/008-more.md", "protected_path")]
)
def test_a_diff_beside_the_scope_is_kept_and_judged_again_once_the_task_allows_it(
    desk: Desk, path: str, reason: str
):
    desk.script.coder = [Turn({WORKED_ON: b"good\n", path: b"---\n"})]
    ending = desk.run()
    assert ending.result.stop_reason == reason
    assert f"- {path}\n" in ending.text
    assert (desk.task_folder / "jobs/0002-coder-1/out/diff.patch").read_bytes().count(b"diff --git") == 2
    desk.commit({TASK: edited(TASK_TEXT, "files: [src/**]", f"files: [src/**, {path}]\nallow: [{path}]")})
    assert desk.ends() == "ready_to_merge"
    assert desk.state.counters.coder_rounds == 1


def test_a_diff_that_does_not_give_its_tree_is_never_committed(desk: Desk):
    desk.script.coder = [Turn({WORKED_ON: b"good\n"}, tree={"tree": "1" * 40})]
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.PATCH_INTEGRITY
    assert ending.result.commit is None
    assert f"should give {'1' * 40}" in ending.text


def test_a_clean_exit_with_nothing_done_is_no_change(desk: Desk):
    told = AgentResult(outcome="done", summary="all done, tests pass")
    desk.script.coder = [Turn(result=told), Turn({WORKED_ON: b"good\n"})]
    assert desk.ends() == "no_change"
    assert desk.ends() == "no_change"
    assert desk.ends(rulings=("really do it",)) == "ready_to_merge"


def test_a_change_that_is_upstream_already_is_done(desk: Desk):
    def at(status, order) -> None:
        if status == CREATED and order.role is Role.REVIEWER:
            desk.other_commit({WORKED_ON: "good\n"})

    desk.jobs.at = at
    ending = desk.run(auto_merge=True)
    assert ending.result.done_reason == "already_upstream"
    assert ending.text.startswith("demo-007 is done: already_upstream; nothing was merged into main.\n")
    assert ending.result.exit_code is Exit.DONE


def test_an_engine_that_is_gone_is_a_stop_and_the_same_command_goes_on(desk: Desk):
    desk.jobs.is_gone = True
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.RUNNER_UNAVAILABLE
    assert "- no engine answers\n" in ending.text
    desk.jobs.is_gone = False
    desk.script.unfit = "pip install: exit code 1"
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.IMAGE_UNFIT
    assert "pip install: exit code 1" in ending.text


def test_case_12_a_second_start_is_busy_and_changes_nothing(desk: Desk):
    folder = task_folder(desk.home, TASK_ID)
    said = r"another loop holds this task \(task_locked\); wait for it, or let `factory run --wait` do so$"
    with hold_lock(folder, TASK_ID), pytest.raises(BusyError, match=said) as busy:
        desk.run()
    assert busy.value.exit_code is Exit.BUSY
    assert [p.name for p in folder.iterdir()] == ["lock"]
    assert desk.jobs.created() == {}


def test_a_second_start_that_waits_begins_once_the_first_has_let_go(desk: Desk):
    class Told(Progress):
        def note(self, text: str) -> None:
            super().note(text)
            if "task_locked" in text:
                held.close()

    with ExitStack() as held:
        held.enter_context(hold_lock(task_folder(desk.home, TASK_ID), TASK_ID))
        ending = desk.run(desk.world(progress=Told(desk.said)), wait=True)
    assert ending.result.stop_reason is StopReason.READY_TO_MERGE
    assert desk.said.getvalue().startswith(
        "demo-007: another loop holds this task (task_locked)\ndemo-007 begins: "
    )


def test_case_12_a_running_job_is_adopted_and_a_lost_one_is_an_interruption(desk: Desk):
    class Crash(BaseException):
        pass

    def at(status, order) -> None:
        if (status, order.role) in (("running", Role.CODER), ("created", Role.REVIEWER)):
            raise Crash

    desk.jobs.at = at
    with pytest.raises(Crash):
        desk.run()
    (running,) = desk.jobs.left()
    with pytest.raises(Crash):
        desk.run()
    assert desk.jobs.created()[running] == 1, "the coder's container was adopted"
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends() == "ready_to_merge"
    assert desk.state.counters.interruptions == 1
    reviews = [key for key in desk.jobs.created() if "review" in key]
    assert len(reviews) == 2, "the one that never began was given up"
    assert desk.state.spend.microusd == 2000
    kinds = [event.kind for event in desk.events]
    assert kinds.index("attempt_interrupted") > kinds.index("attempt_started")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_no_attempt_and_says_what_continues(desk: Desk, number: int, code: int):
    """SIGINT ends the pod and keeps its cost; SIGTERM leaves it to be adopted."""

    def at(status, order) -> None:
        if (status, order.role) == ("running", Role.CODER):
            os.kill(os.getpid(), number)

    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    signals = Signals()
    signals.install()
    desk.jobs.at = at
    try:
        with pytest.raises(Interrupted) as interrupted:
            desk.run(desk.world(signals=signals))
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)
    assert interrupted.value.exit_code == code
    words = shlex.join(["factory", "run", TASK, "--repo", str(desk.person.root), "--story", "STORY"])
    assert desk.said.getvalue().endswith(f"interrupted; to continue:  {words}\n")
    assert (desk.events[-1].kind, desk.events[-1].exit_code) == ("run_ended", code)
    is_int = number == signal.SIGINT
    assert len(desk.jobs.left()) == (0 if is_int else 1)
    assert (desk.state.attempt is None) is is_int
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends() == "ready_to_merge"
    assert desk.state.spend.microusd == (3000 if is_int else 2000), "what SIGINT ended was paid for"
    assert (desk.state.counters.coder_rounds, desk.state.counters.interruptions) == (1, 0)
    assert max(desk.jobs.created().values()) == 1


@pytest.mark.parametrize("damage", ["empty", "half", "absent"])
def test_case_20_a_damaged_state_is_a_stop_that_changes_nothing(desk: Desk, damage: str):
    desk.script.unfit = "no"
    desk.run()
    state = desk.task_folder / "state.json"
    data = state.read_bytes()
    state.unlink() if damage == "absent" else state.write_bytes(data[: len(data) // 2 * (damage == "half")])
    before = tree_of_folder(desk.task_folder)
    ending = desk.run(rulings=("go on",))
    assert (ending.result.exit_code, ending.result.stop_reason) == (Exit.STOPPED, StopReason.STATE_CORRUPT)
    assert ending.result.cost_is_lower_bound
    assert str(state) in ending.text
    assert tree_of_folder(desk.task_folder) == before
    assert desk.ends(restart=True) == "image_unfit"
    assert tree_of_folder(desk.home / f"tasks/{TASK_ID}.old-1") == {
        name: content for name, content in before.items() if name != "lock"
    }


def test_case_19_a_damaged_record_is_set_aside_and_the_task_goes_on(desk: Desk):
    desk.script.unfit = "no"
    desk.run()
    path = desk.task_folder / "events.jsonl"
    with path.open("ab") as file:
        file.write(b'{"n":99,"msg":"caf\xc3')
    desk.run()
    assert "torn_tail" in [event.kind for event in desk.events]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n{half\n", 1))
    desk.script.unfit = None
    ending = desk.run(auto_merge=True)
    assert ending.result.done_reason == "merged"
    assert desk.events[0].kind == "record_set_aside"
    assert "events.damaged-1.jsonl" in ending.text, "the bill says that the record is not whole"
    assert private(desk.home) == []


def test_restart_begins_again_and_keeps_the_old_folder_whose_cost_counts(desk: Desk):
    desk.run()
    first = desk.state
    old = desk.home / f"tasks/{TASK_ID}.old-1"
    ending = desk.run(restart=True, auto_merge=True)
    assert ending.result.done_reason == "merged"
    assert desk.state.run_id != first.run_id
    assert (old / "state.json").exists()
    assert "$0.0040" in ending.text, "both runs are on the bill"
    assert private(desk.home) == []
    with pytest.raises(UsageError, match="done already"):
        desk.run(restart=True)
    assert desk.run().result == ending.result, "a refused restart has moved nothing"


def test_a_run_takes_away_what_a_killed_loop_left(desk: Desk):
    desk.script.unfit = "no"
    desk.run()
    left = desk.jobs.root / "containers" / f"{desk.state.run_id}+{TASK_ID}-check-9-00000000"
    other = desk.jobs.root / "containers" / f"ffffffff+{TASK_ID}-check-9-00000000"
    left.mkdir()
    other.mkdir()
    desk.run()
    assert not left.exists()
    assert other.exists(), "another run's is not ours to remove"
