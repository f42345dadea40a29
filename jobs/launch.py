"""Creates a job's pod and starts it.

Talks to the engine. The two containers start side by side: the supervisor waits for the sidecar's socket.
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jobs.engine import Engine
from jobs.engine.states import EngineInfo
from jobs.errors import ImageGoneError, ObjectAbsentError
from jobs.handover import mark_started, pack_inputs, sidecar_line
from jobs.objects import DockerObjects
from jobs.order import JobOrder
from jobs.pod import JOB_FOLDER, job_spec, object_labels, pod_volumes, sidecar_spec


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """What a pod is made with."""

    engine: Engine
    info: EngineInfo
    objects: DockerObjects
    inside: Path
    """Folder of the supervisor's program."""
    sidecar_image: str | None
    """None where the order has no proxy."""

    def start(self, order: JobOrder, document: dict[str, object]) -> None:
        """Create everything, hand the inputs over, start; what a failure leaves is the caller's to remove.

        Raises:
            ImageGoneError: The order's image was removed.
            JobsError: The engine refused, or went away.
        """
        containers = self.engine.containers
        job = self._create_job(order)
        if order.kept is not None:
            self.objects.check(order.kept)
        sidecar = None
        if self.sidecar_image is not None:
            sidecar = containers.create(sidecar_spec(order, self.sidecar_image))
        # Before either runs, and the job is there before the sidecar: one without a job may have cost.
        mark_started(order)
        # A start takes the engine longer than everything else here together.
        with ThreadPoolExecutor(1, "sidecar") as beside:
            started = None
            if sidecar is not None:
                started = beside.submit(containers.start_with_input, sidecar, sidecar_line(order))
            with pack_inputs(order, document, self.inside) as tar:
                containers.put(job, JOB_FOLDER, tar)
            containers.start(job)
            if started is not None:
                started.result()

    def _create_job(self, order: JobOrder) -> str:
        for name, part in pod_volumes(order).items():
            self.engine.volumes.create(name, object_labels(order.identity, order.role, part))
        spec = job_spec(order)
        # The engine refuses more processors than its host has.
        spec = dataclasses.replace(spec, cpus=min(spec.cpus or 1.0, float(self.info.cpus)))
        try:
            return self.engine.containers.create(spec)
        except ObjectAbsentError as error:
            raise ImageGoneError(f"The image {order.image} is no longer on the engine.") from error
