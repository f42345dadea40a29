"""The `factory` command: arguments in, exit code out.

Limits: the outermost frame; every error becomes one sentence here.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from instrument.commands.status import status
from instrument.schema.vocabulary import Purpose, RuntimeName
from instrument.unheard import QuietGroup, carry_on_unheard
from jobs.runner import DockerJobs
from loop.bakeoff.command import bakeoff_command
from loop.canary import ensure_canary, run_canary
from loop.doctor.command import doctor
from loop.guard import guarded
from loop.lint import lint_command
from loop.new_task import write_new
from loop.options import COUNTERS, read_glob, read_grant, read_ruling, repo_option
from loop.progress import Progress
from loop.replay.command import replay_command
from loop.request import Ending, RunRequest
from loop.run import World
from loop.run import run as run_task
from loop.signals import Signals
from loop.world import real_world

T = TypeVar("T")
RUNTIMES = [name.value for name in RuntimeName]


@click.group(cls=QuietGroup)
@click.version_option(package_name="factory-loop")
def main() -> None:
    """Carry task files to merged commits: models write, a deterministic program decides."""


@main.command()
@click.argument("task")
@repo_option
@click.option(
    "--ruling",
    "rulings",
    metavar="[F3=]TEXT|@FILE",
    multiple=True,
    help="Answer the question that the task waits for; with F3= only that finding.",
)
@click.option("--grant", "grants", metavar="COUNTER=N", multiple=True, help=f"Set a cap: {COUNTERS}.")
@click.option(
    "--allow",
    metavar="GLOB",
    multiple=True,
    help="Let the task touch these paths; secret:GLOB: hold what only looks like a secret.",
)
@click.option("--park", metavar="WHY", help="Put a stopped task aside.")
@click.option("--wait", is_flag=True, help="Wait for whatever the task has to wait for.")
@click.option("--dry-run", is_flag=True, help="Say what the next step would be and may cost; do nothing.")
@click.option("--auto-merge", is_flag=True, help="Merge without asking once the gate has passed.")
@click.option("--restart", is_flag=True, help="Begin again; the old run is kept, its cost counts.")
@click.option("--runtime", type=click.Choice(RUNTIMES), help="The agent program, over task and repo.")
@click.option("--model", metavar="ID", help="The model, over task and repo.")
@click.option("--json", "as_json", is_flag=True, help="Print one object last on stdout.")
@click.option(
    "--story",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Let a scripted provider answer from this story instead of the real one.",
)
@click.option(
    "--purpose", type=click.Choice([p.value for p in Purpose]), default=Purpose.TASK.value, hidden=True
)
def run(  # noqa: PLR0913 - one parameter an option
    *,
    task: str,
    repo: Path,
    rulings: tuple[str, ...],
    grants: tuple[str, ...],
    allow: tuple[str, ...],
    park: str | None,
    wait: bool,
    dry_run: bool,
    auto_merge: bool,
    restart: bool,
    runtime: str | None,
    model: str | None,
    as_json: bool,
    story: Path | None,
    purpose: str,
) -> None:
    """Carry TASK (a committed Markdown file) to a merged commit, or to a stop with one question.

    Run the same command again to continue. Exit codes: 0 done, 2 usage, 3 stopped for a
    person, 4 busy or waiting, 130 and 143 after a signal.
    """
    # Progress is for whoever looks on: that nobody does any more is no reason to end.
    carry_on_unheard()

    def go() -> Ending:
        request = RunRequest(
            task=task,
            repo=repo.resolve(),
            rulings=tuple(map(read_ruling, rulings)),
            grants=tuple(map(read_grant, grants)),
            allow=tuple(map(read_glob, allow)),
            park=park,
            wait=wait,
            dry_run=dry_run,
            auto_merge=auto_merge,
            restart=restart,
            runtime=RuntimeName(runtime) if runtime else None,
            model=model,
            story=story.read_bytes() if story else None,
            purpose=Purpose(purpose),
        )
        _say_if_nothing_is_kept()
        return run_task(request, _paid_world(_progress()))

    ending = guarded(go)
    if dry_run:
        click.echo(ending.text, nl=False)
        return
    _print_ending(ending, as_json=as_json)


def _paid_world(progress: Progress) -> World:
    """The same where real providers may be asked: the canary goes before the first paid call."""
    jobs, world = _world(progress)
    return replace(world, before_paid=lambda: ensure_canary(world, jobs.combination))


def _world(progress: Progress | None = None) -> tuple[DockerJobs, World]:
    """This process's real surroundings; signals are taken over from here on."""
    signals = Signals()
    signals.install()
    return real_world(os.environ, progress or _progress(), signals)


def _progress() -> Progress:
    """A live view where a person looks on, plain lines where not."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return Progress(sys.stderr)
    # Imported here, since nobody else needs it and it takes its time.
    from loop.live import LiveProgress  # noqa: PLC0415

    return LiveProgress(sys.stderr)


def _print_ending(ending: Ending, *, as_json: bool) -> NoReturn:
    """Print the result on stdout, leave with its exit code."""
    if as_json:
        click.echo(ending.result.model_dump_json())
    else:
        click.echo(ending.text, nl=False)
    sys.exit(ending.result.exit_code)


def _say_if_nothing_is_kept() -> None:
    if os.environ.get("CI") and not os.environ.get("FACTORY_HOME"):
        click.echo("CI without FACTORY_HOME: the run folder is not kept, so a rerun begins anew.", err=True)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print one object last on stdout.")
def canary(*, as_json: bool) -> None:
    """Land a scripted task with the real agent, engine and images, at no cost."""
    carry_on_unheard()
    _print_ending(guarded(lambda: run_canary(_world()[1])), as_json=as_json)


@main.command()
@click.argument("slug")
@repo_option
def new(slug: str, *, repo: Path) -> None:
    """Write tasks/NNN-SLUG.md from the template, under the next free number."""
    path = guarded(lambda: write_new(slug, repo.resolve()))
    click.echo(f"{path}: fill in files and the text, commit it, then: factory run {path}")


main.add_command(status)
main.add_command(lint_command(lambda: _world()[1]))
main.add_command(doctor)
main.add_command(bakeoff_command(_paid_world))
main.add_command(replay_command(lambda: _world()[1]))
