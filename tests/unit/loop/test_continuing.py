"""What a person's words do to a task that stands: rulings, edits, authority."""

import pytest

from instrument.schema.vocabulary import Role, StopReason
from loop.errors import Exit, UsageError
from support.fake_jobs import RUNNING, WORKED_ON, Turn, must_fix, verdict
from support.repos import TASK, TASK_TEXT, TOML, Desk, edited

APPROVE = Turn(review=verdict("approve"))
RULING = "Keep the name.\n\n- `x` stays; ```never``` y\n"


class Crash(BaseException):
    """The loop is gone in the middle of a job; what it had on disk stays."""


def crash_at(desk: Desk, role: Role, round_: int) -> None:
    def at(status, order) -> None:
        if status == RUNNING and order.role is role and order.folder.name.endswith(f"-{round_}"):
            raise Crash

    desk.jobs.at = at


def test_case_15_the_ruling_reaches_every_later_round_once(desk: Desk):
    desk.commit({TASK: edited(TASK_TEXT, "files:", "caps: {check: 0, review: 1}\nfiles:")})
    desk.script.failing = {"unit": b"BUG", "full": b"ROUGH"}
    desk.script.coder = [Turn({WORKED_ON: text}) for text in (b"BUG\n", b"ROUGH\n", b"good\n")]
    desk.script.reviewer = [Turn(review=must_fix("the name is wrong"))] * 2 + [APPROVE]
    assert desk.ends() == "checks_exhausted"
    assert desk.ends(rulings=(RULING,)) == "review_exhausted"
    second = "The name is right: F1 is settled."
    crash_at(desk, Role.CODER, 3)
    with pytest.raises(Crash):
        desk.run(rulings=(second,))
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends(rulings=(second,)) == "ready_to_merge"
    before, *later = desk.prompts("coder")
    assert before.count("Keep the name.") == 0
    assert [prompt.count(RULING) for prompt in (*later, *desk.prompts("reviewer"))] == [1] * 5
    assert [prompt.count(second) for prompt in desk.prompts()] == [0, 0, 0, 1, 1, 1]
    assert (desk.task_folder / "rulings.md").read_text() == (
        f"## At checks_exhausted\n\n{RULING}\n\n## At review_exhausted\n\n{second}\n"
    )
    asked_again = desk.prompts("reviewer")[1]
    settled = asked_again.partition("# Closed points")[2]
    assert "F1 (must-fix) in src/a.py" in settled
    reviews = [event for event in desk.events if event.kind == "review_ended"]
    assert [(each.verdict, each.dropped) for each in reviews] == [
        ("changes", 0),
        ("approve", 1),
        ("approve", 0),
    ], "a must-fix that repeats a ruled point is dropped and counted"
    assert [event.kind for event in desk.events].count("ruling_recorded") == 2
    assert desk.state.counters.interventions == 2


def test_a_ruling_that_asks_for_nothing_is_refused_and_the_same_one_again_is_none(desk: Desk):
    desk.script.coder = [Turn({WORKED_ON: b"good %d\n" % n}) for n in range(3)]
    assert desk.ends() == "ready_to_merge"
    assert desk.ends(rulings=(RULING,)) == "ready_to_merge"
    assert desk.state.counters.coder_rounds == 2
    created = desk.jobs.created()
    assert desk.ends(rulings=(RULING,)) == "ready_to_merge"
    assert desk.jobs.created() == created
    assert "that ruling was given here before" in desk.said.getvalue()
    assert len(desk.state.rulings) == 1
    crash_at(desk, Role.CODER, 3)
    with pytest.raises(Crash):
        desk.run(rulings=("another one",))
    with pytest.raises(UsageError, match="is not stopped, so nothing is asked") as refused:
        desk.run(rulings=("a third one",))
    assert refused.value.exit_code is Exit.USAGE
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends(rulings=("another one",), auto_merge=True) == "merged"
    with pytest.raises(UsageError, match="is not stopped"):
        desk.run(rulings=("too late",))
    assert [ruling.text for ruling in desk.state.rulings] == [RULING, "another one"]


def test_a_ruling_where_none_helps_is_refused_with_what_does_and_changes_nothing(desk: Desk):
    desk.script.unfit = "pip install: exit code 1"
    desk.run()
    before = desk.state
    with pytest.raises(UsageError, match=r"no ruling helps at image_unfit\. You: the image or a set-up"):
        desk.run(rulings=("try harder",))
    assert desk.state == before


def test_an_edit_at_a_stop_is_adopted_shown_to_the_next_prompts_and_counted(desk: Desk):
    desk.script.coder = [Turn(), Turn({WORKED_ON: b"good\n"})]
    assert desk.ends() == "no_change"
    desk.commit({TASK: edited(TASK_TEXT, "Wait for it.", "Wait for at most a minute.")})
    assert desk.ends() == "ready_to_merge"
    first, second = desk.prompts("coder")
    assert "at most a minute" not in first
    assert "-Wait for it.\n+Wait for at most a minute.\n" in second
    assert "# Retry with the delay that the server names\n\nWait for at most a minute.\n" in second
    assert desk.state.counters.interventions == 1
    kinds = [event.kind for event in desk.events]
    assert kinds.count("task_edited") == 1
    assert [event.how for event in desk.events if event.kind == "continued"] == ["task_edited"]
    assert desk.person.ask("status", "--porcelain") == ""


def test_in_mid_round_the_old_text_holds(desk: Desk):
    crash_at(desk, Role.CODER, 1)
    with pytest.raises(Crash):
        desk.run()
    desk.commit({TASK: edited(TASK_TEXT, "Wait for it.", "Never wait.")})
    desk.jobs.at = lambda _status, _order: None
    assert desk.ends() == "ready_to_merge"
    assert not any("Never wait." in prompt for prompt in desk.prompts())
    desk.ends()
    assert any("Never wait." in prompt for prompt in desk.prompts("reviewer")), "an approval is for one text"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("files: [src/**]", "file: [src/**]", r'tasks/007-retry\.md:3: unknown key "file"; did you mean'),
        ("status: ready", "status: done", r"says done on the branch; set it to ready"),
    ],
)
def test_a_faulty_edit_is_refused_with_its_line_and_the_stop_stands(desk: Desk, old, new, sentence):
    desk.script.coder = [Turn()]
    desk.run()
    before = desk.state
    desk.commit({TASK: edited(TASK_TEXT, old, new)})
    with pytest.raises(Exception, match=sentence):
        desk.run()
    assert desk.state == before


def test_a_budget_that_is_gone_goes_on_once_the_task_grants_more(desk: Desk):
    poor = edited(TASK_TEXT, "files:", "budget_usd: 0.001\nfiles:")
    desk.commit({TASK: poor})
    assert desk.ends() == "spend_budget"
    assert desk.ends() == "spend_budget"
    desk.commit({TASK: edited(poor, "0.001", "0.002")})
    assert desk.ends() == "ready_to_merge"
    assert desk.state.spend.microusd == 2000, "the first round was paid for once"


def test_a_red_baseline_is_looked_at_again_where_main_was_mended(desk: Desk):
    desk.commit({WORKED_ON: "BUG\n", "factory.toml": TOML + "auto = true\n"})
    desk.script.failing = {"unit": b"BUG"}
    ending = desk.run()
    assert ending.result.stop_reason is StopReason.BASELINE_RED
    assert ending.result.cost_microusd == 0
    desk.commit({WORKED_ON: "mended\n"})
    assert desk.ends() == "merged", "nobody is asked where the repo says so"


def test_a_main_that_moved_under_a_task_that_is_ready_is_gated_again_without_a_model(desk: Desk):
    assert desk.ends() == "ready_to_merge"
    cost, landing = desk.state.spend, desk.state.landing
    assert landing is not None
    tip = desk.other_commit({"docs.md": "somebody else's"})
    assert desk.ends() == "ready_to_merge"
    assert desk.state.landing is not None
    assert (landing.onto, desk.state.landing.onto) == (desk.person.head(), tip)
    assert desk.state.gated == desk.state.landing.commit != landing.commit
    assert (desk.state.spend.microusd, desk.state.counters.review_rounds) == (cost.microusd, 1)


def test_what_is_allowed_and_granted_at_the_first_run_holds_and_a_ruling_answers_nothing(desk: Desk):
    with pytest.raises(UsageError, match="is not stopped, so nothing is asked"):
        desk.run(rulings=("go on",))
    desk.script.coder = [Turn({WORKED_ON: b"good\n", "docs/x.md": b"x\n"})]
    assert desk.ends(allow=("docs/**",), grants=(("review", 9),)) == "ready_to_merge"
    assert (desk.state.allowed, desk.state.grants.review) == (("docs/**",), 9)
    assert [event.kind for event in desk.events if event.kind in ("allowed", "granted")] == [
        "granted",
        "allowed",
    ]
