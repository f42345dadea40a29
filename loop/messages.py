"""Commit messages: subject, body, trailers.

Pure: no I/O.
"""

from instrument.schema.state import TaskState
from loop.machine.resume import open_findings
from loop.taskfile import Task


def commit_message(task: Task, state: TaskState, key: str) -> str:
    """The task's H1; the summary, decisions and findings left open; `Task:`, `Factory-Key:`, `Resolves:`."""
    parts = [task.title]
    if state.summary:
        parts.append(state.summary.strip())
    if state.decisions:
        lines = (f"- {d.choice}: {d.why} (undo: {d.undo})" for d in state.decisions)
        parts.append("Decisions:\n" + "\n".join(lines))
    left = [f"- {f.id} ({f.severity}) {f.path}: {f.text}" for f in open_findings(state)]
    if left:
        parts.append("Left open:\n" + "\n".join(left))
    trailers = [f"Task: {state.task_id}", f"Factory-Key: {key}"]
    if task.issue is not None:
        trailers.append(f"Resolves: #{task.issue}")
    parts.append("\n".join(trailers))
    return "\n\n".join(part.replace("\0", "") for part in parts) + "\n"
