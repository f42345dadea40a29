"""What the shell makes of an engine and a git that fail: facts, never a trace."""

import pytest

from instrument.schema.vocabulary import Stage
from loop.machine.advance import begin
from loop.machine.facts import EngineFacts, SetupFacts
from loop.machine.plan import plan
from loop.shell.context import Context
from loop.shell.shell import Shell
from support.fake_jobs import RUNNING
from support.lives import new_state
from support.repos import TASK, TOML, Desk


def under_way(context: Context, base: str, **changes):
    """A task with its next effect begun."""
    blob = context.store.blob_id(base, TASK)
    state = new_state(task_id="demo-007", task_path=TASK, task_blob=blob, base=base, **changes)
    effect = plan(state)
    return begin(state, effect), effect


def test_an_engine_that_is_gone_is_a_fact_for_every_kind_of_job(context: Context, desk: Desk, base: str):
    desk.jobs.is_gone = True
    for changes in ({}, {"image": "sha256:1"}, {"image": "sha256:1", "stage": Stage.IMPLEMENT}):
        state, effect = under_way(context, base, **changes)
        facts = Shell(context).perform(state, effect, resumed=False)
        assert facts == EngineFacts(key=effect.key, detail="no engine answers"), effect.kind
        Shell(context).release(state, effect.key)
        assert Shell(context).cancel(state, effect, 2).end is None


def test_a_git_that_fails_is_a_fact_in_one_line(context: Context, desk: Desk, base: str):
    state, effect = under_way(context, base)
    state = state.model_copy(update={"base": None})
    effect = plan(state.model_copy(update={"attempt": None}))
    desk.origin.root.rename(desk.folder / "elsewhere.git")
    facts = Shell(context).perform(state, effect, resumed=False)
    assert isinstance(facts, EngineFacts)
    assert "origin" in facts.detail
    assert "\n" not in facts.detail


def test_an_image_that_cannot_be_made_names_why(context: Context, desk: Desk, base: str):
    desk.script.unfit = "pip install: exit code 1"
    state, effect = under_way(context, base)
    facts = Shell(context).perform(state, effect, resumed=False)
    assert facts == SetupFacts(key=effect.key, image=None, detail="pip install: exit code 1", folder=None)


def test_a_declared_input_that_is_not_there_is_the_configurations_fault(context: Context, desk: Desk):
    toml = TOML + '[setup]\ncached = ["true"]\ninputs = ["requirements.lock"]\n'
    base = desk.commit({"factory.toml": toml})
    context.store.fetch_tips("main", "origin")
    state, effect = under_way(context, base)
    facts = Shell(context).perform(state, effect, resumed=False)
    assert isinstance(facts, SetupFacts)
    assert facts.image is None
    assert facts.detail == "factory.toml:18: [setup] inputs: no file matches requirements.lock"


def test_a_cancelled_job_tells_what_it_had_cost(context: Context, desk: Desk, base: str):
    state, effect = under_way(context, base, image="sha256:1", stage=Stage.IMPLEMENT)

    class Crash(BaseException):
        pass

    def at(status, _) -> None:
        if status == RUNNING:
            raise Crash

    desk.jobs.at = at
    with pytest.raises(Crash):
        Shell(context).perform(state, effect, resumed=False)
    desk.jobs.at = lambda _status, _order: None
    facts = Shell(context).cancel(state, effect, 2)
    assert facts.end is not None
    assert facts.end.ledger.cost_microusd == 1000
