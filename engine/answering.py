"""Commands about tasks that are under way: what waits, and what a person says about it.

Limits: each is one signal, and where it helps a wait for what comes of it.
"""

import asyncio
import getpass
import json
import secrets
import time
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import click
from temporalio.client import Client, WorkflowFailureError
from temporalio.service import RPCError

from engine import messages as m
from engine.errors import EngineError, ServerUnavailableError
from engine.handing import start
from engine.reach import Reach, guarded, run, with_client
from engine.sending import TAKEN_S, NoSuchTaskError, Sent, keep, send
from engine.standing import count_ended, order_of, render, tasks_under_way
from engine.workflow import TaskWorkflow
from loop.errors import UsageError
from loop.options import COUNTERS, read_glob, read_grant, read_ruling

LET_GO_S = 30.0
LOOKS = timedelta(seconds=TAKEN_S)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One object a task.")
@click.pass_obj
def status(reach: Reach, *, as_json: bool) -> None:
    """Every task under way, those first that wait for you; answers without a worker, too."""

    async def go(client: Client) -> None:
        tasks = await tasks_under_way(client)
        if as_json:
            for task in tasks:
                click.echo(json.dumps({**asdict(task), "since": task.since.isoformat()}))
            return
        click.echo(render(tasks, await count_ended(client)), nl=False)

    with_client(reach, go)


@click.command()
@click.argument("task")
@click.argument("text")
@click.pass_obj
def ruling(reach: Reach, *, task: str, text: str) -> None:
    """Answer what TASK waits for; TEXT, @FILE, or F3=TEXT for one finding."""
    guarded(lambda: answer_task(reach, task, m.Answer(id=new_id(), rulings=(read_ruling(text),))))


@click.command()
@click.argument("task")
@click.option("--ruling", "rulings", metavar="[F3=]TEXT|@FILE", multiple=True, help="As of `factory run`.")
@click.option("--grant", "grants", metavar="COUNTER=N", multiple=True, help=f"Set a cap: {COUNTERS}.")
@click.option("--allow", metavar="GLOB", multiple=True, help="Let the task touch these paths.")
@click.option("--park", metavar="WHY", help="Put a stopped task aside.")
@click.option("--auto-merge", is_flag=True, help="Merge without asking once the gate has passed.")
@click.option("--restart", is_flag=True, help="Begin again; the old run is kept, its cost counts.")
@click.pass_obj
def answer(
    reach: Reach,
    *,
    task: str,
    rulings: tuple[str, ...],
    grants: tuple[str, ...],
    allow: tuple[str, ...],
    park: str | None,
    auto_merge: bool,
    restart: bool,
) -> None:
    """Do about TASK what its brief offers; without an option: look at the cause again."""

    def go() -> None:
        given = m.Answer(
            id=new_id(),
            rulings=tuple(map(read_ruling, rulings)),
            grants=tuple(map(read_grant, grants)),
            allow=tuple(map(read_glob, allow)),
            park=park,
            auto_merge=auto_merge,
        )
        if restart:
            run(reach, lambda client: begin_again(client, task))
            return
        answer_task(reach, task, given)

    guarded(go)


async def begin_again(client: Client, task: str) -> None:
    """End the task's workflow and start it anew, on a state of its own."""
    order = await order_of(client, task)
    if order is None:
        raise NoSuchTaskError(f"{task} is not known here; see:  python -m engine status")
    # One that was told to go before, and had no worker to do it, may have gone since.
    with suppress(NoSuchTaskError):
        await leave(client, task, "cancelled")
    click.echo(await start(client, order.model_copy(update={"restart_utc": datetime.now(UTC), "host": None})))


def answer_task(reach: Reach, task: str, given: m.Answer) -> None:
    """Send an answer, and say what became of it; without a server it waits for one."""

    async def go(client: Client) -> None:
        await send(client, Sent(task_id=task, signal="answer", answer=given))
        handle = client.get_workflow_handle_for(TaskWorkflow.run, task)
        until = time.monotonic() + TAKEN_S
        refusal = None
        while refusal is None and time.monotonic() < until:
            try:
                # Without a worker nobody answers, and the SDK asks again and again.
                refusal = await handle.query(TaskWorkflow.refusal, given.id, rpc_timeout=LOOKS)
            except RPCError:
                break
            await asyncio.sleep(0.1)
        if refusal:
            raise UsageError(refusal)
        click.echo(f"{task}: taken" if refusal == "" else f"{task}: sent; it counts once a worker is up")

    try:
        run(reach, go)
    except ServerUnavailableError:
        if not (reach.home / "tasks" / task).is_dir():
            raise UsageError(f"No server is up, and no task of this home is called {task}") from None
        keep(reach.home, Sent(task_id=task, signal="answer", answer=given, server=reach.server))
        click.echo(f"{task}: no server is up; the answer is kept, and sent by `python -m engine up`")


@click.command()
@click.argument("name")
@click.argument("event_id")
@click.option("--repo", help="Tell the tasks of this repo alone, by its name.")
@click.pass_obj
def event(reach: Reach, *, name: str, event_id: str, repo: str | None) -> None:
    """Tell every waiting task that something happened, such as `main_moved COMMIT`; it looks again, once."""

    async def go(client: Client) -> None:
        tasks = [task for task in await tasks_under_way(client) if task.waits and repo in (None, task.repo)]
        for task in tasks:
            await send(client, Sent(task_id=task.task_id, signal="event", words=(name, event_id)))
        click.echo(f"{len(tasks)} waiting tasks told")

    with_client(reach, go)


@click.command()
@click.argument("task")
@click.pass_obj
def cancel(reach: Reach, *, task: str) -> None:
    """End TASK and the job that it runs; what it has so far is kept."""
    with_client(reach, lambda client: leave(client, task, "cancelled"))


@click.command(name="export")
@click.argument("task")
@click.pass_obj
def export_(reach: Reach, *, task: str) -> None:
    """Give TASK back to `factory run`; a job that runs goes on and is found by it."""
    with_client(reach, lambda client: leave(client, task, "exported"))


async def leave(client: Client, task: str, how: str) -> None:
    """Have a task let go, and wait until it has.

    Raises:
        EngineError: No worker did it in time.
    """
    await send(client, Sent(task_id=task, signal="leave", words=(how,)))
    handle = client.get_workflow_handle_for(TaskWorkflow.run, task)
    try:
        end = await asyncio.wait_for(handle.result(), LET_GO_S)
    except TimeoutError:
        raise EngineError(f"{task}: no worker has let go of it yet; it is told, and will") from None
    except WorkflowFailureError as error:
        raise EngineError(f"{task}: {error.cause}") from error
    click.echo(f"{task}: {end.how}")


@click.command()
@click.argument("phase")
@click.option("--no-go", metavar="TASK WHY", nargs=2, multiple=True, help="Not this one.")
@click.pass_obj
def gate(reach: Reach, *, phase: str, no_go: tuple[tuple[str, str], ...]) -> None:
    """Decide a phase in one sitting: every task of it that waits goes, but for those with --no-go."""

    async def go(client: Client) -> None:
        found = await tasks_under_way(client)
        waiting = [task for task in found if (task.phase, task.waits) == (phase, "gate")]
        refused = dict(no_go)
        unknown = set(refused) - {task.task_id for task in waiting}
        if unknown or not waiting:
            raise UsageError(f"phase {phase}: {', '.join(sorted(unknown)) or 'no task'} waits for your word")
        for task in waiting:
            decision = decided(is_go=task.task_id not in refused, why=refused.get(task.task_id, ""))
            await send(client, Sent(task_id=task.task_id, signal="decide", decision=decision))
            click.echo(f"{task.task_id}: {'go' if decision.is_go else 'no go'}")

    with_client(reach, go)


@click.command()
@click.argument("task")
@click.argument("why", default="")
@click.pass_obj
def hold(reach: Reach, *, task: str, why: str) -> None:
    """Hold TASK after the step that it is at."""
    with_client(
        reach, lambda client: send(client, Sent(task_id=task, signal="hold", decision=decided(why=why)))
    )


@click.command()
@click.argument("task")
@click.pass_obj
def release(reach: Reach, *, task: str) -> None:
    """Let a held TASK go on."""
    with_client(reach, lambda client: send(client, Sent(task_id=task, signal="release", decision=decided())))


def decided(*, is_go: bool = True, why: str = "") -> m.Decision:
    """A decision of whoever types this, now."""
    return m.Decision(who=getpass.getuser(), at_utc=datetime.now(UTC), is_go=is_go, why=why)


def new_id() -> str:
    """Of an answer."""
    return secrets.token_hex(8)
