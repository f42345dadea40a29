"""`--dry-run`: what the next step would be and what it may cost; nothing is done.

Limits: writes the next job's prompt to one file, and nothing else.
"""

from instrument.money import show_usd
from instrument.schema.state import TaskState
from loop.atomic import write_atomic
from loop.brief import Places, write_brief
from loop.home import make_private
from loop.machine.effects import AgentEffect, Effect, Implement, Resolve, Review
from loop.machine.judge import forestall
from loop.machine.plan import plan
from loop.request import Ending, result_of
from loop.session import Session
from loop.shell.papers import papers_of
from loop.shell.telling import tell_coder, tell_resolver, tell_reviewer

PROMPT_FILE = "dry-run-prompt.md"


def preview(session: Session, state: TaskState, places: Places) -> Ending:
    """Say what a run would do next, from the state that it would begin with."""
    result = result_of(state, session.folder)
    if state.stop is not None:
        return Ending(result, write_brief(state, places))
    if state.stage.is_terminal:
        return Ending(result, f"{state.task_id} is done: {state.done}; nothing would follow.\n")
    stopped = forestall(state)
    if stopped is not None:
        return Ending(result, f"{state.task_id} would stop before the next job: {stopped}.\n")
    effect = plan(state)
    lines = [f"{state.task_id} stands at {state.stage}; next: {effect.kind}, key {effect.key}"]
    lines += _cost(effect)
    if isinstance(effect, Implement | Review | Resolve):
        lines.append(f"prompt: {_write_prompt(session, state, effect)}")
    return Ending(result, "\n".join(lines) + "\n")


def _cost(effect: Effect) -> list[str]:
    if not isinstance(effect, AgentEffect):
        return ["cost: none, it calls no model"]
    limit = effect.budget_microusd
    most = "no limit" if limit is None else f"at most {show_usd(limit)}"
    return [
        f"agent: {effect.agent.runtime}, model {effect.agent.model or 'none'}, round {effect.round}",
        f"cost: {most}, for at most {effect.deadline_ms // 60_000} min",
    ]


def _write_prompt(session: Session, state: TaskState, effect: Implement | Review | Resolve) -> str:
    context = session.context
    if isinstance(effect, Implement):
        papers = papers_of(context, state, state.base or effect.start)
        prompt = tell_coder(context, state, effect, papers)
    elif isinstance(effect, Resolve):
        prompt = tell_resolver(context, state, effect, papers_of(context, state, effect.base))
    else:
        prompt = tell_reviewer(context, state, effect, papers_of(context, state, effect.base))
    path = make_private(session.folder) / PROMPT_FILE
    write_atomic(path, prompt)
    return str(path)
