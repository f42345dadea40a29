"""Lays a report out as plain text of at most 80 columns.

Pure: no I/O.
"""

import textwrap
from collections.abc import Mapping

from instrument.figures import Agent, Bill, Held, JobLine, OpenFinding, Report, Row
from instrument.money import show_usd
from instrument.overview import group_lines, headline, show_counts
from instrument.schema.grants import Grants
from instrument.schema.vocabulary import EffectKind, NoticeKind, Role, StopReason
from instrument.show import MARK, UNKNOWN, WIDTH, plain, show_amount, show_ms, show_usage, show_whose, wrap

_NAMES = {EffectKind.BASELINE: "baseline", EffectKind.COMPARE_TESTS: "compare"}
"""Of jobs that the role alone does not tell from a check."""
_TEXT_CHARS = 200
"""Of a finding; `--json` has it whole."""
_BUDGETS = ("budget_microusd", "budget_ms")
_ROW = "{:<24} {:>8} {:>5} {:>7} {:>5} {:>5} {:>18}"
_JOB = "{:<24} {:>5} {:>5} {:>15} {:>8} {:>18}"


def render(report: Report) -> str:
    """Lay out the headline, the groups, then a row a task with its details below; ends with a newline."""
    lines = headline(report)
    if report.groups:
        lines += ["", *group_lines(report.groups)]
    if report.rows:
        lines += ["", _ROW.format("task, state", "lead", "coder", "reviews", "gates", "stops", "cost")]
        for row in report.rows:
            lines += _row(row)
    if len(report.rows) < report.tasks:
        lines.append(f"… and {report.tasks - len(report.rows)} older tasks; --all lists them")
    return "\n".join(lines) + "\n"


def render_bill(bill: Bill) -> str:
    """Lay out one task's bill: a line a job, then the total; ends with a newline."""
    row = bill.row
    lines = textwrap.wrap(f"bill of {row.task_id}", WIDTH)
    lines.append(_JOB.format("job", "round", "calls", "tokens", "time", "cost"))
    shown = 0
    for job in bill.jobs:
        shown += job.cost_microusd
        lines.append(_job(job, is_earlier=job.run != row.task_id))
    rest = (row.cost_microusd or 0) - shown
    if rest > 0:
        lines.append(_JOB.format("not on record", "", "", "", "", show_usd(rest)))
    calls = sum(job.calls for job in bill.jobs)
    tokens = _tokens(row.usage.total_tokens, is_complete=row.usage_complete)
    # No time budget counts it, but it stands in a line above.
    setup_ms = sum(job.duration_ms for job in bill.jobs if job.role is Role.SETUP)
    time = UNKNOWN if row.job_ms is None else show_ms(row.job_ms + setup_ms)
    lines.append(
        _JOB.format(
            "total", "", calls, tokens, time, show_amount(row.cost_microusd, lower_bound=row.lower_bound)
        )
    )
    lines += _details(row)
    return "\n".join(lines) + "\n"


def _row(row: Row) -> list[str]:
    lead = "-" if row.lead_ms is None else show_ms(row.lead_ms)
    head = _ROW.format(
        f"  {show_state(row)}",
        lead,
        _count(row.coder_rounds),
        _count(row.review_rounds),
        _count(row.gates),
        len(row.stops),
        show_amount(row.cost_microusd, lower_bound=row.lower_bound),
    )
    return [*textwrap.wrap(row.task_id, WIDTH), head, *_details(row)]


def show_state(row: Row) -> str:
    """How a task stands: its stop, its end, else its stage."""
    return row.stop or row.done or row.stage or UNKNOWN


def _details(row: Row) -> list[str]:
    lines = wrap(show_usage(row.usage, is_complete=row.usage_complete), "tokens")
    for agent in row.agents:
        lines += wrap(show_agent(agent), agent.role.value)
    if row.stops:
        lines += wrap(_stops(row.stops), "stops")
    if row.flaky:
        lines += wrap(plain(", ".join(row.flaky)), "flaky")
    if row.notices:
        lines += wrap(_notices(row.notices), "noticed")
    if row.interventions:
        lines += wrap(show_interventions(row.interventions, row.grants), "persons")
    for held in row.held:
        lines += wrap(plain(show_held(held)), "held")
    if row.rulings_by_model:
        lines += wrap(plain(show_counts(row.rulings_by_model)), "ruled by")
    for finding in row.open_findings:
        lines += wrap(show_finding(finding), "open")
    if row.kept is False:
        lines += wrap("what was merged has been reverted since", "reverted")
    if row.runs > 1:
        lines += wrap(f"{row.runs - 1}, cost included", "restarts")
    for clause in row.missing:
        lines += wrap(clause, "missing")
    return lines


def show_agent(agent: Agent) -> str:
    """A program, its version, the model asked and the one that answered."""
    program = " ".join(part for part in (agent.runtime, agent.version) if part) or UNKNOWN
    if agent.version_pinned:
        program += f" (!) not the pinned {agent.version_pinned}"
    if agent.model_asked is None and agent.model_answered is None:
        return f"{program}, no model"
    if agent.model_asked == agent.model_answered:
        return f"{program}, {agent.model_asked} asked and answered"
    answered = agent.model_answered or UNKNOWN
    mark = " (!) not the model asked" if agent.differs else ""
    return f"{program}, asked {agent.model_asked or UNKNOWN}, answered {answered}{mark}"


def show_held(held: Held) -> str:
    """How long, at what, and whose word it was."""
    return f"{show_ms(held.duration_ms)} at a {held.what}: {show_whose(held)}"


def _stops(stops: tuple[StopReason, ...]) -> str:
    return ", ".join(stops)


def _notices(notices: Mapping[NoticeKind, int]) -> str:
    return ", ".join(f"{what} in {'1 job' if n == 1 else f'{n} jobs'}" for what, n in notices.items())


def show_interventions(count: int, grants: Grants) -> str:
    """How often persons did something, and the caps in force."""
    times = "1 intervention" if count == 1 else f"{count} interventions"
    caps = [f"{name} {value}" for name, value in grants if value is not None and name not in _BUDGETS]
    if grants.budget_microusd is not None:
        caps.append(show_usd(grants.budget_microusd))
    if grants.budget_ms is not None:
        caps.append(show_ms(grants.budget_ms))
    return f"{times}, caps set: {', '.join(caps)}" if caps else times


def show_finding(finding: OpenFinding) -> str:
    """A remark and its place, on one line and cut."""
    where = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    text = textwrap.shorten(plain(finding.text), _TEXT_CHARS, placeholder=" …")
    return f"{finding.id} {finding.severity}, {plain(where)}: {text}"


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
        show_ms(job.duration_ms) if job.collected else UNKNOWN,
        show_amount(job.cost_microusd, lower_bound=job.lower_bound) if has_calls or job.lower_bound else "-",
    )


def _tokens(tokens: int, *, is_complete: bool) -> str:
    return f"{'' if is_complete else MARK}{tokens:,}"


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else str(number)
