"""Runs jobs as pods on a Docker Engine: created, adopted, waited for, collected, removed.

Blocking, with explicit deadlines; everything it creates carries the run's and the key's labels, and
`release` and `reap` find it by those.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import jobs.inside
from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Role
from jobs.collect import (
    LEDGER_CAP_BYTES,
    collect,
    end_of_container,
    may_have_cost,
    most_out_bytes,
)
from jobs.engine import Engine
from jobs.engine.states import ContainerState, EngineInfo
from jobs.errors import (
    EngineRefusedError,
    EngineUnavailableError,
    JobsError,
)
from jobs.handover import (
    agent_command,
    keep_inputs,
    keep_log,
    order_document,
)
from jobs.images import ImageShelf
from jobs.launch import Launch
from jobs.load import Load, look_at_load
from jobs.objects import DockerObjects
from jobs.order import JobOrder, SetupOrder
from jobs.pod import (
    JOB_FOLDER,
    LEDGER_FOLDER,
    require_runtime,
    select_labels,
)
from jobs.progress import Progress
from jobs.setup import set_up_image
from jobs.waiting import SETTLE_S, Pod, end_container, settle, wait_for_end

LOG_LINES = 100


class DockerJobs:
    """`jobs.ports.Jobs` on the Docker Engine that this machine's configuration names.

    Args:
        connect: Reaches the engine at the first call that needs it.
        inside: Folder of the supervisor's program.
        locks: Folder of the locks under which images are built.
        say: Gets one sentence before each thing that takes minutes.
        on_progress: Called about every two seconds while a job runs.
    """

    def __init__(
        self,
        *,
        connect: Callable[[], Engine] = Engine.connect,
        inside: Path | None = None,
        locks: Path | None = None,
        say: Callable[[str], None] = lambda _line: None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._connect = connect
        self._inside = inside or Path(jobs.inside.__path__[0])
        self._locks = locks
        self._say = say
        self._on_progress = on_progress
        self._known: Engine | None = None
        self._told: EngineInfo | None = None
        self._sidecar: str | None = None

    @property
    def _info(self) -> EngineInfo:
        """What the engine said of itself when it was reached; its clock has gone on since."""
        if self._told is None:
            self._told = self._engine.info()
        return self._told

    @property
    def _engine(self) -> Engine:
        if self._known is None:
            self._known = self._connect()
        return self._known

    def close(self) -> None:
        """Give the connections back; may be called twice."""
        if self._known is not None:
            self._known.close()
            self._known = self._told = None

    def set_up(self, order: SetupOrder) -> str:
        """See `jobs.ports.Jobs.set_up`."""
        # Here already: the images take minutes, and the first job comes after them.
        require_runtime(order.limits.container_runtime, self._info.runtimes)
        return set_up_image(order, self._engine, self._shelf(), self, self._say)

    def combination(self) -> str:
        """Name this engine, agent, job and proxy image together: another name calls for a canary.

        Raises:
            ImageUnfitError: A build failed.
            EngineUnavailableError: No engine answers.
        """
        shelf = self._shelf()
        engine = self._info
        parts = (engine.version, engine.arch, shelf.agent()[1], shelf.job(), shelf.sidecar())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def objects(self) -> DockerObjects:
        """See `jobs.ports.Jobs.objects`."""
        return DockerObjects(self._engine, lambda: self._shelf().base(None)[1])

    def load(self, home: str, host: str) -> Load:
        """What runs now of a home and host, and beside it; see `look_at_load`.

        Raises:
            JobsError: The engine does not answer, or not well.
        """
        return look_at_load(self._engine, self._info.memory_bytes, home=home, host=host)

    def _shelf(self) -> ImageShelf:
        return ImageShelf(self._engine, locks=self._locks, say=self._say)

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        """See `jobs.ports.Jobs.run`."""
        pod = self._find(order)
        if pod.job is None or not pod.job.has_started or pod.job.is_going:
            if resumed:
                return self._lost(order, pod)
            self.release(order.identity.run_id, order.identity.key)
            self._launch(order)
        wait_for_end(self._engine, order, self._find(order), self._on_progress)
        return self._collect(order)

    def cancel(self, order: JobOrder) -> JobEnd:
        """See `jobs.ports.Jobs.cancel`."""
        pod = self._find(order)
        if pod.job is not None and pod.job.is_running:
            end_container(self._engine, pod.job.id, SETTLE_S)
        return self._collect(order)

    def end(self, run_id: str, key: str) -> None:
        """Kill a job's container and leave it there, for whoever waits for its end."""
        for state in self._engine.containers.find(select_labels(run_id, key)):
            if not _part(state):
                self._engine.containers.kill(state.id)

    def release(self, run_id: str, key: str) -> None:
        """See `jobs.ports.Jobs.release`."""
        labels = select_labels(run_id, key)
        # The job first: a sidecar that goes before it would look like one that died.
        for state in sorted(self._engine.containers.find(labels), key=_part):
            self._engine.containers.remove(state.id)
        for name, _ in self._engine.volumes.find(labels):
            self._engine.volumes.remove(name)

    def reap(self, run_id: str, *, keep: str | None) -> int:
        """See `jobs.ports.Jobs.reap`."""
        labels = select_labels(run_id)
        gone = 0
        for state in sorted(self._engine.containers.find(labels), key=_part):
            if state.labels.get("factory.key") != keep:
                self._engine.containers.remove(state.id)
                gone += 1
        for name, found in self._engine.volumes.find(labels):
            if found.get("factory.key") != keep:
                self._engine.volumes.remove(name)
                gone += 1
        return gone

    def _find(self, order: JobOrder) -> Pod:
        identity = order.identity
        found = self._engine.containers.find(select_labels(identity.run_id, identity.key))
        parts = {state.labels.get("factory.part"): state for state in found}
        return Pod(parts.get("job"), parts.get("proxy"))

    def _lost(self, order: JobOrder, pod: Pod) -> JobEnd:
        """The machine lost the job, or never began it: what its sidecar knows is still kept."""
        end = self._collect(order)
        if pod.job is not None and not pod.job.is_going:
            self._engine.containers.remove(pod.job.id)
        return end

    def _launch(self, order: JobOrder) -> None:
        try:
            self._create(order)
        except EngineUnavailableError:
            raise
        except (JobsError, OSError):
            # A half-made pod is of no use to anyone; what stays all the same, `reap` finds.
            with contextlib.suppress(JobsError):
                self.release(order.identity.run_id, order.identity.key)
            raise

    def _create(self, order: JobOrder) -> None:
        document = order_document(order, agent_command(order))
        keep_inputs(order, document)
        require_runtime(order.limits.container_runtime, self._info.runtimes)
        # First what can take minutes or fail: nothing is created before it is there.
        image = self._sidecar_image() if order.proxy is not None else None
        Launch(self._engine, self._info, self.objects, self._inside, image).start(order, document)

    def _sidecar_image(self) -> str:
        """Its id, worked out once: another loop may have removed it since, but not changed it."""
        if self._sidecar is None or self._engine.images.inspect(self._sidecar) is None:
            self._sidecar = self._shelf().sidecar()
        return self._sidecar

    def _collect(self, order: JobOrder) -> JobEnd:
        """Take everything out; may be repeated for as long as nothing was released."""
        pod = self._find(order)
        if pod.job is not None and pod.job.is_running:
            raise EngineRefusedError(f"The container {pod.job.name} cannot be ended; see `docker ps`.")
        going = pod.sidecar if pod.sidecar is not None and pod.sidecar.is_running else None
        if going is not None:
            # It ends while the job's files are read.
            self._engine.containers.kill(going.id, "SIGTERM")
        get = self._engine.containers.get
        with contextlib.ExitStack() as stack:
            job = _with_files(pod.job)
            out = get(job.id, f"{JOB_FOLDER}/out", max_bytes=most_out_bytes(order.limits)) if job else None
            stack.enter_context(out or contextlib.nullcontext())
            if going is not None:
                settle(self._engine, going.id)
                pod = self._find(order)
            container = end_of_container(
                pod.job, pod.sidecar, has_proxy=order.proxy is not None, deadline_s=order.limits.deadline_s
            )
            sidecar = _with_files(pod.sidecar)
            ledger = get(sidecar.id, LEDGER_FOLDER, max_bytes=LEDGER_CAP_BYTES) if sidecar else None
            stack.enter_context(ledger or contextlib.nullcontext())
            has_cost = may_have_cost(order, pod.job, pod.sidecar)
            end = collect(order, container, out, ledger, has_cost=has_cost)
        self._keep_logs(order, end, Pod(job, sidecar))
        return end

    def _keep_logs(self, order: JobOrder, end: JobEnd, pod: Pod) -> None:
        """Where our own programs failed, what they said is evidence for a person; nothing reads it."""
        if end.report is None and pod.job is not None:
            keep_log(order, "supervisor.log", self._engine.containers.tail(pod.job.id, LOG_LINES))
        if end.container.sidecar_lost and pod.sidecar is not None:
            keep_log(order, "proxy.log", self._engine.containers.tail(pod.sidecar.id, LOG_LINES))

    def keep_as_image(self, order: JobOrder, tag: str, changes: tuple[str, ...]) -> str:
        """Commit the ended container of a set-up job, return the image's id.

        Raises:
            EngineRefusedError: The container is gone.
        """
        pod = self._find(order)
        if pod.job is None or order.role is not Role.SETUP:
            raise EngineRefusedError(f"There is no set-up container of {order.identity.key} to keep.")
        return self._engine.containers.commit(pod.job.id, tag, changes)


def _part(state: ContainerState) -> bool:
    return state.labels.get("factory.part") != "job"


def _with_files(state: ContainerState | None) -> ContainerState | None:
    """The same, or none where nothing can be read of it any more."""
    return None if state is None or state.is_going else state
