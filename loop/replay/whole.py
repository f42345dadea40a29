"""Carries commits as whole coder jobs: each in a fresh container, by the real runner.

Limits: one job at a time; each leaves its folder until the replay is over.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Role, RuntimeName
from jobs.order import AgentWork, Identity, JobOrder, Limits
from jobs.ports import Jobs
from loop.git.checkout import Checkout
from loop.replay import coder
from loop.replay.box import Captured
from loop.replay.history import History, Step, write_feed

LINE = 'exec python3 -I "$FACTORY_PROMPT"'
"""The prompt is the program, with the changes as its last line."""


def carry_as_jobs(
    jobs: Jobs, image: str, identity: Identity, checkout: Checkout, steps: Sequence[Step], folder: Path
) -> Iterator[Captured]:
    """Write and capture each step in a job of its own, in order.

    Args:
        jobs: The runner.
        image: A job image.
        identity: Whose the containers are; the key gets a number.
        checkout: The person's repository.
        steps: Each with a base.
        folder: Where the jobs' folders are made.

    Raises:
        JobsError: The engine failed.
    """
    for step in steps:
        assert step.base is not None, step
        here = folder / f"{step.n:04d}-{step.commit[:12]}"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(mode=0o700, parents=True)
        alone = History((step,), (step.base,), step.commit)
        order = JobOrder(
            identity=replace(identity, key=f"{identity.key}-{step.n}-{step.commit[:8]}"),
            role=Role.CODER,
            image=image,
            commit=step.base,
            pack=write_feed(checkout, alone, here / "tree.pack"),
            folder=here / "job",
            limits=Limits(),
            agent=AgentWork(runtime=RuntimeName.COMMAND, model=None, prompt=program(step), line=LINE),
        )
        try:
            yield _read_end(step, jobs.run(order, resumed=False), order.folder)
        finally:
            jobs.release(order.identity.run_id, order.identity.key)
        shutil.rmtree(here)


def program(step: Step) -> bytes:
    """The coder's own module, told what to write."""
    source = Path(coder.__file__).read_text(encoding="utf-8")
    changes = ascii([tuple(change) for change in step.changes])
    return f"{source}\n\nwrite_changes({changes}, {list(step.links)!a})\n".encode()


def _read_end(step: Step, end: JobEnd, folder: Path) -> Captured:
    report = end.report
    if report is None or report.tree is None:
        why = end.report_error or (report and report.error) or "the container was lost"
        return Captured(step.n, None, f"the job left no tree: {why}", b"")
    if report.exit_code != 0:
        words = folder / "out" / "agent-stderr.txt"
        text = words.read_text(errors="replace")[-300:].strip() if words.is_file() else ""
        return Captured(step.n, None, f"the coder ended with exit code {report.exit_code}: {text}", b"")
    diff = folder / "out" / "diff.patch"
    return Captured(step.n, report.tree, "", diff.read_bytes() if diff.is_file() else b"")
