"""Commands that hand tasks over: new ones, and those that `factory run` began.

Limits: reads the repositories; what follows is the workflows'.
"""

import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import click
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import WorkflowAlreadyStartedError

from engine import messages as m
from engine import names, queues, versions
from engine.reach import Reach, with_client
from engine.workflow import TaskWorkflow
from instrument.schema.vocabulary import Purpose, RuntimeName
from jobs.runner import DockerJobs
from loop.errors import UsageError
from loop.frontmatter import read_front_matter
from loop.git.checkout import read_committed
from loop.problems import Problems
from loop.request import RunRequest
from loop.session import find_session, hold_lock
from loop.store import load_state

RUNTIMES = [name.value for name in RuntimeName]
in_repo = click.option(
    "--repo",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder of the repo; else the one that each task lies in.",
)
with_story = click.option(
    "--story",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Let a scripted provider answer from this story instead of the real one.",
)


@click.command()
@click.argument("tasks", nargs=-1, required=True)
@in_repo
@click.option("--phase", help="Put them into a phase that waits for your word; see `gate`.")
@click.option("--urgent", is_flag=True, help="Before all that are not.")
@click.option("--auto-merge", is_flag=True, help="Merge without asking once the gate has passed.")
@click.option("--runtime", type=click.Choice(RUNTIMES), help="The agent program, over task and repo.")
@click.option("--model", metavar="ID", help="The model, over task and repo.")
@with_story
@click.option(
    "--purpose", type=click.Choice([p.value for p in Purpose]), default=Purpose.TASK.value, hidden=True
)
@click.pass_obj
def submit(  # noqa: PLR0913 - one parameter an option
    reach: Reach,
    *,
    tasks: tuple[str, ...],
    repo: Path | None,
    phase: str | None,
    urgent: bool,
    auto_merge: bool,
    runtime: str | None,
    model: str | None,
    story: Path | None,
    purpose: str,
) -> None:
    """Hand TASKS over: task files, or folders with all that are ready in them."""
    order = m.TaskOrder(
        task_id="",
        repo="",
        checkout="",
        task="",
        runtime=RuntimeName(runtime) if runtime else None,
        model=model,
        auto_merge=auto_merge,
        story=str(story.resolve()) if story else None,
        purpose=Purpose(purpose),
        urgent=urgent,
        phase=phase,
    )

    async def go(client: Client) -> None:
        # All are looked at before the first one begins.
        for found in [identify(task, repo, order) for task in spread(tasks, repo or Path())]:
            click.echo(await start(client, found))

    with_client(reach, go)


def spread(tasks: tuple[str, ...], repo: Path) -> list[str]:
    """Every task file that was named, a folder's in order of their numbers."""
    files: list[str] = []
    for task in tasks:
        folder = next((each for each in (Path(task), repo / task) if each.is_dir()), None)
        found = sorted(folder.glob("[0-9][0-9][0-9]-*.md")) if folder else []
        ready = [str(each.resolve()) for each in found if _is_ready(each)]
        if folder and not ready:
            raise UsageError(f"{task}: there is no task with status: ready in this folder")
        files += ready if folder else [task]
    return files


def _is_ready(file: Path) -> bool:
    """What its front matter says; one that cannot be read is handed over, too, and waits to be mended."""
    data = file.read_bytes()
    try:
        fields = read_front_matter(data, file.name).fields
    except Problems:
        return b"status: ready" in data
    return "status" in fields and fields["status"].value == "ready"


def identify(task: str, repo: Path | None, order: m.TaskOrder) -> m.TaskOrder:
    """The order of one task file.

    Raises:
        UsageError: It is not committed.
        Problems: `factory.toml` is faulty.
        GitError: There is no such repository.
    """
    lies_in = Path(task).resolve().parent
    session = find_session(
        RunRequest(task=task, repo=repo or (lies_in if lies_in.is_dir() else Path())),
        jobs=DockerJobs(),
        environment=os.environ,
        now=lambda: datetime.now(UTC),
    )
    context, path = session.context, session.task_path
    if read_committed(context.store.checkout, context.branch, path) is None:
        raise UsageError(f"{path} is not committed on {context.branch}; commit it, then hand it over")
    found = {
        "task_id": session.task_id,
        "repo": session.repo,
        "checkout": str(context.store.checkout.root),
        "task": path,
    }
    return order.model_copy(update=found)


async def start(client: Client, order: m.TaskOrder) -> str:
    """Begin a task's workflow; one that is under way goes on as it is."""
    pairs = [
        SearchAttributePair(names.TASK, order.task_id),
        SearchAttributePair(names.REPO, order.repo),
        SearchAttributePair(names.PURPOSE, order.purpose.value),
    ]
    if order.phase:
        pairs.append(SearchAttributePair(names.PHASE, order.phase))
    try:
        await client.start_workflow(
            TaskWorkflow.run,
            args=[m.Memory(order=order)],
            id=order.task_id,
            task_queue=queues.CONTROL,
            search_attributes=TypedSearchAttributes(pairs),
            versioning_override=versions.pinned(order.build) if order.build else None,
        )
    except WorkflowAlreadyStartedError:
        return f"{order.task_id}: is under way already"
    return f"{order.task_id}: handed over"


@click.command(name="import")
@click.argument("tasks", nargs=-1, required=True)
@in_repo
@click.option("--auto-merge", is_flag=True, help="Merge without asking once the gate has passed.")
@with_story
@click.option("--host", default=None, help="Where its job runs; else this machine.")
@click.pass_obj
def import_(
    reach: Reach,
    *,
    tasks: tuple[str, ...],
    repo: Path | None,
    auto_merge: bool,
    story: Path | None,
    host: str | None,
) -> None:
    """Take over TASKS that `factory run` began, also one whose job runs: its container goes on."""
    answers = str(story.resolve()) if story else None
    named = m.TaskOrder(task_id="", repo="", checkout="", task="", auto_merge=auto_merge, story=answers)

    async def go(client: Client) -> None:
        for task in tasks:
            order = identify(task, repo, named)
            place = taken_from(reach.home, order.task_id, host)
            click.echo(await start(client, order.model_copy(update={"host": place})))

    with_client(reach, go)


def taken_from(home: Path, task_id: str, host: str | None) -> str | None:
    """Where a job of a task runs that no loop carries on now; none: no job is under way.

    Raises:
        UsageError: It was never begun.
        BusyError: A loop carries it on.
    """
    folder = home / "tasks" / task_id
    if load_state(folder) is None:
        raise UsageError(f"{task_id} was never begun here; hand it over with:  python -m engine submit")
    with hold_lock(folder, task_id):
        state = load_state(folder)
        is_job = state is not None and state.attempt is not None and state.attempt.kind.is_job
    return (host or socket.gethostname()) if is_job else None
