"""The ladder as a person meets it: what models are told, what they rule, what it leaves on disk."""

import json

import pytest

from instrument.report import one_task
from instrument.schema.job import AgentResult
from instrument.schema.vocabulary import StopReason
from loop.problems import Problems
from support.ends import START
from support.fake_jobs import WORKED_ON, Turn, handed_up, ruled
from support.repos import TASK, TASK_ID, TASK_TEXT, TOML, Desk, edited

LADDER = '[ladder]\nsmall = "claude-haiku-4-5"\nstrong = "claude-opus-4-5"\n'
QUESTION = "Which name shall it have? " + "Names matter. " * 30 + "I ask about the END."


def blocked(question: str = QUESTION) -> Turn:
    asks = AgentResult(outcome="blocked", question=question, choices=("pause", "wait"))
    return Turn(result=asks, answer=asks.model_dump_json())


GOOD = Turn({WORKED_ON: b"good\n"})


@pytest.fixture
def asking(desk: Desk) -> Desk:
    """A coder that asks once, in a repo with a ladder."""
    desk.commit({"factory.toml": TOML + LADDER})
    desk.script.coder = [blocked(), GOOD]
    return desk


def kinds(desk: Desk, *names: str) -> list[str]:
    found = [event for event in desk.events if event.kind in names]
    return [json.dumps(event.model_dump(mode="json", exclude_defaults=True)) for event in found]


def test_a_small_models_ruling_stands_everywhere_with_its_giver(asking: Desk):
    asking.script.resolver = [Turn(answer=ruled("Call it `pause`."))]
    assert asking.ends(auto_merge=True) == "merged"
    rulings = (asking.task_folder / "rulings.md").read_text()
    assert rulings == (
        "## At blocked, by a model in your stead (small: claude-haiku-4-5)\n\nCall it `pause`.\n"
    )
    given = "given by a model (claude-haiku-4-5) in a person's stead when the task had stopped with `blocked`"
    for role in ("coder", "reviewer"):
        prompt = asking.prompts(role)[-1]
        assert prompt.count("Call it `pause`.") == 1
        assert given in prompt
    bill = one_task(asking.home, TASK_ID)
    assert bill.row.rulings_by_model == {"claude-haiku-4-5": 1}
    assert (bill.row.interventions, bill.row.interventions_by_kind) == (0, {})
    assert bill.row.stops == ()
    roles = [agent.role for agent in bill.row.agents]
    assert roles == ["coder", "resolver", "reviewer"]
    assert bill.row.cost_microusd == 1000 * 4


def test_what_a_model_is_told_is_the_stop_with_all_that_the_coder_asked(asking: Desk):
    asking.script.resolver = [Turn(answer=handed_up("Two would do.")), Turn(answer=handed_up("Ask them."))]
    ending = asking.run()
    assert ending.result.stop_reason is StopReason.BLOCKED
    small, strong = asking.prompts("resolver")
    assert "Wait for it." in small
    assert "- blocked (at implement): You: the coder asks;" in small
    assert "I ask about the END." in small, "a stop holds only the beginning of a long question"
    assert "- it would do: pause" in small
    assert "The coder has one more round, which is told your ruling." in small
    assert "What was tried before you" not in small
    assert "small handed it up: Two would do." in strong.partition("What was tried before you")[2]
    assert [path.name for path in sorted((asking.task_folder / "jobs").glob("*resolver*"))] == [
        "0003-resolver-1",
        "0004-resolver-2",
    ]


def test_the_brief_says_what_was_tried_and_the_person_goes_on(asking: Desk):
    asking.script.resolver = [Turn(answer=handed_up("Two\nwould do.")), Turn(answer=handed_up("Ask them."))]
    text = asking.run().text
    assert (
        "What was tried before you:\n- small handed it up: Two would do.\n- strong handed it up: Ask them.\n"
    ) in text
    assert "--ruling 'what you decide'" in text
    assert asking.ends(rulings=("Call it pause.",), auto_merge=True) == "merged"
    assert (asking.task_folder / "rulings.md").read_text() == "## At blocked\n\nCall it pause.\n"
    assert one_task(asking.home, TASK_ID).row.interventions == 1


def test_the_record_names_each_step_and_never_a_models_words(asking: Desk):
    asking.script.resolver = [Turn(answer=handed_up("SECRET-1")), Turn(answer=ruled("SECRET-2"))]
    assert asking.ends(auto_merge=True) == "merged"
    assert "blocked: small handed it up\n" in asking.said.getvalue()
    assert "blocked: strong ruled\n" in asking.said.getvalue()
    assert "SECRET" not in asking.said.getvalue()
    steps = [(e.step, e.stop) for e in asking.events if e.kind == "ladder_step"]
    assert steps == [("small", "blocked"), ("strong", "blocked")]
    (ruling,) = [event for event in asking.events if event.kind == "ruling_recorded"]
    assert (ruling.by, ruling.model, ruling.stop) == ("strong", "claude-opus-4-5", "blocked")
    assert "SECRET" not in (asking.task_folder / "events.jsonl").read_text()
    moves = [(e.from_stage, e.to_stage, e.stop) for e in asking.events if e.kind == "transition"]
    assert ("implement", "resolve", None) in moves
    assert ("resolve", "resolve", None) in moves
    assert ("resolve", "implement", None) in moves


def test_a_resolvers_tree_is_thrown_away(asking: Desk):
    asking.script.resolver = [Turn({WORKED_ON: b"mine\n", "other": b"x"}, answer=ruled("pause"))]
    assert asking.ends(auto_merge=True) == "merged"
    assert asking.origin.ask("show", f"main:{WORKED_ON}") == "good"
    assert "other" not in asking.origin.ask("ls-tree", "--name-only", "main").split()


def test_without_the_table_nothing_is_asked_and_nothing_said(desk: Desk):
    desk.script.coder = [blocked(), GOOD]
    text = desk.run().text
    assert "blocked" in text
    assert "tried" not in text
    assert not desk.prompts("resolver")
    assert not kinds(desk, "ladder_step")
    assert desk.state.terms.ladder is None


def test_the_machine_makes_a_red_environment_again(desk: Desk):
    desk.commit({"factory.toml": TOML + '[ladder]\nsteps = ["machine"]\n'})
    desk.script.unfit = "the index did not answer"
    assert desk.ends() == "image_unfit"
    assert [(t.step, t.stop) for t in desk.state.tried] == [("machine", "image_unfit")] * 2
    assert desk.run().text.count("- machine ran it again\n") == 2
    assert desk.said.getvalue().count("image_unfit: machine looks again\n") == 2
    desk.script.unfit = None
    assert desk.ends(auto_merge=True) == "merged"


@pytest.mark.parametrize("risk", ["low", "high"])
def test_a_task_of_high_risk_is_a_persons_where_it_says_so(asking: Desk, risk: str):
    head = f"status: ready\nrisk: {risk}\nescalate_if: [risk_high]"
    asking.commit({TASK: edited(TASK_TEXT, "status: ready", head)})
    asking.script.resolver = [Turn(answer=ruled("pause"))]
    assert asking.ends(auto_merge=True) == ("blocked" if risk == "high" else "merged")


def test_a_model_without_a_price_is_refused_before_anything_costs(desk: Desk):
    desk.commit({"factory.toml": TOML + LADDER.replace("claude-haiku-4-5", "nobody-knows-1")})
    assert desk.ends() == "unknown_price"
    assert "nobody-knows-1" in desk.run().text
    assert desk.state.spend.microusd == 0


def test_a_step_whose_model_is_missing_is_refused_at_once(desk: Desk):
    desk.commit({"factory.toml": TOML + '[ladder]\nsmall = "claude-haiku-4-5"\n'})
    with pytest.raises(Problems, match=r"\[ladder\] step strong needs a model"):
        desk.run()


def test_the_same_command_goes_on_with_the_answer_of_a_model_that_was_under_way(asking: Desk):
    """The loop dies while the model is asked: its job is found again, and is paid once."""
    asking.script.resolver = [Turn(answer=ruled("pause"))]

    class Died(BaseException):
        pass

    def die(status: str, order) -> None:
        if status == "exited" and "resolver" in order.folder.name:
            raise Died

    asking.jobs.at = die
    with pytest.raises(Died):
        asking.run(auto_merge=True)
    assert asking.state.stage == "resolve"
    assert asking.state.stop is None
    asking.jobs.at = lambda *_: None
    shown = asking.run(dry_run=True).text
    assert "stands at resolve; next: job.resolve" in shown
    assert "model claude-haiku-4-5, round 1" in shown
    assert "I ask about the END." in (asking.task_folder / "dry-run-prompt.md").read_text()
    assert asking.ends(auto_merge=True) == "merged"
    assert all(count == 1 for count in asking.jobs.created().values())
    assert asking.state.spend.microusd == 1000 * 4
    assert asking.state.ended_utc == START
