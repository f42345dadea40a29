"""What threads of this process do, by key: a second attempt joins the first.

A server that was away takes a living worker for dead and asks for the same again, which is going on all
the while. Limits: threads of this process; whoever waits for one is told by a future.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Protocol, TypeVar

from temporalio import activity

from engine import queues
from loop.machine.effects import Effect
from loop.session import Session

R = TypeVar("R")


class Slot(Protocol):
    """Whoever says when this host may run one more job."""

    def __call__(
        self, session: Session, effect: Effect, *, resumed: bool, look: Callable[[], None]
    ) -> AbstractContextManager[object]:
        """Hold a slot for the job; `look` is called while there is a wait, and may raise to end it."""
        ...


class Abandoned(BaseException):
    """The effect is somebody else's now, or nobody's: what it began is left as it is."""


class Watch:
    """What a thread looks at while it works: whether its effect is to be done still."""

    def __init__(self, is_ours: Callable[[], bool], slot: Slot | None = None) -> None:
        self._is_ours = is_ours
        self._slot = slot
        self._is_ended = threading.Event()

    def look(self) -> None:
        """Called every two seconds or so while the effect is being done.

        Raises:
            Abandoned: Nothing is left to do here.
        """
        if self._is_ended.is_set() or not self._is_ours():
            raise Abandoned

    def slot(self, session: Session, effect: Effect, *, resumed: bool) -> AbstractContextManager[object]:
        """A place among the jobs of the host, for the block; none is needed without a job."""
        if self._slot is None or not effect.kind.is_job:
            return nullcontext()
        return self._slot(session, effect, resumed=resumed, look=self.look)

    def end(self) -> None:
        """Let the thread leave at its next look."""
        self._is_ended.set()


class Doing(Generic[R]):
    """One thing that a thread does."""

    def __init__(self, key: str, watch: Watch) -> None:
        self.key = key
        self.watch = watch
        self.future: Future[R] = Future()

    async def over(self, within_s: float) -> None:
        """Wait for the thread to leave, whatever comes of it; no longer than this."""
        ended = asyncio.wrap_future(self.future)
        if (await asyncio.wait({ended}, timeout=within_s))[0]:
            ended.exception()

    async def beating(self) -> R:
        """Wait for the thread, and tell the server that it is alive."""
        # A cancelled wait leaves the future alone: a later attempt waits for the same thread.
        ended = asyncio.wrap_future(self.future)
        while True:
            done, _ = await asyncio.wait({ended}, timeout=queues.HEARTBEAT_EVERY_S)
            if done:
                return ended.result()
            activity.heartbeat()


class Doings:
    """All of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._going: dict[str, Doing[Any]] = {}

    def join(self, key: str, make_watch: Callable[[], Watch], work: Callable[[Watch], R]) -> Doing[R]:
        """What is done under this key, begun here where it is not under way."""
        with self._lock:
            found = self._going.get(key)
            if found is not None:
                return found
            doing: Doing[R] = Doing(key, make_watch())
            self._going[key] = doing
        # A thread that is no daemon would keep a worker that is told to end from ending.
        threading.Thread(target=self._run, args=(doing, work), name=key, daemon=True).start()
        return doing

    def find(self, key: str) -> Doing[Any] | None:
        """What is done under this key now, if it is."""
        with self._lock:
            return self._going.get(key)

    def _run(self, doing: Doing[R], work: Callable[[Watch], R]) -> None:
        try:
            found = work(doing.watch)
        except BaseException as error:  # noqa: BLE001 - whoever waits for it is told, whatever it is
            self._end(doing)
            doing.future.set_exception(error)
        else:
            self._end(doing)
            doing.future.set_result(found)

    def _end(self, doing: Doing[R]) -> None:
        with self._lock:
            del self._going[doing.key]
