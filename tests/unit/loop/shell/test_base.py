from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import RuntimeName
from loop.shell.base import unpriced_models
from support.lives import CLAUDE, terms


def test_only_models_that_are_named_need_a_price_and_each_is_named_once():
    made_up = AgentChoice(runtime=RuntimeName.CLAUDE, model="made-up-1")
    line = AgentChoice(runtime=RuntimeName.COMMAND)
    assert unpriced_models(terms()) == ()
    assert unpriced_models(terms(coder=made_up, reviewer=made_up)) == ("made-up-1",)
    assert unpriced_models(terms(coder=CLAUDE, reviewer=made_up)) == ("made-up-1",)
    assert unpriced_models(terms(coder=line, reviewer=line)) == ()
