"""One task's figures, summed over its runs.

Reads the task's folders; writes nothing. The state's total decides what a task
cost; the record gives tokens by bucket, jobs and stops.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from instrument.figures import Agent, Bill, JobLine, Kill, OpenFinding, Row
from instrument.found import FoundTask
from instrument.parts import Part
from instrument.record import Job, Record, read_record
from instrument.reverts import is_kept
from instrument.schema.grants import Grants
from instrument.schema.state import TaskState
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import DoneReason, EffectKind, Ended, StopReason
from instrument.states import read_state
from instrument.timeline import Timeline, to_ms

_AGENT_EFFECTS = (EffectKind.IMPLEMENT, EffectKind.REVIEW, EffectKind.RESOLVE)
_MANY = "the cost of {} jobs is not fully known"
_KILLS: dict[Ended, Kill] = {
    Ended.DEADLINE: "deadline",
    Ended.NO_FIRST_CALL: "no_first_call",
    Ended.SIDECAR_MISSING: "sidecar_missing",
    Ended.DISK: "disk",
    Ended.NO_PROGRESS: "no_progress",
    Ended.HUNG_AT_END: "hung_at_end",
}


@dataclass(frozen=True, slots=True)
class _Run:
    """One folder's figures; a run without a readable state has only what its record says."""

    name: str
    state: TaskState | None
    record: Record
    cost_microusd: int | None
    unmetered_parts: int
    missing: tuple[str, ...]

    @property
    def is_usage_complete(self) -> bool:
        """Whether every token of the run is in its record."""
        record = self.record
        is_whole = not record.missing and not record.has_unsettled and not self.unmetered_parts
        return is_whole and record.calls_microusd == self.cost_microusd


def build_row(task: FoundTask) -> Row:
    """Sum a task's runs; damage of any kind makes a mark in the row, never an error."""
    return _row(task, *_read_runs(task))


def build_bill(task: FoundTask) -> Bill:
    """The row with a line for each job."""
    runs, timeline = _read_runs(task)
    jobs = (_job_line(run.name, job) for run in runs for job in run.record.jobs.values())
    return Bill(row=_row(task, runs, timeline), jobs=tuple(jobs))


def _read_runs(task: FoundTask) -> tuple[list[_Run], Timeline]:
    """Every run in order of time, on one timeline that ends as the last one's state says."""
    states = [read_state(folder) for folder in task.folders]
    last, _ = states[-1]
    timeline = (
        Timeline(last.ready_utc, last.ended_utc if last.done else None) if last else Timeline(None, None)
    )
    runs = [
        _read_run(folder, state, clause, timeline)
        for folder, (state, clause) in zip(task.folders, states, strict=True)
    ]
    timeline.finish()
    return runs, timeline


def _row(task: FoundTask, runs: list[_Run], timeline: Timeline) -> Row:
    last, home = runs[-1], Path(task.root).parent
    costs = [run.cost_microusd for run in runs if run.cost_microusd is not None]
    states = [run.state for run in runs if run.state is not None]
    has_all = len(states) == len(runs)
    state = last.state
    missing = [
        f"{run.name}: {clause}" if run is not last else clause for run in runs for clause in run.missing
    ]
    jobs = [job for run in runs for job in run.record.jobs.values()]
    lead_ms, clause = _lead(state)
    missing += [clause] if clause else []
    return Row(
        task_id=task.task_id,
        repo=state.repo if state else None,
        at_utc=state.ended_utc if state and state.done else timeline.last,
        purpose=state.purpose if state else last.record.purpose,
        runs=len(runs),
        stage=state.stage if state else None,
        stop=state.stop.reason if state and state.stop else None,
        done=state.done if state else None,
        kept=_kept(home, state),
        lead_ms=lead_ms,
        times={part: timeline.parts[part] for part in Part if timeline.parts[part]},
        answers_ms=tuple(timeline.answers_ms),
        held=tuple(wait for run in runs for wait in run.record.held),
        coder_rounds=sum(s.counters.coder_rounds for s in states) if has_all else None,
        review_rounds=sum(s.counters.review_rounds for s in states) if has_all else None,
        gates=sum(s.counters.effects.get(EffectKind.GATE, 0) for s in states) if has_all else None,
        stops=tuple(reason for run in runs for reason in _stops(run)),
        kills=tuple(cause for job in jobs if (cause := _kill(job)) is not None),
        flaky=tuple(dict.fromkeys(name for s in states for name in s.flaky)),
        notices=dict(Counter(what for run in runs for _, what in run.record.notices)),
        interventions=sum(s.counters.interventions for s in states) if has_all else None,
        interventions_by_kind=dict(sum((run.record.interventions for run in runs), Counter())),
        rulings_by_model=dict(sum((run.record.rulings_by_model for run in runs), Counter())),
        grants=state.grants if state else Grants(),
        open_findings=_open_findings(state) if state else (),
        usage=sum((run.record.usage for run in runs), Usage()),
        usage_complete=all(run.is_usage_complete for run in runs),
        cost_microusd=sum(costs) if costs else None,
        lower_bound=any(run.unmetered_parts for run in runs),
        unmetered_parts=sum(run.unmetered_parts for run in runs),
        job_ms=sum(s.spend.job_ms for s in states) if has_all else None,
        peak_memory_bytes=max((job.end.peak_memory_bytes or 0 for job in jobs if job.end), default=0) or None,
        peak_pids=max((job.end.peak_pids or 0 for job in jobs if job.end), default=0) or None,
        agents=_agents(runs),
        missing=tuple(missing),
    )


def _read_run(folder: Path, state: TaskState | None, clause: str, timeline: Timeline) -> _Run:
    record = read_record(folder, timeline)
    missing = [clause] if clause else []
    missing += record.missing
    if state is None:
        # Never zero: with no call on record either, the cost is not known at all.
        cost = record.calls_microusd if record.calls else None
        return _Run(folder.name, None, record, cost, 1, tuple(missing))
    parts, clauses = _unmetered(state, record)
    if record.calls_microusd < state.spend.microusd and not parts:
        clauses.append("events.jsonl lacks model calls that state.json counts")
    return _Run(folder.name, state, record, state.spend.microusd, parts, tuple(missing + clauses))


def _unmetered(state: TaskState, record: Record) -> tuple[int, list[str]]:
    """How many parts of a run's cost the state's total leaves open, with a clause for each kind."""
    clauses = []
    parts = max(state.spend.unmetered_jobs, int(state.spend.lower_bound))
    if parts:
        clauses.append("the cost of one job is not fully known" if parts == 1 else _MANY.format(parts))
    elif record.has_unsettled:
        parts = 1
        clauses.append("a model call has no end on record")
    if state.attempt and state.attempt.kind in _AGENT_EFFECTS:
        parts += 1
        clauses.append("the job begun last is not collected yet")
    if record.calls_microusd > state.spend.microusd:
        parts += 1
        clauses.append("events.jsonl has model calls that state.json does not count")
    return parts, clauses


def _kept(home: Path, state: TaskState | None) -> bool | None:
    """Whether a merged task's commit stands; see `Row.kept`."""
    if state is None or state.done is not DoneReason.MERGED or state.merged is None:
        return None
    return is_kept(home, state.repo, state.merged)


def _lead(state: TaskState | None) -> tuple[int | None, str]:
    """Lead time of a merged task in ms; none with a clause where a merged task has none."""
    if state is None or state.done is not DoneReason.MERGED:
        return None, ""
    if state.ready_utc is None or state.ended_utc is None:
        return None, "state.json has no time of the ready commit or of the merge"
    lead_ms = to_ms(state.ended_utc) - to_ms(state.ready_utc)
    if lead_ms < 0:
        return None, "the ready commit is dated after the merge"
    return lead_ms, ""


def _stops(run: _Run) -> list[StopReason]:
    """The stops on record; the one in force too where the record lost it."""
    stops = [reason for _, reason in sorted(run.record.stops.items())]
    now = run.state.stop.reason if run.state and run.state.stop else None
    if now is not None and (not stops or stops[-1] is not now):
        stops.append(now)
    return stops


def _open_findings(state: TaskState) -> tuple[OpenFinding, ...]:
    """What the last review raised and no ruling closed."""
    return tuple(
        OpenFinding(id=f.id, severity=f.severity, path=f.path, line=f.line, text=f.text)
        for f in state.findings
        if f.round == state.counters.review_rounds and not f.closed
    )


def _agents(runs: list[_Run]) -> tuple[Agent, ...]:
    found: dict[Agent, None] = {}
    for run in runs:
        for job in run.record.jobs.values():
            if job.role.is_agent:
                found.update(dict.fromkeys(agent for agent in _agents_of(job) if _is_known(agent)))
    return tuple(found)


def _is_known(agent: Agent) -> bool:
    """Whether there is anything to say; a job that was lost at its start names neither program nor model."""
    return any((agent.runtime, agent.version, agent.model_asked, agent.model_answered))


def _agents_of(job: Job) -> list[Agent]:
    """The programs and models of one job; the ledger's word on the model goes before the agent's own."""
    end = job.end
    pairs = [pair for pair in job.models if pair[1] is not None]
    if not pairs and end is not None:
        pairs = [(end.model_asked, end.model_answered)]
    if not pairs:
        pairs = list(job.models)
    return [
        Agent(
            role=job.role,
            runtime=end.runtime if end else None,
            version=end.version if end else None,
            version_pinned=job.version_pinned,
            # A call may ask for another model than the configuration, and get what it asked for.
            model_asked=job.other_models.get(answered or "", asked),
            model_answered=answered,
            differs=answered in job.other_models,
        )
        for asked, answered in pairs
    ]


def _kill(job: Job) -> Kill | None:
    """Why a job did not end by itself; none where it did, or was never collected."""
    end = job.end
    if end is None:
        return None
    if end.lost:
        return "lost"
    return "memory" if end.oom else _KILLS.get(end.ended) if end.ended else None


def _job_line(run: str, job: Job) -> JobLine:
    end = job.end
    # The end's own sum and the calls are written by one collection; the larger is the safer bound.
    cost = max(job.calls_microusd, end.cost_microusd if end else 0)
    return JobLine(
        run=run,
        key=job.key,
        folder=end.folder if end else None,
        effect=end.effect if end else None,
        role=job.role,
        round=job.round,
        collected=end is not None,
        lost=end.lost if end else False,
        calls=max(job.calls, end.calls if end else 0),
        usage=job.usage,
        cost_microusd=cost,
        lower_bound=end is None or end.lower_bound or job.has_unsettled,
        duration_ms=end.duration_ms if end else 0,
    )
