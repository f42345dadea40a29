"""`factory bakeoff`: its options, and what came of them on stdout.

Limits: the click command only; everything else is beside it.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from instrument.unheard import carry_on_unheard
from loop.guard import guarded
from loop.options import repo_option
from loop.progress import Progress
from loop.run import World


def bakeoff_command(world: Callable[[Progress], World]) -> click.Command:
    """The click command, ready for `main.add_command`.

    Args:
        world: Makes the real surroundings with this progress, once.
    """

    @click.command("bakeoff")
    @click.argument("tasks", nargs=-1, metavar="[TASK]...")
    @click.option(
        "--from", "replayed", multiple=True, metavar="TASK", help="A finished task, from where it began."
    )
    @click.option(
        "--with",
        "variants",
        multiple=True,
        metavar="RUNTIME[:MODEL][,KEY=VALUE]",
        help="Who does them; KEY is one of [agent] in factory.toml.",
    )
    @click.option(
        "--repeat", type=click.IntRange(1, 100), default=1, help="How often each; more can tell more."
    )
    @repo_option
    @click.option("--resume", metavar="ID", help="Go on with this one; the same command does, too.")
    @click.option("--rescore", "rescored", metavar="ID", help="Check every accepted diff again.")
    @click.option(
        "--replay-reviews", "reviewed", metavar="ID", help="Have the reviewed diffs reviewed by --with."
    )
    @click.option("--budget-usd", metavar="N", help="Begin no cell that could take the whole beyond this.")
    @click.option(
        "--story",
        "stories",
        multiple=True,
        metavar="[KEY=]FILE",
        help="A scripted provider's answers; KEY is a task's number or a runtime.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one object last on stdout.")
    def command(  # noqa: PLR0913 - one parameter an option
        *,
        tasks: tuple[str, ...],
        replayed: tuple[str, ...],
        variants: tuple[str, ...],
        repeat: int,
        repo: Path,
        resume: str | None,
        rescored: str | None,
        reviewed: str | None,
        budget_usd: str | None,
        stories: tuple[str, ...],
        as_json: bool,
    ) -> None:
        """Have the same TASKs done by several agents, each in a scratch clone; nothing is merged.

        Prints what was accepted, in what time, at what cost, and whether the sample can tell
        anything. Exit codes: 0 every cell ended, 1 a rescore found a change, 2 usage, 3 cells are
        left, 4 busy, 130 and 143 after a signal.
        """
        carry_on_unheard()
        # Imported here: no other command needs it, and all of them would wait for it.
        from loop.bakeoff.progress import open_progress  # noqa: PLC0415
        from loop.bakeoff.typed import Typed, run_typed  # noqa: PLC0415

        typed = Typed(
            tasks=tasks,
            replayed=replayed,
            variants=variants,
            repeats=repeat,
            repo=repo.resolve(),
            resume=resume,
            rescore=rescored,
            reviews=reviewed,
            budget_usd=budget_usd,
            stories=stories,
        )

        def go() -> tuple[str, int]:
            progress = open_progress(sys.stderr, os.environ)
            return run_typed(typed, world(progress), progress, as_json=as_json)

        text, code = guarded(go)
        click.echo(text, nl=False)
        sys.exit(code)

    return command
