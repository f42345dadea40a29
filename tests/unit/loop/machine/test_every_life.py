"""A search of every life that a task can have, with caps of one, through the machine as it ships."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import pytest

from instrument.schema.state import Caps, Spend, TaskState
from instrument.schema.vocabulary import EffectKind, Outcome, Stage, StopReason
from loop.machine.advance import advance, begin
from loop.machine.budget import is_money_gone, is_time_gone
from loop.machine.judge import forestall, judge
from loop.machine.plan import plan
from loop.machine.resume import record_ruling, resume
from loop.machine.stops import STOPS
from loop.machine.table import TABLE
from support.lives import new_state, terms
from support.outcomes import POSSIBLE

SMALL = Caps(check=1, review=2, gate=1, main_moved=1, interruptions=1)
BUDGETS = {"budget_ms": 10**9, "budget_microusd": 10**9}
STATES = 12_376
RESUMES = 1
"""How often a person acts in one life; more lead into no stage that one does not."""


class Node(NamedTuple):
    """All that can matter for what follows; two lives that agree in it go on alike."""

    stage: Stage
    stop: tuple[StopReason, Stage] | None
    has: tuple[str | bool | None, ...]
    counted: tuple[int, ...]
    is_approved: bool
    resumes: int


@dataclass
class Found:
    edges: dict[Node, set[Node]] = field(default_factory=dict)
    rows: Counter[tuple[Stage, Outcome]] = field(default_factory=Counter)
    dead_ends: set[tuple[StopReason, Stage]] = field(default_factory=set)
    unreviewed: list[Node] = field(default_factory=list)


def node_of(state: TaskState, *, is_approved: bool, resumes: int) -> Node:
    counters, landing = state.counters, state.landing
    stop = (state.stop.reason, state.stop.stage) if state.stop else None
    if state.stage is Stage.DONE or (
        stop and resumes == RESUMES
    ):  # not followed: how it came there is all one
        return Node(state.stage, stop, (), (), is_approved=is_approved, resumes=resumes)
    return Node(
        stage=state.stage,
        stop=stop,
        has=(
            state.base,
            state.image is not None,
            state.pending is not None,
            state.candidate.base if state.candidate else None,
            landing.onto if landing else None,
            landing is not None and state.gated == landing.commit,
            is_time_gone(state, for_coder=True),
            is_money_gone(state),
            state.stage is Stage.READY and bool(state.terms.turns_green),
        ),
        counted=(
            counters.check_failures,
            counters.gate_failures,
            counters.main_moves,
            counters.interruptions,
            counters.verdict_misses,
            counters.first_call_misses,
            min(counters.review_rounds, SMALL.review),
        ),
        is_approved=is_approved,
        resumes=resumes,
    )


def steps_from(state: TaskState) -> list[tuple[Outcome, TaskState]]:
    """Whatever can happen next to a task that is under way."""
    early = forestall(state)
    if early is not None:
        return [(early, advance(state, early, None))]
    effect = plan(state)
    begun = begin(state, effect)
    steps = []
    for move in POSSIBLE[EffectKind(effect.kind)]:
        facts = move(begun, effect)
        for authorised in (True, False) if state.stage is Stage.GATE else (True,):
            allowed = begun.model_copy(update={"authorised": authorised})
            outcome = judge(allowed, facts)
            steps.append((outcome, advance(allowed, outcome, facts)))
    return steps


def continuations(state: TaskState) -> list[tuple[bool, TaskState]]:
    """Whatever a person can do at a stop, with whether the approval still stands."""
    paid = state.model_copy(update={"spend": Spend()})
    ruled = record_ruling(state, "so be it")
    acts = [
        (True, resume(state, "rerun")),
        (True, resume(state, "rerun", main_has_moved=True)),
        (True, resume(state, "auto_merge")),
        (False, resume(paid, "task_edited")),
        (True, resume(ruled, "ruling")),
    ]
    return [(stands, after) for stands, after in acts if after is not None]


@cache
def explore() -> Found:
    """Follow every outcome of every effect, and at every stop whatever a person can do."""
    found = Found()
    start = new_state(terms=terms(caps=SMALL, **BUDGETS))
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


def followers(found: Found, node: Node, state: TaskState) -> list[tuple[Node, TaskState]]:
    if node.stage is Stage.DONE:
        return []
    if node.stage is Stage.STOPPED:
        ways = continuations(state)
        if not ways:
            found.dead_ends.add(node.stop)
        if node.resumes == RESUMES:
            return []
        return [
            (node_of(after, is_approved=stands and node.is_approved, resumes=node.resumes + 1), after)
            for stands, after in ways
        ]
    ways = []
    for outcome, after in steps_from(state):
        found.rows[state.stage, outcome] += 1
        is_approved = node.is_approved and outcome is not Outcome.CANDIDATE_COMMITTED
        is_approved |= outcome is Outcome.REVIEW_APPROVED
        if after.stage is Stage.MERGE and not is_approved:
            found.unreviewed.append(node)
        ways.append((node_of(after, is_approved=is_approved, resumes=node.resumes), after))
    return ways


@pytest.fixture(scope="module")
def found() -> Found:
    return explore()


def test_the_search_is_as_wide_as_when_it_was_read(found: Found):
    """A smaller number means that something can no longer happen; a larger one, that something new can."""
    assert len(found.edges) == STATES


def test_every_row_of_the_table_can_happen_and_nothing_else_does(found: Found):
    assert set(found.rows) == set(TABLE)


def test_every_outcome_has_a_row():
    assert {outcome for _, outcome in TABLE} == set(Outcome)


def test_every_stop_is_reached_and_has_its_sentence():
    assert set(STOPS) == set(StopReason)
    reached = {step.stop for step in TABLE.values()} - {None}
    assert reached == set(StopReason) - {StopReason.STATE_CORRUPT}


def test_every_stop_has_a_way_on(found: Found):
    assert found.dead_ends == set()


def test_no_life_comes_to_merge_without_an_approval_of_what_is_merged(found: Found):
    assert found.unreviewed == []


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
