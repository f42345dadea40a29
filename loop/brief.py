"""The brief of a stop: what happened, what it cost, the evidence, the commands that continue.

At most 4 KB; a person reads it in one minute. Pure: no I/O.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path

from instrument.money import MICROUSD_PER_USD, show_usd
from instrument.schema.state import Stop, TaskState
from instrument.schema.vocabulary import EffectKind, StopReason
from instrument.show import show_count, show_ms
from loop.allowances import secret_glob
from loop.machine.budget import caps_of, money_budget, time_budget_ms
from loop.machine.lift import least_cap
from loop.machine.resume import open_findings
from loop.machine.stops import STOPS, StopRow
from loop.prompts.sections import show_tried

MAX_BYTES = 4096
MAX_ALLOWED = 5
CENT = 10_000
"""In micro-dollars: amounts are offered in whole cents, rounded up."""
CUT = "\n… (cut; the evidence has the rest)\n"


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are, for the commands of a brief."""

    folder: Path
    """The task's own."""
    store: Path
    checkout: Path
    command: str
    """What continues this task, such as `factory run tasks/007-retry.md --repo /home/me/shop`."""


def write_brief(state: TaskState, places: Places) -> str:
    """Compose the brief of a stopped task."""
    stop = state.stop
    if stop is None:
        raise ValueError("only a stopped task has a brief")
    head = [*_candidate_commands(state, places), f"# {state.task_id} stopped: {stop.reason}", ""]
    head += [STOPS[stop.reason].sentence, ""]
    tail = [
        "",
        *_cost(state),
        "",
        *_evidence(stop, places),
        "",
        "To continue:",
        *_commands(state, stop, places),
    ]
    facts = [f"It stood at {stop.stage}, outcome {stop.outcome}."]
    facts += [f"- {_plain(detail)}" for detail in stop.details]
    facts += [*_open_points(state, stop), *_tried(state, stop)]
    return _fit("\n".join(head), "\n".join(facts), "\n".join(tail) + "\n")


def _candidate_commands(state: TaskState, places: Places) -> list[str]:
    """How to see the candidate, and how to make a branch of it; nothing where there is none."""
    if state.candidate is None:
        return []
    commit = state.candidate.commit
    store, checkout = shlex.quote(str(places.store)), shlex.quote(str(places.checkout))
    branch = f"factory/{state.task_id}"
    return [
        f"See it:        git --git-dir={store} show {commit[:12]}",
        f"Make a branch: git -C {checkout} fetch {store} {commit}:refs/heads/{branch}",
        "",
    ]


def _cost(state: TaskState) -> list[str]:
    counters, spend = state.counters, state.spend
    cost = show_usd(spend.microusd, lower_bound=spend.lower_bound)
    rounds = show_count(counters.coder_rounds, "coder round")
    reviews = show_count(counters.review_rounds, "review")
    # One that gave no verdict, or was lost, is no review; it ran all the same.
    reviewers = counters.effects.get(EffectKind.REVIEW, 0)
    if reviewers > counters.review_rounds:
        reviews += f" in {show_count(reviewers, 'reviewer job')}"
    return [f"So far: {cost}, {rounds}, {reviews}, {show_ms(spend.job_ms)} of job run time."]


def _evidence(stop: Stop, places: Places) -> list[str]:
    lines = [f"Evidence: {places.folder / stop.folder / 'out'}"] if stop.folder else []
    if stop.retry_at_utc is not None:
        lines.insert(
            0, f"The limit resets at {stop.retry_at_utc:%Y-%m-%d %H:%M:%S} UTC; --wait sleeps until then."
        )
    return [*lines, f"Record:   {places.folder}"]


def _open_points(state: TaskState, stop: Stop) -> list[str]:
    if stop.reason not in (StopReason.READY_TO_MERGE, StopReason.REVIEW_EXHAUSTED):
        return []
    left = [_plain(f"- open {f.severity} {f.id} {f.path}: {f.text}") for f in open_findings(state)]
    shown = [_plain(detail) for detail in stop.details]
    return [line for line in left if not any(detail in line for detail in shown)]


def _tried(state: TaskState, stop: Stop) -> list[str]:
    """What the ladder did at stops of this kind before it came to a person."""
    asked = state.parked or stop
    lines = [f"- {_plain(show_tried(each))}" for each in state.tried if each.stop is asked.reason]
    return ["What was tried before you:", *lines] if lines else []


def _plain(text: str) -> str:
    """One line without control characters: an agent's words must not forge a command of the brief."""
    return "".join(char if char.isprintable() else " " for char in text)


def _commands(state: TaskState, stop: Stop, places: Places) -> list[str]:
    asked = state.parked or stop
    row = STOPS[asked.reason]
    rulings = (*row.choices, *asked.choices)
    lines = [f"  {places.command} --ruling {shlex.quote(_plain(choice))}" for choice in rulings]
    if asked.reason is StopReason.READY_TO_MERGE:
        lines.append(f"  {places.command} --auto-merge")
    if row.rerun is not None and state.parked is None:
        lines.append(f"  {places.command}")
    lines += [f"  {places.command} {words}" for words in _grants(state, row)]
    if row.allow:
        lines.append(f"  {places.command} {_allowances(asked)}")
    if row.ruling is not None:
        lines.append(f"  {places.command} --ruling 'what you decide'")
    if row.edit is not None and row.rerun is None:
        lines.append(f"  # or edit the task file, commit it, then:  {places.command}")
    if stop.reason is not StopReason.PARKED:
        lines.append(f"  {places.command} --park 'why'   # put it aside")
    lines.append(f"  {places.command} --restart   # begin again")
    return lines


def _allowances(asked: Stop) -> str:
    """An option for each path that the stop names."""
    globs: Iterable[str] = asked.details
    if asked.reason is StopReason.SECRET_FOUND:
        globs = dict.fromkeys(secret_glob(line.rpartition(":")[0]) for line in asked.details)
    return " ".join(f"--allow {shlex.quote(_plain(glob))}" for glob in islice(globs, MAX_ALLOWED))


def _grants(state: TaskState, row: StopRow) -> list[str]:
    """One more and three more of a cap; half as much again of a budget."""
    words = []
    for counter in row.grants:
        if counter == "usd":
            known = max(money_budget(state) or 0, state.spend.microusd + state.terms.reserve_microusd)
            words.append(f"--grant usd={Decimal(known * 3 // 2 + CENT) / MICROUSD_PER_USD:.2f}")
        elif counter == "minutes":
            known = max(time_budget_ms(state) or 0, state.spend.job_ms + state.terms.reserve_ms)
            words.append(f"--grant minutes={known * 3 // 2 // 60_000 + 1}")
        else:
            least = max(getattr(caps_of(state), counter) + 1, least_cap(state, counter))
            words += [f"--grant {counter}={least}", f"--grant {counter}={least + 2}"]
    return words


def _fit(head: str, facts: str, tail: str) -> str:
    """Cut the facts in the middle of the brief, never the commands at its end."""
    room = MAX_BYTES - len(head.encode()) - len(tail.encode()) - len(CUT.encode()) - 2
    raw = facts.encode("utf-8", "replace")
    if len(raw) > room:
        facts = raw[: max(0, room)].decode("utf-8", "ignore") + CUT
    return f"{head}\n{facts}\n{tail}"


def corrupt_brief(why: str, places: Places) -> str:
    """The brief of a task whose state cannot be read: nothing is known but that."""
    lines = [
        f"# stopped: {StopReason.STATE_CORRUPT}",
        "",
        STOPS[StopReason.STATE_CORRUPT].sentence,
        "",
        f"- {why}",
        f"- see what a damaged file still says: {places.folder / 'events.jsonl'}",
        "",
        "To continue:",
        f"  {places.command} --restart   # begin again; the old folder is kept",
        "",
    ]
    return "\n".join(lines)
