"""What model calls are paid with, and at which prices.

Limits: one GET request a provider, with a deadline; no tokens are spent.
"""

from dataclasses import replace

import httpx

from loop.doctor.finding import Finding, failed, note, ok, skipped
from loop.doctor.surroundings import Surroundings
from loop.shell.base import unpriced_models
from loop.shell.context import Provider
from loop.shell.orders import asked_providers
from loop.shell.preflight import HTTP_DENIED, TIMEOUT_S, ask_status

HTTP_OK = 200


def look_at_prices(surroundings: Surroundings) -> Finding:
    """Whether every model that a task would call has a known price."""
    choices = [choice for terms in surroundings.terms for choice in terms.agents]
    models = tuple(dict.fromkeys(choice.model for choice in choices if choice.model))
    if not models:
        return skipped("no model is configured")
    unknown: dict[str, None] = {}
    for terms in surroundings.terms:
        unknown |= dict.fromkeys(unpriced_models(surroundings.context, terms))
    if unknown:
        mend = "name it as the price data does, or set its price under [provider] in factory.toml"
        return failed(f"no price is known for {', '.join(unknown)}", mend)
    return ok(", ".join(models))


def look_at_keys(surroundings: Surroundings) -> Finding:
    """Whether the key of each configured provider is set, and whether the provider takes it."""
    ways = _ways(surroundings)
    if not ways:
        return skipped("no provider is configured: no agent calls a model")
    unset = tuple(dict.fromkeys(way.key_variable for way in ways if not way.secret))
    if unset:
        return failed(
            f"{', '.join(unset)} is not set", "set it to the provider's key, where factory is started"
        )
    with httpx.Client(timeout=TIMEOUT_S) as http:
        answers = [(way, ask_status(way, http)) for way in ways]
    refused = [way for way, answer in answers if answer in HTTP_DENIED]
    if refused:
        said = ", ".join(f"{way.base_url} refuses {way.key_variable}" for way in refused)
        return failed(said, "set another key, or change [provider] in factory.toml")
    said = ", ".join(f"{way.base_url} {_shown(way, answer)}" for way, answer in answers)
    if all(answer == HTTP_OK for _, answer in answers):
        return ok(said)
    return note(said, "the key was neither taken nor refused: see whether the address is right")


def _ways(surroundings: Surroundings) -> tuple[Provider, ...]:
    """Every address that may be asked, fallbacks too, each once."""
    asked = (p for terms in surroundings.terms for p in asked_providers(surroundings.context, terms))
    ways = (replace(way, fallbacks=(), prices={}) for provider in asked for way in provider.ways)
    return tuple({(way.base_url, way.key_variable): way for way in ways}.values())


def _shown(way: Provider, answer: int | str) -> str:
    if answer == HTTP_OK:
        return f"takes {way.key_variable}"
    return f"answered HTTP {answer}" if isinstance(answer, int) else f"did not answer ({answer})"
