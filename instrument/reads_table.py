"""Lays out what jobs read as plain text of at most 80 columns.

Pure: no I/O.
"""

from instrument.money import show_usd
from instrument.reads import Context, FileReads, JobReads, TaskReads
from instrument.show import plain, show_count, show_ms, wrap

MOST_FILES = 15
_FILE = "    {:>5} {:>6}  {}"
_TOOL = "    {:<28} {:>6} {:>7} {:>10}"


def render_reads(task: TaskReads) -> str:
    """A block a job: context, files, tools; ends with a newline."""
    if not task.jobs:
        return f"No agent has worked on {task.task_id} yet.\n"
    lines = [f"reads of {task.task_id}", *_context(task.context, "  ")]
    for job in task.jobs:
        lines += ["", *_job(job)]
    return "\n".join(lines) + "\n"


def _job(job: JobReads) -> list[str]:
    lines = [job.folder, *wrap(_calls(job), "calls", " " * 5)]
    lines += _context(job.context, "    ")
    if job.files:
        lines.append(_FILE.format("reads", "again", "file and lines"))
        lines += [
            _FILE.format(file.reads, file.again or "", f"{plain(file.path)} {_ranges(file)}")
            for file in job.files[:MOST_FILES]
        ]
        if len(job.files) > MOST_FILES:
            lines.append(f"    … and {len(job.files) - MOST_FILES} more files; --json has them")
    if job.tools:
        lines.append(_TOOL.format("tool", "uses", "failed", "time"))
        lines += [
            _TOOL.format(
                plain(tool.name)[:28],
                tool.uses,
                tool.failed or "",
                show_ms(tool.duration_ms) if tool.untimed < tool.uses else "?",
            )
            for tool in job.tools
        ]
    return [*lines, *(line for clause in job.missing for line in wrap(clause, "missing"))]


def _calls(job: JobReads) -> str:
    if not job.uses_model:
        return "no model was called"
    told = "not told" if job.calls_told is None else f"{job.calls_told} told"
    mark = " (!) they differ: the transcript or the ledger lacks calls" if job.differs else ""
    return f"{job.calls_metered} metered, {told}{mark}"


def _context(context: Context, indent: str) -> list[str]:
    if context.first_tokens is None or context.peak_tokens is None:
        return []
    lines = [f"{indent}context   {context.first_tokens:,} tokens at first, {context.peak_tokens:,} at most"]
    if context.first_large is not None:
        share = context.large_microusd * 100 // context.cost_microusd if context.cost_microusd else 0
        calls = show_count(context.large, "call")
        lines.append(
            f"{indent}large     {calls} above 100,000 from call {context.first_large} on, "
            f"{show_usd(context.large_microusd)} ({share} %)"
        )
    return lines


def _ranges(file: FileReads) -> str:
    if file.lines == ((1, None),):
        return "(whole)"
    return ", ".join(f"{first}-{'' if last is None else last}" for first, last in file.lines)
