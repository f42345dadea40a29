from dataclasses import replace

from instrument.schema.prices import OwnPrice
from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import ProviderName, RuntimeName
from loop.shell.base import unpriced_models
from loop.shell.context import Context
from support.lives import CLAUDE, terms

MADE_UP = AgentChoice(runtime=RuntimeName.CLAUDE, model="made-up-1")


def test_only_models_that_are_named_need_a_price_and_each_is_named_once(context: Context):
    line = AgentChoice(runtime=RuntimeName.COMMAND)
    assert unpriced_models(context, terms()) == ()
    assert unpriced_models(context, terms(coder=MADE_UP, reviewer=MADE_UP)) == ("made-up-1",)
    assert unpriced_models(context, terms(coder=CLAUDE, reviewer=MADE_UP)) == ("made-up-1",)
    assert unpriced_models(context, terms(coder=line, reviewer=line)) == ()


def test_a_price_of_the_persons_own_is_a_price_for_the_provider_that_has_it_alone(context: Context):
    own = {"made-up-1": OwnPrice(input=0, output=0)}
    for name, unpriced in ((ProviderName.ANTHROPIC, ()), (ProviderName.OPENAI, ("made-up-1",))):
        providers = {**context.providers, name: replace(context.providers[name], prices=own)}
        assert unpriced_models(replace(context, providers=providers), terms(coder=MADE_UP)) == unpriced
