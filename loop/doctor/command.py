"""The command `factory doctor`: arguments in, exit code out."""

import sys
from pathlib import Path

import click

from loop.guard import guarded
from loop.options import repo_option


@click.command()
@repo_option
@click.option("--json", "is_json", is_flag=True, help="Print one object a check, each on its own line.")
@click.option(
    "--suggest",
    "is_suggestion",
    is_flag=True,
    help="Print a factory.toml made of the repo's own files instead.",
)
def doctor(repo: Path, *, is_json: bool, is_suggestion: bool) -> None:
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
    from loop.doctor.examination import doctor as examine  # noqa: PLC0415

    sys.exit(guarded(lambda: examine(repo.resolve(), is_json=is_json)))
