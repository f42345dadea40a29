"""One task whose coder waits for a word of the test, carried by real workers: what a kill is tried on.

Limits: below a temporary folder; the container engine is the real one.
"""

import asyncio
import io
import subprocess
import sys
import tarfile
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import PauseActivityRequest, UnpauseActivityRequest
from temporalio.client import Client, WorkflowHandle

from engine import claims
from engine import messages as m
from engine.connect import connect
from engine.handing import start
from engine.server import find_server
from instrument.schema.events import JobEnded, ModelCallEnded
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind, Stage
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.pod import select_labels
from loop.ownership import driver_of
from support.backlog import STORY, Factory, Repo, clearing, make_repo
from support.stand import wait_for

T = TypeVar("T")
TASK_ID = "red-001"
WAIT = "touch /tmp/waits; until [ -e /tmp/go ]; do sleep 0.1; done\n"
CODER_MICROUSD, REVIEWER_MICROUSD = 4500, 6750
"""Of one scripted call: 1,000 in and 100 out, 2,000 in and 50 out, at 3 and 15 dollars a million."""
LANDS_S = 120
RUN = "from loop.cli import main; main(['run', *__import__('sys').argv[1:]])"


@dataclass
class Scene:
    """The task, and what a test does around it."""

    factory: Factory
    engine: Engine
    repo: Repo
    story: Path

    @property
    def folder(self) -> Path:
        return self.factory.home / "tasks" / TASK_ID

    @property
    def state(self) -> TaskState:
        found = self.factory.state(TASK_ID)
        assert found is not None
        return found

    @property
    def task(self) -> str:
        return str(self.repo.checkout / "tasks/001-note.md")

    @property
    def words(self) -> tuple[str, ...]:
        return ("--repo", str(self.repo.checkout), "--auto-merge")

    def submit(self) -> None:
        self.factory.engine("submit", self.task, *self.words, "--story", str(self.story))

    def hand_over(self, claimed_s: int) -> None:
        """The same, with a host taken for dead sooner than anybody would have it."""
        order = m.TaskOrder(
            task_id=TASK_ID,
            repo=self.repo.name,
            checkout=str(self.repo.checkout),
            task="tasks/001-note.md",
            auto_merge=True,
            story=str(self.story),
            claimed=timedelta(seconds=claimed_s),
        )
        self.ask(lambda client: start(client, order))

    def waits(self) -> str:
        """What `engine status` says that the task waits for."""
        return next((each["waits"] for each in self.factory.status()), "")

    def host(self) -> str:
        """Where it says that the task's job is."""
        return next((each["host"] for each in self.factory.status()), "")

    def begin(self, *words: str) -> "tuple[subprocess.Popen[bytes], ContainerState]":
        """A server, a worker, and the task in its coder's job."""
        self.factory.engine("up", "--no-worker")
        worker = self.factory.worker(*words)
        self.submit()
        return worker, self.waiting_job()

    def run(self, *words: str) -> "subprocess.Popen[str]":
        """`factory run` of the same task."""
        return subprocess.Popen(
            [sys.executable, "-c", RUN, self.task, *self.words, *words],
            cwd=self.repo.checkout,
            env=self.factory.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pod(self) -> dict[str, ContainerState]:
        """The containers of this run that are there, by key and part."""
        found = self.engine.containers.find(select_labels(self.state.run_id)) if self.has_begun() else ()
        return {f"{each.labels['factory.key']}/{each.labels['factory.part']}": each for each in found}

    def has_begun(self) -> bool:
        return self.factory.state(TASK_ID) is not None

    def next_job(self, known: Collection[str]) -> str:
        """The key of a job that is on the engine and not among these, or the last stage; else empty.

        A coder among these is given its word.
        """
        if not self.has_begun():
            return ""
        state, pod = self.state, self.pod()
        if state.attempt is None or (job := pod.get(f"{state.attempt.key}/job")) is None:
            return state.stage if state.stage.is_terminal else ""
        if state.attempt.key not in known:
            return state.attempt.key if job.has_started else ""
        if job.is_running and self._waits(job):
            self.let_go(job)
        return ""

    def waiting_job(self) -> ContainerState:
        """The coder's container, once it has made its call and waits."""

        def look() -> ContainerState | None:
            if not self.has_begun() or (attempt := self.state.attempt) is None:
                return None
            job = self.pod().get(f"{attempt.key}/job") if attempt.kind is EffectKind.IMPLEMENT else None
            return job if job is not None and job.is_running and self._waits(job) else None

        return wait_for(look, "the coder", 120)

    def _waits(self, job: ContainerState) -> bool:
        archive = self.engine.containers.get(job.id, "/tmp/waits", max_bytes=2**16)
        if archive is not None:
            archive.close()
        return archive is not None

    def is_running(self, job: ContainerState) -> bool:
        """Whether this very container runs, and was never started anew."""
        now = self.engine.containers.inspect(job.id)
        return now is not None and now.is_running and now.started_utc == job.started_utc

    def let_go(self, job: ContainerState) -> None:
        """Give the coder the word."""
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("go"))
        tar.seek(0)
        self.engine.containers.put(job.id, "/tmp", tar)

    def lands(self, job: ContainerState) -> None:
        """Let the coder go on and see the task merged, as if nothing had happened to it."""
        self.let_go(job)
        self.merges()

    def merges(self) -> None:
        """See the task merged, as if nothing had happened to it."""
        wait_for(lambda: self.state.stage is Stage.DONE or None, "the merge", LANDS_S)
        self.was_undisturbed()

    def was_undisturbed(self) -> None:
        """The state and the bill of a run to which nothing happened."""
        state = self.state
        assert state.stage is Stage.DONE
        assert (state.counters.coder_rounds, state.counters.review_rounds) == (1, 1)
        assert state.counters.interruptions == 0
        assert (state.spend.microusd, state.spend.lower_bound) == (CODER_MICROUSD + REVIEWER_MICROUSD, False)
        events = self.factory.events(TASK_ID)
        calls = [(each.key, each.call) for each in events if isinstance(each, ModelCallEnded)]
        assert len(calls) == len(set(calls)) == 2
        jobs = [each.key for each in events if isinstance(each, JobEnded)]
        assert len(jobs) == len(set(jobs))
        assert self.repo.notes() == ["notes/000.txt", "notes/001.txt"]

    def is_free(self) -> bool:
        """Whether nothing says any more that the engine has the task."""
        is_claimed = TASK_ID in claims.claimed(self.factory.home, self.repo.name)
        return driver_of(self.folder) == "" and not is_claimed

    def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        """Ask the server."""
        server = find_server(self.factory.home)
        assert server is not None

        async def go() -> T:
            return await question(await connect(server.address))

        return asyncio.run(go())

    def with_handle(self, what: Callable[[WorkflowHandle[Any, Any]], Awaitable[T]]) -> T:
        """Do something to the task's workflow."""
        return self.ask(lambda client: what(client.get_workflow_handle(TASK_ID)))

    def pending(self) -> PendingActivityInfo | None:
        """The coder's activity, as the server sees it; none: it is over."""
        found = self.with_handle(lambda handle: handle.describe())
        pending = found.raw_description.pending_activities
        return next((each for each in pending if each.activity_type.name == EffectKind.IMPLEMENT), None)

    def is_paused(self) -> bool:
        found = self.pending()
        return found is not None and found.state == PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED

    def pause(self, activity_id: str) -> None:
        """As a person does on the server's page."""
        execution = WorkflowExecution(workflow_id=TASK_ID)

        async def go(client: Client) -> None:
            asked = PauseActivityRequest(namespace=client.namespace, execution=execution, id=activity_id)
            await client.workflow_service.pause_activity(asked)

        self.ask(go)

    def unpause(self, activity_id: str) -> None:
        """The same, back."""
        execution = WorkflowExecution(workflow_id=TASK_ID)

        async def go(client: Client) -> None:
            asked = UnpauseActivityRequest(namespace=client.namespace, execution=execution, id=activity_id)
            await client.workflow_service.unpause_activity(asked)

        self.ask(go)

    def attempt(self, least: int) -> PendingActivityInfo:
        """The coder's activity once a worker does it for the `least`-th time."""

        def look() -> PendingActivityInfo | None:
            found = self.pending()
            if found is None or found.state != PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
                return None
            return found if found.attempt >= least else None

        return wait_for(look, f"attempt {least}", 60)


@contextmanager
def opened(engine: Engine, folder: Path, **options: Any) -> Iterator[Scene]:
    """A scene of its own; nothing of it is left afterwards."""
    factory = Factory(folder / "home")
    repo = make_repo(folder, "red", 1, has_model=True, **options)
    text = (repo.checkout / "factory.toml").read_text()
    assert "sleep 0\n" in text
    repo.commit("factory.toml", text.replace("sleep 0\n", WAIT))
    story = folder / "story.yaml"
    story.write_text(STORY)
    with clearing(factory, engine):
        yield Scene(factory, engine, repo, story)
