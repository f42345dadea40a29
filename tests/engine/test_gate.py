"""A phase that a person decides in one sitting, and tasks that somebody asked to be held."""

import asyncio
import getpass
from datetime import timedelta

from temporalio.client import WorkflowHandle

from engine import messages as m
from engine.handing import start
from engine.workflow import TaskWorkflow
from instrument.schema.vocabulary import EffectKind, WaitedFor
from support.backlog import Factory
from support.carried import Fakes, hand_over, order, state_of, working, working_at
from support.skipping import skipping
from support.temporal import OwnServer, until

HOUR = timedelta(hours=1)


def ms(duration: timedelta) -> float:
    return duration / timedelta(milliseconds=1)


async def hold_in(fakes: Fakes, handle: WorkflowHandle, decision: m.Decision) -> asyncio.Event:
    """Ask for a hold while the coder works; it works until the event that is given back is set."""
    fakes.held[EffectKind.IMPLEMENT] = working_on = asyncio.Event()
    await until(lambda: has_reached(fakes, handle.id, EffectKind.IMPLEMENT))
    await handle.signal("hold", decision)
    return working_on


async def has_reached(fakes: Fakes, task_id: str, kind: EffectKind) -> bool:
    return (task_id, kind) in fakes.reached


def test_a_go_and_a_no_go_are_recorded_with_who_and_when():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tales = [fakes.tell(state_of(name)) for name in ("a-001", "b-001")]
            first, second = [
                await hand_over(environment.client, name, phase="one") for name in ("a-001", "b-001")
            ]
            await environment.sleep(HOUR)
            now = await environment.get_current_time()
            await first.signal("decide", m.Decision(who="ann", at_utc=now))
            await second.signal("decide", m.Decision(who="ann", at_utc=now, is_go=False, why="not yet"))
            assert (await first.result()).how == "done"
            ended = await second.result()
            assert (ended.how, ended.detail) == ("no_go", f"not yet (ann, {now:%Y-%m-%d %H:%M} UTC)")
            (waited,) = tales[0].waits
            assert (waited.what, waited.who, waited.decided_utc) == (WaitedFor.GATE, "ann", now)
            assert ms(HOUR) <= waited.duration_ms < ms(2 * HOUR)
            assert (tales[1].asked, tales[1].trail, tales[1].waits) == (0, [], [])

    asyncio.run(go())


def test_the_command_decides_a_phase_in_one_sitting(own_server: OwnServer):
    factory = Factory(own_server.home)
    address = own_server.ready()

    async def go() -> None:
        async with working_at(address) as (client, fakes):
            for name in ("a-001", "b-001"):
                fakes.tell(state_of(name))
                await start(client, order(name, phase="one"))
            await until(lambda: are_waiting(factory, 2))
            words = ("gate", "one", "--no-go", "b-001", "not yet")
            said = await asyncio.to_thread(factory.engine, *words)
            assert said == "a-001: go\nb-001: no go\n"
            first, second = [client.get_workflow_handle_for(TaskWorkflow.run, f"{n}-001") for n in "ab"]
            assert (await first.result()).how == "done"
            assert (await second.result()).detail.startswith(f"not yet ({getpass.getuser()}, ")
            said = await asyncio.to_thread(factory.engine, "gate", "one", code=2)
            assert said == "phase one: no task waits for your word\n"

    asyncio.run(go())


def test_the_commands_of_a_hold_record_whoever_types_them(own_server: OwnServer):
    factory = Factory(own_server.home)
    address = own_server.ready()

    async def go() -> None:
        async with working_at(address) as (client, fakes):
            tale = fakes.tell(state_of("a-001"))
            fakes.held[EffectKind.IMPLEMENT] = working_on = asyncio.Event()
            handle = await hand_over(client, "a-001")
            await until(lambda: has_reached(fakes, "a-001", EffectKind.IMPLEMENT))
            await asyncio.to_thread(factory.engine, "hold", "a-001", "Look at it first.")
            working_on.set()
            await until(lambda: is_held(factory))
            await asyncio.to_thread(factory.engine, "release", "a-001")
            assert (await handle.result()).how == "done"
            (waited,) = tale.waits
            assert (waited.who, waited.released_by) == (getpass.getuser(), getpass.getuser())
            assert waited.decided_utc is not None
            assert waited.released_utc is not None
            assert waited.decided_utc < waited.released_utc <= waited.ended_utc

    asyncio.run(go())


async def is_held(factory: Factory) -> bool:
    return [task["waits"] for task in await asyncio.to_thread(factory.status)] == ["hold"]


async def are_waiting(factory: Factory, count: int) -> bool:
    """What a person sees: the server lists a task a moment after it has shown what it waits for."""
    tasks = await asyncio.to_thread(factory.status)
    return [task["waits"] for task in tasks] == ["gate"] * count


def test_the_first_decision_on_a_task_counts():
    async def go() -> None:
        async with skipping() as (environment, fakes):
            fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001", phase="one")
            now = await environment.get_current_time()
            await handle.signal("decide", m.Decision(who="ann", at_utc=now, is_go=False, why="no"))
            await handle.signal("decide", m.Decision(who="bob", at_utc=now))
            async with working(environment.client, fakes):
                assert (await handle.result()).detail.startswith("no (ann")

    asyncio.run(go())


def test_a_hold_stops_between_two_effects_and_gives_the_turn_back():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tale = fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001")
            held = m.Decision(who="ann", at_utc=await environment.get_current_time())
            (await hold_in(fakes, handle, held)).set()
            await until(tale.has_left)
            assert tale.trail[-1][1] == "diff_returned"
            await environment.sleep(HOUR)
            assert tale.trail[-1][1] == "diff_returned"
            assert tale.asked == 1
            released = m.Decision(who="bob", at_utc=await environment.get_current_time())
            await handle.signal("release", released)
            assert (await handle.result()).how == "done"
            assert tale.asked == 2
            (waited,) = tale.waits
            assert (waited.what, waited.who, waited.decided_utc) == (WaitedFor.HOLD, "ann", held.at_utc)
            assert (waited.released_by, waited.released_utc) == ("bob", released.at_utc)
            assert waited.duration_ms >= ms(HOUR)

    asyncio.run(go())


def test_a_release_of_an_older_command_names_nobody():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tale = fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001")
            held = m.Decision(who="ann", at_utc=await environment.get_current_time())
            (await hold_in(fakes, handle, held)).set()
            await until(tale.has_left)
            await environment.sleep(HOUR)
            await handle.signal("release")
            assert (await handle.result()).how == "done"
            assert [(waited.who, waited.released_by) for waited in tale.waits] == [("ann", "")]

    asyncio.run(go())


def test_a_hold_that_is_released_before_the_step_ends_holds_nothing():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tale = fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001")
            held = m.Decision(who="ann", at_utc=await environment.get_current_time())
            working_on = await hold_in(fakes, handle, held)
            await handle.signal("release")
            working_on.set()
            assert (await handle.result()).how == "done"
            assert (tale.asked, tale.waits) == (1, [])

    asyncio.run(go())


def test_a_held_task_can_be_cancelled():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            tale = fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001")
            held = m.Decision(who="ann", at_utc=await environment.get_current_time())
            (await hold_in(fakes, handle, held)).set()
            await until(tale.has_left)
            await handle.signal("leave", "cancelled")
            assert (await handle.result()).how == "cancelled"
            assert tale.closed == ["cancelled"]

    asyncio.run(go())
