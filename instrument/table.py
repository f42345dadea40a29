"""Lays a report out as plain text of at most 80 columns.

Pure: no I/O.
"""

import textwrap
from collections.abc import Mapping

from instrument.figures import Agent, JobLine, OpenFinding, Report, Row
from instrument.money import show_usd
from instrument.schema.state import Grants
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import EffectKind, NoticeKind, Role, StopReason

WIDTH = 80
_UNKNOWN = "?"
_MARK = "≥ "
_NAMES = {EffectKind.BASELINE: "baseline", EffectKind.COMPARE_TESTS: "compare"}
"""Of jobs that the role alone does not tell from a check."""
_TEXT_CHARS = 200
"""Of a finding; `--json` has it whole."""
_BUDGETS = ("budget_microusd", "budget_ms")
_ROW = "{:<24} {:>8} {:>5} {:>7} {:>5} {:>5} {:>18}"
_JOB = "{:<24} {:>5} {:>5} {:>15} {:>8} {:>18}"


def render(report: Report) -> str:
    """Lay out the headline, then a row a task with its details indented below; ends with a newline."""
    lines = _headline(report)
    if report.rows:
        lines += ["", _ROW.format("task, state", "lead", "coder", "reviews", "gates", "stops", "cost")]
        for row in report.rows:
            lines += _row(row)
    return "\n".join(lines) + "\n"


def render_bill(row: Row) -> str:
    """Lay out one task's bill: a line a job, then the total; ends with a newline."""
    lines = textwrap.wrap(f"bill of {row.task_id}", WIDTH)
    lines.append(_JOB.format("job", "round", "calls", "tokens", "time", "cost"))
    shown = 0
    for job in row.jobs:
        shown += job.cost_microusd
        lines.append(_job(job, is_earlier=job.run != row.task_id))
    rest = (row.cost_microusd or 0) - shown
    if rest > 0:
        lines.append(_JOB.format("not on record", "", "", "", "", show_usd(rest)))
    calls = sum(job.calls for job in row.jobs)
    tokens = _tokens(row.usage.total_tokens, is_complete=row.usage_complete)
    # No time budget counts it, but it stands in a line above.
    setup_ms = sum(job.duration_ms for job in row.jobs if job.role is Role.SETUP)
    time = _UNKNOWN if row.job_ms is None else show_ms(row.job_ms + setup_ms)
    lines.append(
        _JOB.format("total", "", calls, tokens, time, _amount(row.cost_microusd, lower_bound=row.lower_bound))
    )
    lines += _details(row)
    return "\n".join(lines) + "\n"


def show_ms(duration_ms: int) -> str:
    """Show a duration in its two largest units, cut and never rounded up: `0.4s`, `12m 03s`, `3d 04h`."""
    seconds, rest = divmod(duration_ms, 1000)
    if seconds < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds}.{rest // 100}s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {seconds:02d}s"


def _headline(report: Report) -> list[str]:
    name = report.purpose.value if report.purpose else "all"
    total = _amount(report.cost_microusd, lower_bound=report.lower_bound)
    if not report.rows:
        lines = [f"No task of purpose {name} found." if report.purpose else "No task found."]
    else:
        each = "n/a"
        if report.accepted:
            each = _amount(report.cost_per_accepted_microusd, lower_bound=report.lower_bound)
        lines = [
            f"cost per accepted task  {each}",
            f"total                   {total}",
            f"accepted                {report.accepted} of {report.tasks} (purpose: {name})",
            *_wrap(_usage(report.usage, is_complete=report.usage_complete), "tokens", "                  "),
        ]
    if report.done_unmerged:
        lines.append(f"done, nothing to merge  {report.done_unmerged}")
    if report.lower_bound:
        parts = "1 part is" if report.unmetered_parts == 1 else f"{report.unmetered_parts} parts are"
        lines.append(f"{_MARK}lower bound: {parts} unmetered; see the tasks marked so")
    if report.not_shown:
        lines.append(f"{report.not_shown} of other purposes not shown; --purpose all shows them")
    return lines


def _row(row: Row) -> list[str]:
    lead = "-" if row.lead_ms is None else show_ms(row.lead_ms)
    head = _ROW.format(
        _state(row),
        lead,
        _count(row.coder_rounds),
        _count(row.review_rounds),
        _count(row.gates),
        len(row.stops),
        _amount(row.cost_microusd, lower_bound=row.lower_bound),
    )
    return [*textwrap.wrap(row.task_id, WIDTH), head, *_details(row)]


def _state(row: Row) -> str:
    if row.stage is None:
        return f"  {_UNKNOWN}"
    return f"  {row.stop or row.done or row.stage}"


def _details(row: Row) -> list[str]:
    lines = _wrap(_usage(row.usage, is_complete=row.usage_complete), "tokens")
    for agent in row.agents:
        lines += _wrap(_agent(agent), agent.role.value)
    if row.stops:
        lines += _wrap(_stops(row.stops), "stops")
    if row.flaky:
        lines += _wrap(_plain(", ".join(row.flaky)), "flaky")
    if row.notices:
        lines += _wrap(_notices(row.notices), "noticed")
    if row.interventions:
        lines += _wrap(_interventions(row.interventions, row.grants), "persons")
    for finding in row.open_findings:
        lines += _wrap(_finding(finding), "open")
    if row.runs > 1:
        lines += _wrap(f"{row.runs - 1}, cost included", "restarts")
    for clause in row.missing:
        lines += _wrap(clause, "missing")
    return lines


def _agent(agent: Agent) -> str:
    program = " ".join(part for part in (agent.runtime, agent.version) if part) or _UNKNOWN
    if agent.version_pinned:
        program += f" (!) not the pinned {agent.version_pinned}"
    if agent.model_asked is None and agent.model_answered is None:
        return f"{program}, no model"
    if agent.model_asked == agent.model_answered:
        return f"{program}, {agent.model_asked} asked and answered"
    answered = agent.model_answered or _UNKNOWN
    mark = " (!) not the model asked" if agent.differs else ""
    return f"{program}, asked {agent.model_asked or _UNKNOWN}, answered {answered}{mark}"


def _stops(stops: tuple[StopReason, ...]) -> str:
    return ", ".join(stops)


def _notices(notices: Mapping[NoticeKind, int]) -> str:
    return ", ".join(f"{what} in {'1 job' if n == 1 else f'{n} jobs'}" for what, n in notices.items())


def _interventions(count: int, grants: Grants) -> str:
    times = "1 intervention" if count == 1 else f"{count} interventions"
    caps = [f"{name} {value}" for name, value in grants if value is not None and name not in _BUDGETS]
    if grants.budget_microusd is not None:
        caps.append(show_usd(grants.budget_microusd))
    if grants.budget_ms is not None:
        caps.append(show_ms(grants.budget_ms))
    return f"{times}, caps set: {', '.join(caps)}" if caps else times


def _finding(finding: OpenFinding) -> str:
    where = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    text = textwrap.shorten(_plain(finding.text), _TEXT_CHARS, placeholder=" …")
    return f"{finding.id} {finding.severity}, {_plain(where)}: {text}"


def _plain(text: str) -> str:
    """Without control characters: a model's words must not move a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def _usage(usage: Usage, *, is_complete: bool) -> str:
    text = (
        f"input {usage.input_tokens:,}, cache read {usage.cache_read_tokens:,}, "
        f"write 5m {usage.cache_write_5m_tokens:,}, write 1h {usage.cache_write_1h_tokens:,}, "
        f"output {usage.output_tokens:,}"
        + (f", web searches {usage.web_searches:,}" if usage.web_searches else "")
    )
    return text if is_complete else f"{_MARK}{text}"


def _job(job: JobLine, *, is_earlier: bool) -> str:
    name = _NAMES.get(job.effect, job.role.value) if job.effect else job.role.value
    if is_earlier:
        name = f"{job.run.rpartition('.')[2]} {name}"
    has_calls = bool(job.calls or job.cost_microusd)
    return _JOB.format(
        f"  {name}" + (" (lost)" if job.lost else ""),
        job.round or "",
        job.calls if has_calls else "-",
        _tokens(job.usage.total_tokens, is_complete=True) if has_calls else "-",
        show_ms(job.duration_ms) if job.collected else _UNKNOWN,
        _amount(job.cost_microusd, lower_bound=job.lower_bound) if has_calls or job.lower_bound else "-",
    )


def _tokens(tokens: int, *, is_complete: bool) -> str:
    return f"{'' if is_complete else _MARK}{tokens:,}"


def _amount(microusd: int | None, *, lower_bound: bool) -> str:
    return _UNKNOWN if microusd is None else show_usd(microusd, lower_bound=lower_bound)


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)


def _wrap(text: str, name: str, gap: str = " ") -> list[str]:
    """Wrap a detail under its name; a word longer than a line is broken, so that none is wider."""
    first = f"    {name:<9}{gap}" if gap == " " else f"{name}{gap}"
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    )
