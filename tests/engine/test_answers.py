"""What a person tells a task: counted once, refused with a sentence, kept while nothing is up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from temporalio.client import Client, WorkflowHandle

from engine import messages as m
from engine.connect import connect
from engine.sending import Sent, keep
from engine.workflow import TaskWorkflow
from instrument.schema.vocabulary import EffectKind
from support.backlog import Factory
from support.carried import Fakes, Tale, hand_over, state_of, working, working_at
from support.lives import coder
from support.skipping import skipping
from support.temporal import OwnServer, until

RULING = m.Answer(id="1", rulings=("again",))


@asynccontextmanager
async def stopped() -> AsyncIterator[tuple[WorkflowHandle, Tale]]:
    """A task that waits for a ruling."""
    async with skipping() as (environment, fakes), working(environment.client, fakes):
        yield await stop(environment.client, fakes)


async def stop(client: Client, fakes: Fakes) -> tuple[WorkflowHandle, Tale]:
    tale = fakes.tell(state_of("a-001"), implement=[coder(calls=())])
    handle = await hand_over(client, "a-001")
    await until(tale.stands)
    return handle, tale


def test_the_same_answer_twice_counts_once():
    async def go() -> None:
        async with stopped() as (handle, tale):
            await handle.signal("answer", RULING)
            await handle.signal("answer", RULING)
            assert (await handle.result()).how == "done"
            assert tale.answers == ["1"]
            assert len(tale.state.rulings) == 1

    asyncio.run(go())


def test_the_same_event_twice_counts_once():
    async def go() -> None:
        async with stopped() as (handle, tale):

            async def stood(times: int) -> bool:
                return len(tale.closed) == times

            for name, id_, times in (("main", "1", 2), ("main", "1", 2), ("main", "2", 3), ("other", "2", 4)):
                await handle.signal("event", args=[name, id_])
                # A query is answered after every signal that came before it.
                await handle.query(TaskWorkflow.line)
                await until(lambda: stood(times))  # noqa: B023 - waited for at once
            await handle.signal("answer", RULING)
            await handle.result()
            assert len(tale.closed) == 5

    asyncio.run(go())


def test_a_ruling_for_a_task_that_does_not_wait_is_refused_with_a_sentence():
    async def go() -> None:
        async with skipping() as (environment, fakes), working(environment.client, fakes):
            fakes.held[EffectKind.IMPLEMENT] = working_on = asyncio.Event()
            tale = fakes.tell(state_of("a-001"))
            handle = await hand_over(environment.client, "a-001")
            await until(lambda: has_begun(fakes))
            await handle.signal("answer", RULING)
            refusal = await handle.query(TaskWorkflow.refusal, "1")
            assert refusal == "a-001 is not stopped, so nothing is asked of you"
            working_on.set()
            await handle.result()
            assert tale.state.rulings == ()

    asyncio.run(go())


async def has_begun(fakes: Fakes) -> bool:
    return ("a-001", EffectKind.IMPLEMENT) in fakes.reached


def rule(factory: Factory, code: int = 0) -> str:
    return factory.engine("ruling", "a-001", "again", code=code)


def test_what_cannot_be_delivered_is_said_and_kept_and_what_is_for_another_server_waits(
    own_server: OwnServer,
):
    factory = Factory(own_server.home)
    own_server.ready()
    kept = [
        keep(factory.home, Sent(task_id="a-001", signal="answer", answer=RULING, server=server))
        for server in ("", "temporal.example:7233/default")
    ]
    torn = kept[0].with_name("1.json")
    torn.write_bytes(b'{"task_id"')
    said = factory.engine("up", "--no-worker")
    assert f"{torn.with_suffix('.undelivered')}): it cannot be read" in said
    assert f"{kept[0].with_suffix('.undelivered')}): a-001 is not under way" in said
    assert [path.exists() for path in (torn, *kept)] == [False, False, True]


def test_the_command_refuses_with_exit_code_2(own_server: OwnServer):
    factory = Factory(own_server.home)
    address = own_server.ready()

    async def go() -> None:
        async with working_at(address) as (client, fakes):
            fakes.held[EffectKind.IMPLEMENT] = asyncio.Event()
            fakes.tell(state_of("a-001"))
            handle = await hand_over(client, "a-001")
            await until(lambda: has_begun(fakes))
            said = await asyncio.to_thread(rule, factory, 2)
            assert said == "a-001 is not stopped, so nothing is asked of you\n"
            await handle.terminate()

    asyncio.run(go())


@pytest.mark.parametrize(("lacking", "says"), [("worker", "a worker is up"), ("server", "is kept")])
def test_a_ruling_that_is_sent_while_less_is_up_is_taken_once_later(
    own_server: OwnServer, lacking: str, says: str
):
    factory = Factory(own_server.home)
    address = own_server.ready()

    async def before() -> Fakes:
        async with working_at(address) as (client, fakes):
            await stop(client, fakes)
        return fakes

    async def after(tale: Tale) -> None:
        client = await connect(address)
        fakes = Fakes(client)
        fakes.tales["a-001"] = tale
        async with working(client, fakes):
            await client.get_workflow_handle("a-001").result()

    tale = asyncio.run(before()).tales["a-001"]
    if lacking == "server":
        own_server.kill()
        (factory.home / "tasks/a-001").mkdir(parents=True, exist_ok=True)
        assert "no task of this home is called b-001" in factory.engine("ruling", "b-001", "again", code=2)
    assert says in rule(factory)
    factory.engine("up", "--no-worker")
    factory.engine("up", "--no-worker")
    asyncio.run(after(tale))
    assert [ruling.text for ruling in tale.state.rulings] == ["again"]
    assert len(tale.answers) == 1
