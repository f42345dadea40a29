"""The same story gives the same transitions under the state file and under the engine."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from temporalio.client import Client

from engine import messages as m
from instrument.schema.state import Caps, TaskState
from instrument.schema.vocabulary import Outcome, Stage
from loop.machine.effects import Effect
from loop.machine.facts import Facts
from support.carried import Fakes, Step, Tale, continued, hand_over, state_of, working
from support.ends import START
from support.every_stop import LIVES, WAYS
from support.lives import RED, Life, ladder, must_fix, terms
from support.skipping import skipping
from support.temporal import until

ACTS = {
    "rerun": m.Answer(id="1"),
    "ruling": m.Answer(id="1", rulings=("so be it",)),
    "allow": m.Answer(id="1", allow=("x",)),
    "auto_merge": m.Answer(id="1", auto_merge=True),
}
PARK = m.Answer(id="0", park="not now")
CALM = {
    "merged": ({}, {}),
    "three-rounds": ({"check": [RED] * 2, "review": [must_fix]}, {}),
    "ladder": ({"check": [RED] * 2}, {"terms": terms(caps=Caps(check=0), ladder=ladder())}),
}


def act_at(reason: str) -> m.Answer:
    """What a person does about this stop; no edit, which needs a repository."""
    act = next(act for act in WAYS[reason].split() if act != "edit")
    if act.startswith("grant:"):
        return m.Answer(id="1", grants=((act.removeprefix("grant:"), 10**9),))
    return ACTS[act]


STORIES = {reason: (*life, [act_at(reason)]) for reason, life in LIVES.items()}
STORIES |= {name: (*life, []) for name, life in CALM.items()}
STORIES["parked"][2].insert(0, PARK)


@dataclass
class Steps:
    """A watcher that keeps the transitions."""

    trail: list[Step] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None: ...

    def ended(self, before: TaskState, outcome: Outcome, after: TaskState, _: Facts | None) -> None:
        self.trail.append((before.stage, outcome, after.stage))


def under_the_state_file(folder: Path, name: str) -> tuple[list[Step], TaskState]:
    moves, changes, answers = STORIES[name]
    life = Life(folder, state_of(name, **changes), **moves)
    life.noted = Steps()
    life.run()
    for answer in answers:
        life.state = continued(life.state, answer, START)
        life.run()
    return life.noted.trail, life.state


async def under_the_engine() -> dict[str, Tale]:
    async with skipping() as (environment, fakes), working(environment.client, fakes):
        await asyncio.gather(*(live(environment.client, fakes, name) for name in STORIES))
        return fakes.tales


async def live(client: Client, fakes: Fakes, name: str) -> None:
    moves, changes, answers = STORIES[name]
    tale = fakes.tell(state_of(name, **changes), **moves)
    handle = await hand_over(client, name)
    for count, answer in enumerate(answers, start=1):
        await until(partial(has_closed, tale, count), timeout_s=60)
        await handle.signal("answer", answer)
    await until(partial(has_closed, tale, len(answers) + 1), timeout_s=60)


async def has_closed(tale: Tale, count: int) -> bool:
    return len(tale.closed) >= count


@pytest.fixture(scope="module")
def tales() -> dict[str, Tale]:
    return asyncio.run(under_the_engine())


def plain(state: TaskState) -> TaskState:
    return state.model_copy(update={"ended_utc": None})


@pytest.mark.parametrize("name", STORIES)
def test_the_same_story_takes_the_same_way(tmp_path: Path, tales: dict[str, Tale], name: str):
    trail, state = under_the_state_file(tmp_path, name)
    assert tales[name].trail == trail
    assert plain(tales[name].state) == plain(state)
    assert state.stage is Stage.DONE or WAYS[name] == "ruling edit auto_merge"
