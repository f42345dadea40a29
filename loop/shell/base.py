"""`git.find_base`: the base commit, and what speaks against spending anything on it.

Limits: fetches; asks the provider once.
"""

from datetime import datetime

from instrument.schema.state import TaskState, Terms
from loop.git.lock import repo_lock
from loop.machine.effects import FindBase
from loop.machine.facts import BaseFacts
from loop.shell.commits import LOCK_TIMEOUT_S
from loop.shell.context import Context
from loop.shell.orders import asked_providers
from loop.shell.papers import papers_of
from loop.shell.preflight import ask_providers
from loop.shell.reverts import note_reverts
from proxy.own_prices import read_own_prices
from proxy.prices import UnknownPriceError, find_price


def find_base(context: Context, state: TaskState, effect: FindBase) -> BaseFacts:
    """Fetch the tips, choose the base, read its terms; look at prices and at the provider."""
    base = fetch_base(context, state.repo)
    terms = papers_of(context, state, base).terms
    answer, detail = ask_providers(asked_providers(context, terms))
    return BaseFacts(
        key=effect.key,
        base=base,
        terms=terms,
        ready_utc=ready_time(context, base, state.task_path),
        unpriced=unpriced_models(context, terms),
        provider=answer,
        detail=detail,
    )


def fetch_base(context: Context, repo: str) -> str:
    """The commit that a task begins on now; what it takes back of ours is noted."""
    with repo_lock(context.home, repo, LOCK_TIMEOUT_S):
        tips = context.store.fetch_tips(context.branch, context.remote)
        base = context.store.choose_base(tips, push=context.remote is not None)
        note_reverts(context.home, context.store, repo, base)
        return base


def ready_time(context: Context, base: str, task_path: str) -> datetime | None:
    """When the commit was made that last changed the task file: lead time begins there."""
    end = context.store.git(["log", "-1", "--format=%cI", base, "--", task_path], check=False)
    text = end.out.decode().strip()
    return datetime.fromisoformat(text) if text else None


def unpriced_models(context: Context, terms: Terms) -> tuple[str, ...]:
    """The model ids of these terms that have no known price."""
    unknown: dict[str, None] = {}
    for choice in terms.agents:
        if choice.model is None:
            continue
        provider = context.provider_for(choice)
        try:
            find_price(choice.model, provider.name, own=read_own_prices(provider.prices, provider.name))
        except UnknownPriceError:
            unknown[choice.model] = None
    return tuple(unknown)
