"""The command `factory doctor`: arguments in, exit code out."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import click

from loop.options import repo_option

T = TypeVar("T")


class Guarded(Protocol):
    """Does something and returns what it gave; an expected failure ends the program with one sentence."""

    def __call__(self, go: Callable[[], T], /) -> T:
        """Do it."""
        ...


def doctor_command(guarded: Guarded) -> click.Command:
    """The click command, ready for `main.add_command`.

    Args:
        guarded: Turns expected failures into one sentence and an exit code.
    """

    @click.command("doctor")
    @repo_option
    @click.option("--json", "is_json", is_flag=True, help="Print one object a check, each on its own line.")
    @click.option(
        "--suggest",
        "is_suggestion",
        is_flag=True,
        help="Print a factory.toml made of the repo's own files instead.",
    )
    def command(repo: Path, *, is_json: bool, is_suggestion: bool) -> None:
        """Say whether the factory works here, on this repo: one line a check; nothing is changed.

        ok: all is well. note: a run works, but know this. failed: a run would not begin, or would
        stop. skipped: what it looks at is absent by choice, or something before it failed. No model
        is called. Exit codes: 0 nothing failed, 1 something did.

        With --json each line is an object: name, state, found, mend (may be empty), duration_ms.

        With --suggest nothing is examined: a proposed factory.toml goes to stdout, made of what CI,
        Makefile, package and pre-commit files committed on the default branch say.
        """
        if is_suggestion:
            from loop.doctor.suggest import propose  # noqa: PLC0415 - as below

            click.echo(guarded(lambda: propose(repo.resolve())), nl=False)
            return
        # Imported here, since nobody else needs it and it takes its time.
        from loop.doctor.examination import doctor  # noqa: PLC0415

        sys.exit(guarded(lambda: doctor(repo.resolve(), is_json=is_json)))

    return command
