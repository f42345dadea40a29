"""The set-up image: a repo's job image after its cached set-up commands.

Runs one job without proxy or key and keeps its container as a local image.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from filelock import Timeout

from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Ended, Role
from jobs.engine import Engine
from jobs.errors import ImageUnfitError
from jobs.eviction import image_cap_bytes
from jobs.gc import make_room, mark_used
from jobs.images import ImageShelf
from jobs.order import Command, JobOrder, SetupOrder, egress_only
from jobs.pod import OURS, object_labels, select_labels
from jobs.recipe import KIND_LABEL

TOUCHED = "set-up changed tracked file"
"""How the supervisor's sentence begins where a command changed the commit's own files."""


class SetupRunner(Protocol):
    """Who runs the set-up job; in order: `release`, `run`, `keep_as_image`, `release`."""

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        """Do the job and collect it."""
        ...

    def keep_as_image(self, order: JobOrder, tag: str, changes: tuple[str, ...]) -> str:
        """Commit its ended container, return the image's id."""
        ...

    def release(self, run_id: str, key: str) -> None:
        """Remove what is left of it."""
        ...


def setup_tag(image: str, commands: Sequence[Command], inputs_digest: str) -> str:
    """`factory-loop/setup:<12 hex>`: another image, command or input gives another tag."""
    lines = [[c.name, c.run, sorted(c.env.items())] for c in commands]
    text = json.dumps([image, lines, inputs_digest])
    return f"factory-loop/setup:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def commit_changes(order: SetupOrder) -> tuple[str, ...]:
    """Dockerfile lines for the commit, which else keeps the container's labels and command.

    A label cannot be taken away in a commit, only emptied: those of the one run say nothing then.
    """
    ours = select_labels(order.identity.run_id)
    run_labels = [name for name in object_labels(order.identity, Role.SETUP, "job") if name != OURS]
    emptied = [f'LABEL {name}=""' for name in sorted({*run_labels, *ours} - {OURS})]
    return (*emptied, f"LABEL {KIND_LABEL}=setup", 'ENTRYPOINT ["/bin/sh"]', "CMD []")


def set_up_image(
    order: SetupOrder, engine: Engine, shelf: ImageShelf, runner: SetupRunner, say: Callable[[str], None]
) -> str:
    """Find or make the image that the jobs of a base start from, return its id.

    One that is made may push others out, the least recently used first. `say` gets one sentence before
    the set-up and one after it.

    Raises:
        ImageUnfitError: A build or a command failed; the evidence is its log or its output.
        JobsError: The cap on images is no number.
    """
    image = shelf.job(order.base_image, order.dockerfile, has_docker=order.limits.has_docker)
    if order.cached:
        image = _find_or_make(order, image, engine, shelf, runner, say)
    mark_used(engine, image, datetime.now(UTC))
    return image


def _find_or_make(
    order: SetupOrder,
    image: str,
    engine: Engine,
    shelf: ImageShelf,
    runner: SetupRunner,
    say: Callable[[str], None],
) -> str:
    tag = setup_tag(image, order.cached, order.inputs_digest)
    found = engine.images.inspect(tag)
    if found is not None:
        return found.id
    cap_bytes = image_cap_bytes(os.environ)
    with shelf.lock(tag.replace("/", "-").replace(":", "-")):
        found = engine.images.inspect(tag)
        if found is not None:
            return found.id
        say(f"Setting up image {tag} (once).")
        began = time.monotonic()
        # With an allowlist the only way out is the tunnel, which this machine's own proxy would overrule.
        network = shelf.network_env(has_proxies=order.egress is None)
        made = _make(order, image, tag, network, runner)
        say(f"Set up {tag} in {time.monotonic() - began:.0f} s.")
    # Whoever builds at this moment stands on images that may look unused: the next set-up makes room.
    with suppress(Timeout), shelf.lock("build").acquire(timeout=0):
        make_room(engine, cap_bytes=cap_bytes, now=datetime.now(UTC))
    return made


def _make(order: SetupOrder, image: str, tag: str, network: Mapping[str, str], runner: SetupRunner) -> str:
    job = JobOrder(
        identity=order.identity,
        role=Role.SETUP,
        image=image,
        commit=order.commit,
        pack=order.pack,
        folder=order.folder,
        limits=order.limits,
        # Of this machine and not of the set-up: it is no part of the image's key.
        commands=tuple(replace(c, env={**network, **c.env}) for c in order.cached),
        env=order.env,
        kept=order.kept,
        proxy=None if order.egress is None else egress_only(order.egress),
    )
    run_id, key = order.identity.run_id, order.identity.key
    # Half of an earlier set-up is of no use: the commands may not stand a second start.
    runner.release(run_id, key)
    try:
        end = runner.run(job, resumed=False)
        fault = find_fault(end)
        if fault is not None:
            raise ImageUnfitError(fault, evidence=_evidence(order, end), end=end)
        return runner.keep_as_image(job, tag, commit_changes(order))
    finally:
        runner.release(run_id, key)


def find_fault(end: JobEnd) -> str | None:
    """Why the set-up job's container is no image to start from, in one sentence; none: it is one."""
    report = end.report
    if report is None:
        return f"The set-up job left no report: {end.report_error or 'its container was lost'}"
    if report.error is not None:
        return f"The set-up failed: {report.error}"
    failed = next((c for c in report.commands if not c.has_passed), None)
    if failed is not None:
        how = "ran into its timeout" if failed.timed_out else f"ended with exit code {failed.exit_code}"
        how = how if failed.signal is None or failed.timed_out else f"was ended by signal {failed.signal}"
        pids = " (it reached the limit on processes)" if report.pids_refused else ""
        limit = " (out of memory)" if report.oom_kills or end.container.oom_killed else pids
        return f"The set-up command `{failed.name}` {how}{limit}: mend it in [setup] of factory.toml."
    if report.ended is Ended.HOST_DISK:
        return "The disk of the Docker Engine was full during the set-up: free some of it, then run again."
    if report.ended is not Ended.EXITED:
        return f"The set-up ran into a limit ({report.ended.value}): raise it in [limits] of factory.toml."
    return None


def _evidence(order: SetupOrder, end: JobEnd) -> str | None:
    failed = next((c for c in end.report.commands if not c.has_passed), None) if end.report else None
    if failed is None:
        return None
    places = (order.folder / failed.output, order.folder / "out" / failed.output)
    return next((str(place) for place in places if place.is_file()), None)
