import asyncio
import threading

import pytest
from temporalio.testing import ActivityEnvironment

from engine.doings import Abandoned, Doing, Doings, Watch

PATIENCE_S = 10


def watch(is_ours: bool = True) -> Watch:  # noqa: FBT001, FBT002 - whose it is
    return Watch(lambda: is_ours)


def result_of(doing: Doing[str]) -> str:
    return asyncio.run(ActivityEnvironment().run(doing.beating))


def test_a_second_attempt_joins_the_thread_of_the_first() -> None:
    doings, word, begun = Doings(), threading.Event(), []

    def work(_: Watch) -> str:
        begun.append(threading.get_ident())
        assert word.wait(PATIENCE_S)
        return "found"

    first = doings.join("key", watch, work)
    second = doings.join("key", watch, work)
    assert first is second
    assert doings.find("key") is first
    word.set()
    assert result_of(second) == result_of(first) == "found"
    assert len(begun) == 1
    assert doings.find("key") is None


def test_what_is_over_is_done_anew() -> None:
    doings = Doings()
    assert result_of(doings.join("key", watch, lambda _: "one")) == "one"
    assert result_of(doings.join("key", watch, lambda _: "two")) == "two"


def test_a_wait_that_is_cancelled_leaves_the_thread_alone() -> None:
    doings, word = Doings(), threading.Event()

    def work(_: Watch) -> str:
        return "found" if word.wait(PATIENCE_S) else "late"

    doing = doings.join("key", watch, work)

    async def go() -> str:
        waiting = asyncio.create_task(ActivityEnvironment().run(doing.beating))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        word.set()
        return await ActivityEnvironment().run(doings.join("key", watch, work).beating)

    assert asyncio.run(go()) == "found"


def test_a_heartbeat_tells_that_the_thread_goes_on() -> None:
    word = threading.Event()
    doing = Doings().join("key", watch, lambda _: "found" if word.wait(PATIENCE_S) else "late")
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *_: word.set()
    assert asyncio.run(environment.run(doing.beating)) == "found"


def look_until_it_leaves(watched: Watch) -> None:
    while True:
        watched.look()


def test_a_thread_leaves_once_its_effect_is_ended() -> None:
    doing = Doings().join("key", watch, look_until_it_leaves)
    doing.watch.end()
    asyncio.run(doing.over(PATIENCE_S))
    assert isinstance(doing.future.exception(0), Abandoned)


def test_a_thread_leaves_once_its_effect_is_somebody_elses() -> None:
    doing = Doings().join("key", lambda: watch(is_ours=False), look_until_it_leaves)
    asyncio.run(doing.over(PATIENCE_S))
    assert isinstance(doing.future.exception(0), Abandoned)


def test_nobody_waits_for_ever_for_a_thread_to_leave() -> None:
    word = threading.Event()
    doing = Doings().join("key", watch, lambda _: word.wait(PATIENCE_S))
    asyncio.run(doing.over(0.01))
    assert not doing.future.done()
    word.set()
