"""A search of every life that a task can have, with caps of one, through the machine as it ships."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import pytest

from instrument.schema.state import Caps, Spend, TaskState, Terms
from instrument.schema.vocabulary import EffectKind, LadderStep, Outcome, Stage, StopReason
from loop.machine.advance import advance, begin
from loop.machine.budget import caps_of, is_money_gone, is_time_gone
from loop.machine.checks import names_again
from loop.machine.judge import forestall, judge
from loop.machine.ladder import can_help
from loop.machine.lift import least_cap
from loop.machine.plan import plan
from loop.machine.resume import GRANTED, allow, grant, park, record_ruling, resume
from loop.machine.stops import STOPS
from loop.machine.table import TABLE
from support.lives import ladder, new_state, terms
from support.outcomes import DEAR, POSSIBLE

REPAIRS = Caps(check=1, review=2, gate=1, main_moved=1, interruptions=0)
LOSSES = Caps(check=0, review=1, gate=0, main_moved=0, interruptions=1)
BUDGET = 10**9
"""Micro-dollars and milliseconds: more than any job but a dear one takes."""
RESUMES = 1
"""How often a person acts in one life; more lead into no stage that one does not."""


class Search(NamedTuple):
    """What is searched: one search of everything would be the product of these."""

    terms: Terms
    states: int
    is_dear: bool = False
    """Whether jobs use the budgets up."""


STEPS = (LadderStep.MACHINE, LadderStep.STRONG)
ANY_STEP = {reason: tuple(step for step in STEPS if can_help(step, reason)) for reason in StopReason}
"""Whatever a configuration can ask of the ladder."""

SEARCHES = {
    "repairs": Search(terms(caps=REPAIRS), states=6563),
    "losses": Search(terms(caps=LOSSES), states=1019),
    "budgets": Search(
        terms(caps=LOSSES, budget_ms=BUDGET, budget_microusd=BUDGET), states=1786, is_dear=True
    ),
    "turning green": Search(terms(caps=LOSSES, turns_green=("unit",)), states=784),
    "ladder": Search(terms(caps=LOSSES, ladder=ladder(*STEPS, reasons=ANY_STEP)), states=7683),
    "dear ladder": Search(
        terms(caps=LOSSES, ladder=ladder(LadderStep.STRONG), budget_ms=BUDGET, budget_microusd=BUDGET),
        states=5955,
        is_dear=True,
    ),
}


class Node(NamedTuple):
    """All that can matter for what follows; two lives that agree in it go on alike."""

    stage: Stage
    stop: tuple[StopReason, Stage] | None
    has: tuple[object, ...]
    room: tuple[int, ...]
    is_approved: bool
    resumes: int


@dataclass
class Found:
    search: Search
    edges: dict[Node, set[Node]] = field(default_factory=dict)
    rows: Counter[tuple[Stage, Outcome]] = field(default_factory=Counter)
    dead_ends: set[tuple[StopReason, Stage]] = field(default_factory=set)
    parked: dict[tuple[StopReason, Stage], bool] = field(default_factory=dict)
    """Whether each stop, parked, is taken up by what it waited for."""
    unreviewed: list[Node] = field(default_factory=list)


def node_of(state: TaskState, *, is_approved: bool, resumes: int) -> Node:
    counters, landing, candidate = state.counters, state.landing, state.candidate
    stop = (state.stop.reason, state.stop.stage) if state.stop else None
    if state.stage is Stage.DONE or (
        stop and resumes == RESUMES
    ):  # not followed: how it came there is all one
        return Node(state.stage, stop, (), (), is_approved=is_approved, resumes=resumes)
    caps = caps_of(state)
    return Node(
        stage=state.stage,
        stop=stop,
        has=(
            state.base,
            state.image is not None,
            state.pending is not None,
            candidate.base if candidate else None,
            bool(candidate and candidate.changes_tests and state.compared_commit != candidate.commit),
            landing.onto if landing else None,
            landing is not None and state.gated == landing.commit,
            is_time_gone(state, for_coder=True),
            is_money_gone(state, for_coder=True),
            "/".join(name for name in names_again(state.first_run)) if state.first_run else None,
            bool(state.declared),
            (state.climb.stop.reason, state.climb.stop.stage, state.climb.step) if state.climb else None,
            tuple(sum(tried.step is step for tried in state.tried) for step in LadderStep),
        ),
        room=(
            max(-1, caps.check - counters.check_failures),
            max(-1, caps.gate - counters.gate_failures),
            max(-1, caps.main_moved - counters.main_moves),
            max(-1, caps.interruptions - counters.interruptions),
            counters.verdict_misses,
            counters.first_call_misses,
            max(0, caps.review - counters.review_rounds),
        ),
        is_approved=is_approved,
        resumes=resumes,
    )


def steps_from(state: TaskState, *, is_dear: bool) -> list[tuple[Outcome, TaskState]]:
    """Whatever can happen next to a task that is under way."""
    early = forestall(state)
    if early is not None:
        return [(early, advance(state, early, None))]
    effect = plan(state)
    begun = begin(state, effect)
    steps = []
    kind = EffectKind(effect.kind)
    for move in POSSIBLE[kind] + (DEAR.get(kind, []) if is_dear else []):
        facts = move(begun, effect)
        for authorised in (True, False) if state.stage is Stage.GATE else (True,):
            allowed = begun.model_copy(update={"authorised": authorised})
            outcome = judge(allowed, facts)
            steps.append((outcome, advance(allowed, outcome, facts)))
    return steps


def answers(state: TaskState, counters: Iterable[str] = GRANTED) -> list[tuple[bool, TaskState | None]]:
    """Whatever a person can answer at a stop, with whether the approval still stands."""
    paid = state.model_copy(update={"spend": Spend()})
    acts = [
        (True, resume(state, "auto_merge")),
        (False, resume(paid, "task_edited")),
        (True, resume(record_ruling(state, "so be it"), "ruling")),
        (True, resume(allow(state, "x"), "allow")),
    ]
    for counter in counters:
        value = {"usd": state.spend.microusd, "minutes": state.spend.job_ms}.get(counter)
        enough = least_cap(state, counter) if value is None else value + BUDGET
        acts.append((True, resume(grant(state, counter, enough), "grant", counter=counter)))
    return acts


def continuations(state: TaskState) -> list[tuple[bool, TaskState]]:
    """Whatever leads on from a stop."""
    acts = [
        (True, resume(state, "rerun")),
        (True, resume(state, "rerun", main_has_moved=True)),
        *answers(state, STOPS[state.stop.reason].grants if state.stop else ()),
    ]
    return [(stands, after) for stands, after in acts if after is not None]


@cache
def explore(name: str) -> Found:
    """Follow every outcome of every effect, and at every stop whatever a person can do."""
    search = SEARCHES[name]
    found = Found(search)
    start = new_state(terms=search.terms)
    ahead = [(node_of(start, is_approved=False, resumes=0), start)]
    while ahead:
        node, state = ahead.pop()
        if node in found.edges:
            continue
        found.edges[node] = set()
        for after_node, after in followers(found, node, state):
            found.edges[node].add(after_node)
            ahead.append((after_node, after))
    return found


def is_taken_up(state: TaskState) -> bool:
    """Whether the task, parked, waits for an answer and then goes on as if it had not been."""
    aside = park(state, "not now")
    if resume(aside, "rerun") or resume(aside, "rerun", main_has_moved=True):
        return False
    calm = [after and after.model_copy(update={"seq": 0}) for _, after in answers(state)]
    late = [after and after.model_copy(update={"seq": 0}) for _, after in answers(aside)]
    return calm == late


def followers(found: Found, node: Node, state: TaskState) -> list[tuple[Node, TaskState]]:
    if node.stage is Stage.DONE:
        return []
    if node.stage is Stage.STOPPED:
        ways = continuations(state)
        if not ways:
            found.dead_ends.add(node.stop)
        if node.stop not in found.parked:  # what it is of is the same at every node with this stop
            found.parked[node.stop] = is_taken_up(state)
        if node.resumes == RESUMES:
            return []
        return [
            (node_of(after, is_approved=stands and node.is_approved, resumes=node.resumes + 1), after)
            for stands, after in ways
        ]
    ways = []
    for outcome, after in steps_from(state, is_dear=found.search.is_dear):
        found.rows[state.stage, outcome] += 1
        is_approved = node.is_approved and outcome is not Outcome.CANDIDATE_COMMITTED
        is_approved |= outcome is Outcome.REVIEW_APPROVED
        if after.stage is Stage.MERGE and not is_approved:
            found.unreviewed.append(node)
        ways.append((node_of(after, is_approved=is_approved, resumes=node.resumes), after))
    return ways


@pytest.fixture(scope="module", params=SEARCHES)
def found(request) -> Found:
    return explore(request.param)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_search_is_as_wide_as_when_it_was_read(name):
    """A smaller number means that something can no longer happen; a larger one, that something new can."""
    assert len(explore(name).edges) == SEARCHES[name].states


def test_every_row_of_the_table_can_happen_and_nothing_else_does():
    assert {row for name in SEARCHES for row in explore(name).rows} == set(TABLE)


def test_every_outcome_has_a_row():
    assert {outcome for _, outcome in TABLE} == set(Outcome)


def test_every_stop_is_reached_and_has_its_sentence():
    assert set(STOPS) == set(StopReason)
    reached = {step.stop for step in TABLE.values()} - {None}
    assert reached == set(StopReason) - {StopReason.STATE_CORRUPT, StopReason.PARKED}


def test_every_stop_has_a_way_on(found: Found):
    assert found.dead_ends == set()


def test_a_parked_task_goes_on_by_every_answer_as_if_it_had_not_been_parked(found: Found):
    assert len(found.parked) > len(STOPS) / 2
    assert all(found.parked.values()), found.parked


def test_no_life_comes_to_merge_without_an_approval_of_what_is_merged(found: Found):
    assert found.unreviewed == []


def test_no_counter_passes_its_cap_but_the_reviews_that_rulings_buy(found: Found):
    assert min(min(node.room[:4]) for node in found.edges if node.room) == 0


def test_every_life_ends(found: Found):
    """No circle: whatever happens, and whoever acts once, it comes to an end or to a person."""
    coming = Counter(after for afters in found.edges.values() for after in afters)
    free = [node for node in found.edges if not coming[node]]
    done = 0
    while free:
        node = free.pop()
        done += 1
        for after in found.edges[node]:
            coming[after] -= 1
            if not coming[after]:
                free.append(after)
    assert done == len(found.edges)


def test_only_a_stop_or_an_end_has_no_next_step(found: Found):
    ends = {node.stage for node, afters in found.edges.items() if not afters}
    assert ends == {Stage.DONE, Stage.STOPPED}
