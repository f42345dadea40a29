"""Waits of days, in a server that skips time; nothing polls while a task waits."""

import asyncio
from datetime import datetime, timedelta

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from engine import messages as m
from instrument.schema.vocabulary import StopReason, WaitedFor
from support.carried import Fakes, Tale, hand_over, state_of, working
from support.ends import failed_call
from support.lives import coder
from support.skipping import skipping
from support.temporal import until

RULING = m.Answer(id="1", rulings=("again",))


COSTS = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EventType.EVENT_TYPE_TIMER_STARTED,
)


async def events(handle: WorkflowHandle) -> list[EventType]:
    return [event.event_type for event in (await handle.fetch_history()).events]


async def stopped(
    environment: WorkflowEnvironment, fakes: Fakes, task_id: str
) -> tuple[WorkflowHandle, Tale]:
    """A task whose coder made no call, and which waits for a ruling."""
    tale = fakes.tell(state_of(task_id), implement=[coder(calls=())])
    handle = await hand_over(environment.client, task_id)
    await until(tale.stands)
    await until(lambda: is_still(handle))
    return handle, tale


async def is_still(handle: WorkflowHandle) -> bool:
    """Whether the last that happened is a workflow task that ended, and asked for nothing."""
    return (await events(handle))[-2:-1] != [EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED] and not (
        await handle.describe()
    ).raw_description.pending_activities


def test_a_stop_that_is_answered_on_day_29_goes_on():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            handle, tale = await stopped(environment, fakes, "t-001")
            await environment.sleep(timedelta(days=29))
            await handle.signal("answer", RULING)
            assert (await handle.result()).how == "done"
            assert [ruling.text for ruling in tale.state.rulings] == ["again"]

    asyncio.run(go())


def test_a_stop_that_nobody_answers_waits_for_30_days_and_does_nothing():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            handle, tale = await stopped(environment, fakes, "t-001")
            before = await events(handle)
            await environment.sleep(timedelta(days=30))
            assert await events(handle) == before
            assert EventType.EVENT_TYPE_TIMER_STARTED not in before
            assert tale.state.stop is not None
            assert tale.state.stop.reason is StopReason.AGENT_FAILED

    asyncio.run(go())


def test_a_task_behind_a_gate_waits_for_30_days_at_no_cost():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tale = fakes.tell(state_of("t-001"))
            handle = await hand_over(environment.client, "t-001", phase="one")
            await until(lambda: is_shown(handle))
            await environment.sleep(timedelta(days=30))
            started = [each for each in await events(handle) if each in COSTS]
            assert started == [EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED]
            await handle.signal("decide", m.Decision(who="ann", at_utc=await environment.get_current_time()))
            assert (await handle.result()).how == "done"
            (waited,) = tale.waits
            assert (waited.what, waited.who) == (WaitedFor.GATE, "ann")
            assert waited.duration_ms >= timedelta(days=30) / timedelta(milliseconds=1)

    asyncio.run(go())


async def is_shown(handle: WorkflowHandle) -> bool:
    return EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES in await events(handle)


def test_the_providers_limit_is_waited_for_by_one_timer():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            began = await environment.get_current_time()
            limited = failed_call(429).model_copy(
                update={"started_utc": began, "duration_ms": 0, "retry_after_s": 7 * 3600}
            )
            tale = fakes.tell(state_of("t-001"), implement=[coder(calls=(limited,))])
            handle = await hand_over(environment.client, "t-001")
            await until(tale.stands)
            assert tale.state.stop is not None
            assert tale.state.stop.retry_at_utc == began + timedelta(hours=7)
            fakes.now = lambda: began + timedelta(hours=7)
            assert (await handle.result()).how == "done"
            ended = (await handle.describe()).close_time
            assert isinstance(ended, datetime)
            assert ended - began >= timedelta(hours=7)
            timers = [each for each in await events(handle) if each == EventType.EVENT_TYPE_TIMER_STARTED]
            assert len(timers) == 1

    asyncio.run(go())
