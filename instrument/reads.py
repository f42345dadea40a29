"""What each job of a task read and read again, how its context grew, where its tools' time went.

Reads the neutral transcripts and the ledgers that jobs left in their folders; writes nothing. Limits: what a
shell command reads is in no transcript.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import NonNegativeInt, PositiveInt, ValidationError

from instrument.found import FoundTask
from instrument.ledger import read_ledger
from instrument.schema.base import Frozen
from instrument.schema.job import AGENT_RUN_FILE, AgentRun
from instrument.schema.ledger import ModelCall
from instrument.schema.transcript import CallSeen, FileRead, ToolUse

LARGE_TOKENS = 100_000
"""A context above it is dear, and models are said to work worse in it."""


class FileReads(Frozen):
    """One file, as one job read it."""

    path: str
    reads: NonNegativeInt
    again: NonNegativeInt
    """Reads of lines that the job had read before."""
    lines: tuple[tuple[PositiveInt, PositiveInt | None], ...]
    """Ranges, first and last line, without overlap; no last line: to the end."""


class ToolTime(Frozen):
    """All uses of one tool."""

    name: str
    uses: NonNegativeInt
    failed: NonNegativeInt
    duration_ms: NonNegativeInt
    untimed: NonNegativeInt
    """Uses whose length the program does not tell."""


class Context(Frozen):
    """How much input the calls had, caches included."""

    first_tokens: NonNegativeInt | None
    peak_tokens: NonNegativeInt | None
    first_large: PositiveInt | None
    """The first call above 100,000 tokens, counted from 1; none: there was none."""
    large: NonNegativeInt
    """How many were."""
    large_microusd: NonNegativeInt
    cost_microusd: NonNegativeInt


class JobReads(Frozen):
    """One job of an agent."""

    folder: str
    files: tuple[FileReads, ...]
    """The most read ones first."""
    tools: tuple[ToolTime, ...]
    """The longest first."""
    context: Context
    calls_told: NonNegativeInt | None
    """Calls in the transcript, each request once; none: the program tells no single calls."""
    calls_metered: NonNegativeInt
    uses_model: bool = True
    """Whether there was a model to call; a shell line need not have one, and has no proxy then."""
    missing: tuple[str, ...]
    """What could not be read, a sentence's clause each."""

    @property
    def differs(self) -> bool:
        """Whether transcript and ledger do not have the same number of calls."""
        return self.calls_told is not None and self.calls_told != self.calls_metered


class TaskReads(Frozen):
    """`instrument reads TASK --json`."""

    schema_version: int = 1
    task_id: str
    jobs: tuple[JobReads, ...]
    context: Context
    """Of all jobs: the first call of the first, the biggest of any."""


def read_task(task: FoundTask) -> TaskReads:
    """Every agent job of all runs, in order of start."""
    jobs, calls = [], []
    for folder in task.folders:
        for job in sorted((folder / "jobs").glob("*")):
            if (job / "ledger.jsonl").exists() or (job / "out" / AGENT_RUN_FILE).exists():
                made, metered = _read_job(job, f"{folder.name}/{job.name}")
                jobs.append(made)
                calls += metered
    return TaskReads(task_id=task.task_id, jobs=tuple(jobs), context=context_of(calls))


def _read_job(folder: Path, name: str) -> tuple[JobReads, list[ModelCall]]:
    missing = []
    agent: AgentRun | None = None
    try:
        agent = AgentRun.model_validate_json((folder / "out" / AGENT_RUN_FILE).read_bytes())
    except FileNotFoundError:
        missing.append("no transcript was kept")
    except (OSError, ValidationError):
        missing.append("the transcript cannot be read")
    uses_model = agent is None or agent.model_asked is not None
    try:
        ledger = read_ledger((folder / "ledger.jsonl").read_bytes())
    except OSError:
        ledger = read_ledger(b"")
        missing += ["there is no ledger"] if uses_model else []
    if ledger.bad_lines:
        missing.append(f"{ledger.bad_lines} lines of the ledger cannot be read")
    calls = [call for call in ledger.calls if call.has_succeeded]
    seen = agent.transcript if agent else None
    made = JobReads(
        folder=name,
        files=files_of(seen.reads if seen else ()),
        tools=tools_of(seen.tools if seen else ()),
        context=context_of(calls),
        calls_told=calls_told(seen.calls) if seen else None,
        calls_metered=len(calls),
        uses_model=uses_model or bool(calls),
        missing=tuple(missing),
    )
    return made, calls


def files_of(reads: Iterable[FileRead]) -> tuple[FileReads, ...]:
    """Reads by file; one that overlaps an earlier one is a read again."""
    ranges: dict[str, list[tuple[int, int | None]]] = {}
    counts: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for read in reads:
        known = ranges.setdefault(read.path, [])
        fresh = (read.first_line or 1, read.last_line)
        counts[read.path] += 1
        again[read.path] += any(_overlap(fresh, other) for other in known)
        ranges[read.path] = _joined([*known, fresh])
    return tuple(
        FileReads(path=path, reads=count, again=again[path], lines=tuple(ranges[path]))
        for path, count in counts.most_common()
    )


def _overlap(one: tuple[int, int | None], other: tuple[int, int | None]) -> bool:
    return (other[1] is None or one[0] <= other[1]) and (one[1] is None or other[0] <= one[1])


def _joined(ranges: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """The same lines in ranges that neither overlap nor touch."""
    joined: list[tuple[int, int | None]] = []
    for first, last in sorted(ranges, key=lambda lines: lines[0]):
        before = joined[-1] if joined else None
        if before is None or (before[1] is not None and first > before[1] + 1):
            joined.append((first, last))
        elif before[1] is not None:
            joined[-1] = (before[0], None if last is None else max(before[1], last))
    return joined


def tools_of(uses: Iterable[ToolUse]) -> tuple[ToolTime, ...]:
    """Uses by tool."""
    by_name: dict[str, list[ToolUse]] = {}
    for use in uses:
        by_name.setdefault(use.name, []).append(use)
    times = (
        ToolTime(
            name=name,
            uses=len(each),
            failed=sum(use.is_ok is False for use in each),
            duration_ms=sum(use.duration_ms or 0 for use in each),
            untimed=sum(use.duration_ms is None for use in each),
        )
        for name, each in by_name.items()
    )
    return tuple(sorted(times, key=lambda time: (-time.duration_ms, time.name)))


def context_of(calls: Sequence[ModelCall]) -> Context:
    """How the input grew over calls in order of start."""
    sizes = [call.usage.total_tokens - call.usage.output_tokens for call in calls]
    large = [number for number, size in enumerate(sizes) if size > LARGE_TOKENS]
    return Context(
        first_tokens=sizes[0] if sizes else None,
        peak_tokens=max(sizes, default=None),
        first_large=large[0] + 1 if large else None,
        large=len(large),
        large_microusd=sum(calls[number].cost_microusd for number in large),
        cost_microusd=sum(call.cost_microusd for call in calls),
    )


def calls_told(calls: Sequence[CallSeen]) -> int | None:
    """Requests in the transcript, each id once; none where there is no id to count by."""
    ids = {call.request_id for call in calls if call.request_id is not None}
    return len(ids) or None
