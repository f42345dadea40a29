"""A version of our code gets tasks when it is current; before that, only the canary that is pinned to it."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHandle

from engine import versions
from engine.connect import connect
from engine.server import find_server
from engine.versions import BUILD_VARIABLE, build_id, digest_of
from instrument.schema.vocabulary import EffectKind, Purpose
from jobs.engine import Engine
from loop.errors import UsageError
from support.backlog import Factory, clearing
from support.carried import Fakes, hand_over, state_of, working
from support.temporal import OwnServer, until


def test_a_version_is_what_the_files_hold(tmp_path: Path):
    (tmp_path / "engine/__pycache__").mkdir(parents=True)
    (tmp_path / "engine/x.py").write_text("a = 1\n")
    first = digest_of(tmp_path)
    (tmp_path / "engine/__pycache__/x.pyc").write_bytes(b"compiled")
    (tmp_path / "notes.md").write_text("of no package")
    assert digest_of(tmp_path) == first
    (tmp_path / "engine/x.py").write_text("a = 2\n")
    second = digest_of(tmp_path)
    (tmp_path / "engine/x.py").rename(tmp_path / "engine/y.py")
    assert len({first, second, digest_of(tmp_path)}) == 3


def test_a_version_may_be_named():
    assert build_id({BUILD_VARIABLE: "2026-12-01"}) == "2026-12-01"
    assert build_id({}) == build_id({}) != ""
    with pytest.raises(UsageError):
        build_id({BUILD_VARIABLE: "a/b"})


async def hand_over_canary(client: Client, task_id: str) -> WorkflowHandle:
    return await versions.when_known(
        "new", lambda: hand_over(client, task_id, build="new", purpose=Purpose.CANARY)
    )


async def builds(handle: WorkflowHandle) -> list[str]:
    """The versions that did its workflow tasks, in the order in which they came."""
    ended = [
        event.workflow_task_completed_event_attributes.deployment_version.build_id
        for event in (await handle.fetch_history()).events
        if event.HasField("workflow_task_completed_event_attributes")
    ]
    return list(dict.fromkeys(ended))


def test_the_first_version_is_current_and_a_second_gets_its_canary_alone(own_server: OwnServer):
    address = own_server.ready()

    async def go() -> None:
        client = await connect(address)
        old, new = Fakes(client), Fakes(client)
        new.tales = old.tales
        for name in ("a-001", "b-001", "c-001"):
            old.tell(state_of(name))
        assert await versions.current_version(client) == ""
        async with working(client, old, build="old"), working(client, new, build="new"):
            assert await versions.enter(client, "old") == "old"
            assert await versions.enter(client, "new") == "old"
            task = await hand_over(client, "a-001")
            canary = await hand_over_canary(client, "b-001")
            await asyncio.gather(task.result(), canary.result())
            assert await builds(task) == ["old"]
            assert await builds(canary) == ["new"]
            assert {name for name, _ in old.reached} == {"a-001"}
            assert {name for name, _ in new.reached} == {"b-001"}
            await versions.make_current(client, "new")
            later = await hand_over(client, "c-001")
            await later.result()
            assert await builds(later) == ["new"]
        assert await versions.current_version(client) == "new"

    asyncio.run(go())


def test_a_canary_lands_where_only_workers_of_its_version_are_left(own_server: OwnServer):
    """As after a redeploy: the old worker is gone, and its version is still current."""
    address = own_server.ready()

    async def go() -> None:
        client = await connect(address)
        fakes = Fakes(client)
        fakes.tell(state_of("a-001"))
        async with working(client, fakes, build="old"):
            await versions.enter(client, "old")
        async with working(client, fakes, build="new"):
            canary = await hand_over_canary(client, "a-001")
            assert (await asyncio.wait_for(canary.result(), 30)).how == "done"

    asyncio.run(go())


def test_a_task_in_the_middle_of_a_job_goes_over_to_the_version_that_becomes_current(own_server: OwnServer):
    address = own_server.ready()

    async def go() -> None:
        client = await connect(address)
        old, new = Fakes(client), Fakes(client)
        new.tales = old.tales
        tale = old.tell(state_of("a-001"))
        old.held[EffectKind.IMPLEMENT] = asyncio.Event()
        async with working(client, old, build="old"):
            await versions.enter(client, "old")
            handle = await hand_over(client, "a-001")
            await until(lambda: is_working(old))
            async with working(client, new, build="new"):
                await versions.make_current(client, "new")
                old.held[EffectKind.IMPLEMENT].set()
                assert (await handle.result()).how == "done"
                assert await builds(handle) == ["old", "new"]
        assert ("a-001", EffectKind.IMPLEMENT) not in new.reached
        assert ("a-001", EffectKind.REVIEW) in new.reached
        assert tale.state.counters.interruptions == 0

    asyncio.run(go())


async def is_working(fakes: Fakes) -> bool:
    return ("a-001", EffectKind.IMPLEMENT) in fakes.reached


@pytest.mark.docker
@pytest.mark.slow
def test_up_makes_a_new_version_current_only_after_its_canary_has_landed(
    engine: Engine,
    job_image: str,  # noqa: ARG001 - built before it is needed
    tmp_path: Path,
):
    factory = Factory(tmp_path / "home")
    with clearing(factory, engine):
        factory.extra[BUILD_VARIABLE] = "old"
        factory.engine("up")
        # A version that reaches no container engine lands nothing.
        factory.extra |= {BUILD_VARIABLE: "broken", "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
        said = factory.engine("up", code=3)
        assert "canary of version broken did not land (runner_unavailable)" in said
        kept = of_canaries(factory.home)
        assert {path.parent.name for path in kept if str(path) in said} == {"canary", "tasks"}
        assert current(factory) == "old"
        del factory.extra["DOCKER_HOST"]
        factory.extra[BUILD_VARIABLE] = "new"
        said = factory.engine("up")
        assert "version: new is current, old is not any more\n" in said
        assert current(factory) == "new"
        assert of_canaries(factory.home) <= kept, "what landed leaves nothing"
        assert factory.status() == []


def of_canaries(home: Path) -> set[Path]:
    """What bears a canary's name."""
    return set(home.glob("*/canary-*"))


def current(factory: Factory) -> str:
    async def go() -> str:
        server = find_server(factory.home)
        assert server is not None
        return await versions.current_version(await connect(server.address))

    return asyncio.run(go())
