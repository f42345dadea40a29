"""The image for the checks of a commit that changes what the cached set-up reads.

Limits: may run a set-up; writes one ref below `refs/factory/` and the sentence of a set-up that failed.
"""

from instrument.schema.job import CommandEnd, ContainerEnd, JobEnd, JobReport
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Ended
from jobs.errors import ImageUnfitError
from jobs.handover import write_private
from jobs.order import JobOrder
from jobs.setup import TOUCHED
from loop.atomic import PRIVATE_FOLDER
from loop.git.changes import changed_paths
from loop.git.restore import restore_paths
from loop.globs import compile_globs
from loop.problems import Problems
from loop.shell.context import Context
from loop.shell.orders import setup_order_at
from loop.shell.papers import Papers

SAID = "out/commands/set-up.txt"
"""Where a sentence of ours stands in place of a command's output."""


def image_for(context: Context, state: TaskState, order: JobOrder, papers: Papers) -> str | JobEnd:
    """The image that a check or gate starts from; or how the set-up ended, where the change broke it.

    Such an end is one of a job whose set-up command failed: the base's own set-up worked, so the
    change is what the coder has to mend.

    Raises:
        JobsError: The set-up could not be run.
    """
    paths = changed_inputs(context, state, order.commit, papers)
    if not paths:
        return order.image
    commit = with_inputs(context, state, order.commit, paths)
    try:
        setup = setup_order_at(context, state, papers, commit=commit, key=order.identity.key)
        return context.jobs.set_up(setup)
    except Problems as problems:
        return _end(context, order, str(problems), None)
    except ImageUnfitError as error:
        if error.end is None:
            raise
        report = error.end.report
        is_touched = report is not None and report.error is not None and report.error.startswith(TOUCHED)
        return _end(context, order, str(error), error.end) if is_touched else error.end


def changed_inputs(context: Context, state: TaskState, commit: str, papers: Papers) -> tuple[str, ...]:
    """The declared inputs that differ from those of the base, whose image the task has; may be empty."""
    config = papers.config
    if not config.cached or state.base is None:
        return ()
    spec = compile_globs(config.inputs)
    changed = changed_paths(context.store, state.base, commit)
    return tuple(change.path for change in changed if spec.match_file(change.path))


def with_inputs(context: Context, state: TaskState, commit: str, paths: tuple[str, ...]) -> str:
    """The base with the change's inputs and nothing else of it, as a commit; the same each time.

    The image's key names the inputs alone. What else a coder wrote would come into an image that
    other tasks find under the same key.
    """
    assert state.base is not None
    return restore_paths(
        context.store,
        state.base,
        source=commit,
        paths=paths,
        parent=state.base,
        subject="Take the inputs of the set-up",
        ref=f"refs/factory/{state.task_id}/inputs",
    )


def _end(context: Context, order: JobOrder, sentence: str, end: JobEnd | None) -> JobEnd:
    """The end with one more command, which failed with the sentence as its output."""
    path = order.folder / SAID
    for parent in (path.parent.parent, path.parent):
        parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    write_private(path, f"{sentence}\n".encode())
    command = CommandEnd(name="cached.inputs", run="[setup] of factory.toml", exit_code=1, output=SAID)
    if end is None or end.report is None:
        return _not_begun(context, order, command)
    commands = (*end.report.commands, command)
    report = end.report.model_copy(update={"error": None, "exit_code": 1, "commands": commands})
    return end.model_copy(update={"report": report})


def _not_begun(context: Context, order: JobOrder, command: CommandEnd) -> JobEnd:
    key = order.identity.key
    report = JobReport(
        key=key,
        role=order.role,
        ended=Ended.EXITED,
        exit_code=1,
        signal=None,
        started_utc=context.now(),
        duration_ms=0,
        commands=(command,),
    )
    folder = order.folder.relative_to(context.folder).as_posix()
    return JobEnd(key=key, folder=folder, container=ContainerEnd(exit_code=0), report=report)
