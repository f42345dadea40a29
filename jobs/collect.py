"""From what an ended pod left to the facts of its job.

Reads and writes below the order's folder; the archives come from the caller.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from instrument.ledger import read_ledger
from instrument.schema.job import (
    AGENT_RUN_FILE,
    AgentNames,
    AgentResult,
    AgentRun,
    ContainerEnd,
    JobEnd,
    JobReport,
)
from instrument.schema.ledger import LedgerSummary
from jobs.engine.states import ContainerState
from jobs.handover import mask_values, was_started, write_private
from jobs.order import MIB, JobOrder, Limits
from jobs.runtimes.table import RUNTIMES
from jobs.unpack import Unpacked, unpack

BACKSTOP_S = 30
"""How long after a job's own deadline the loop ends it."""
KILLED = 137
"""Exit code of a container that a SIGKILL ended."""
CLOSED = (0, 2, 143)
"""A sidecar's exit codes once it has closed its ledger, or had no reason to open one; it handles SIGTERM for
as long as the ledger is open, so only a second one, which came after that, can have ended it."""
LEDGER_CAP_BYTES = 256 * MIB
OUT_CAPS = {
    "job.json": 4 * MIB,
    "agent-result.json": MIB,
    "review.md": MIB,
    "transcript.jsonl": 65 * MIB,
    "agent-stderr.txt": MIB,
}
KEY_CHARACTERS = 12
"""Shorter ones are a local server's placeholders, such as `none`: no JSON would survive their masking."""
COMMAND_OUTPUT = re.compile(r"commands/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
COMMAND_CAP_BYTES = MIB


def out_cap(order: JobOrder, name: str) -> int | None:
    """The most bytes of a file of `out/`; none where no job writes such a file."""
    if name == "diff.patch":
        # Binary content is base85 of its deflated self, for the old side and the new one.
        return 4 * order.limits.patch_bytes + 16 * MIB
    if COMMAND_OUTPUT.fullmatch(name):
        return COMMAND_CAP_BYTES
    return OUT_CAPS.get(name)


def most_out_bytes(limits: Limits) -> int:
    """The most bytes of the whole archive of `out/`."""
    return 4 * limits.patch_bytes + 256 * MIB


def end_of_container(
    job: ContainerState | None, sidecar: ContainerState | None, *, has_proxy: bool, deadline_s: float
) -> ContainerEnd:
    """How the container ended, from two inspections alone: a second look says the same.

    Args:
        job: The job's container; none where the engine does not have it.
        sidecar: The proxy's; none likewise.
        has_proxy: Whether the order asked for a sidecar.
        deadline_s: The job's own, from the container's start.
    """
    if job is None or not job.has_started or job.is_going:
        return ContainerEnd(lost=True)
    finished = None if job.is_running else job.finished_utc
    ran_s = (finished - job.started_utc).total_seconds() if finished and job.started_utc else 0.0
    return ContainerEnd(
        exit_code=job.exit_code if finished else None,
        oom_killed=job.oom_killed,
        backstop=job.exit_code == KILLED and ran_s >= deadline_s + BACKSTOP_S,
        sidecar_lost=has_proxy and _was_lost_before(sidecar, job),
        sidecar_cut=has_proxy and _was_cut(sidecar),
        started_utc=job.started_utc,
        finished_utc=finished,
    )


def _was_lost_before(sidecar: ContainerState | None, job: ContainerState) -> bool:
    """Whether the sidecar was gone while the job still ran; we end it only after the job."""
    if sidecar is None:
        return True
    if sidecar.is_running:
        return False
    if sidecar.finished_utc is None or job.finished_utc is None or job.is_running:
        return True
    return sidecar.finished_utc < job.finished_utc


def _was_cut(sidecar: ContainerState | None) -> bool:
    """Whether the sidecar ended in another way than by our polite signal: its ledger was not closed."""
    if sidecar is None or not sidecar.has_started or sidecar.is_running or sidecar.is_going:
        return False
    return sidecar.exit_code not in CLOSED


def may_have_cost(order: JobOrder, job: ContainerState | None, sidecar: ContainerState | None) -> bool:
    """Whether a model call can have been made: then a ledger that is not there is a lower bound."""
    if order.proxy is None or (job is not None and not job.has_started):
        return False
    return sidecar.has_started if sidecar is not None else was_started(order)


def collect(
    order: JobOrder,
    container: ContainerEnd,
    out: IO[bytes] | None,
    ledger: IO[bytes] | None,
    *,
    has_cost: bool,
) -> JobEnd:
    """Keep what came out below the order's folder, and say what is known.

    Args:
        order: The job.
        container: How it ended.
        out: Archive of the job's `out/`; none where there is none.
        ledger: Archive of the sidecar's `/ledger`; none where there is none.
        has_cost: Whether a call can have been made, as `may_have_cost` says it.
    """
    folder = order.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = unpack(out, folder / "out", lambda name: out_cap(order, name)) if out is not None else None
    if kept is not None and order.proxy is not None:
        _mask(folder / "out", kept.names, order.proxy.secrets)
    report, report_error = _read_report(order, kept)
    result, result_error = _read_result(folder / "out" / "agent-result.json") if report else (None, None)
    summary = _read_ledger(order, ledger)
    agent = _read_agent(order) if report else None
    if report and agent:
        _replace(folder / "out" / AGENT_RUN_FILE, agent.model_dump_json().encode())
        report = _add_names(folder / "out" / "job.json", report, agent, summary)
    return JobEnd(
        key=order.identity.key,
        folder=f"{folder.parent.name}/{folder.name}",
        container=container,
        report=report,
        report_error=report_error,
        ledger=summary or LedgerSummary(),
        ledger_missing=summary is None and has_cost,
        result=result,
        result_error=result_error,
        agent=agent,
    )


def _mask(out: Path, names: Iterable[str], keys: tuple[str, ...]) -> None:
    """Keep no key, though a provider's error may have told it to the agent.

    The diff stays as it is: it is proven byte for byte, and looked through for secrets before it is used.
    """
    keys = tuple(key for key in keys if len(key) >= KEY_CHARACTERS)
    for name in names if keys else ():
        text = (out / name).read_bytes() if name != "diff.patch" else b""
        masked = mask_values(text, keys)
        if masked != text:
            write_private(out / name, masked)


def _read_report(order: JobOrder, kept: Unpacked | None) -> tuple[JobReport | None, str | None]:
    if kept is None:
        return None, "The job left no folder of results."
    if "job.json" not in kept.names:
        return None, " ".join(("The job left no job.json.", *kept.faults))
    if kept.faults:
        return None, kept.faults[0]
    data = (order.folder / "out" / "job.json").read_bytes()
    try:
        report = JobReport.model_validate_json(data)
    except ValidationError as error:
        return None, f"job.json is not a report: {_first(error)}"
    if report.key != order.identity.key or report.role is not order.role:
        return None, f"job.json is of another job ({report.role.value} {report.key[:80]})."
    return report, None


def _read_result(path: Path) -> tuple[AgentResult | None, str | None]:
    if not path.exists():
        return None, None
    try:
        return AgentResult.model_validate_json(path.read_bytes()), None
    except ValidationError as error:
        return None, f"result.json does not have the form asked for: {_first(error)}"


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"]) or "the whole"
    return f"{place}: {fault['msg']}"[:300]


def _read_agent(order: JobOrder) -> AgentRun | None:
    if order.agent is None:
        return None
    texts = [order.folder / "out" / name for name in ("transcript.jsonl", "agent-stderr.txt")]
    transcript, stderr = (path.read_bytes() if path.exists() else b"" for path in texts)
    return RUNTIMES[order.agent.runtime].parse(order.agent, transcript, stderr)


def _add_names(path: Path, report: JobReport, agent: AgentRun, ledger: LedgerSummary | None) -> JobReport:
    """Write the report anew with who worked; a second collection writes the same."""
    answered = [call.model_answered for call in ledger.calls if call.model_answered] if ledger else []
    names = AgentNames(
        runtime=agent.runtime,
        version=agent.version,
        model_asked=agent.model_asked,
        model_answered=answered[-1] if answered else agent.model_answered,
    )
    complete = report.model_copy(update={"agent": names})
    _replace(path, complete.model_dump_json(indent=1).encode() + b"\n")
    return complete


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_name(f"{path.name}.new")
    write_private(fresh, data)
    fresh.replace(path)


def _read_ledger(order: JobOrder, ledger: IO[bytes] | None) -> LedgerSummary | None:
    """Keep `ledger.jsonl` and `requests.jsonl` beside `out/`; none where there is no ledger."""
    if ledger is None:
        return None
    names = ("ledger.jsonl", "requests.jsonl")
    place = order.folder / "ledger-new"
    unpack(ledger, place, lambda name: LEDGER_CAP_BYTES if name in names else None)
    for name in names:
        if (place / name).exists():
            (place / name).replace(order.folder / name)
    place.rmdir()
    path = order.folder / "ledger.jsonl"
    return read_ledger(path.read_bytes()) if path.exists() else None
