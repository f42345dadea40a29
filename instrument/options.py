"""What several commands of `instrument` have in common: filters, reading, printing.

Reads nothing by itself.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from instrument.asked import Asked
from instrument.found import TaskNotFoundError
from instrument.schema.vocabulary import Purpose, RuntimeName
from instrument.window import Window, parse_window

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])
ALL = "all"
_ASCII = {"≥": ">=", "…": "...", "→": "->"}


class Refusal(click.ClickException):
    """What was typed is well formed, but there is no such thing; one sentence, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence alone: how the command is typed is not what is wrong."""
        click.echo(self.message, file=file, err=True)


class Span(click.ParamType[Window]):
    """A span of time; see `parse_window`."""

    name = "span"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Window:
        """Read it, or refuse it with one sentence."""
        if isinstance(value, Window):
            return value
        try:
            return parse_window(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_FILTERS = (
    click.option(
        "--purpose",
        type=click.Choice([*(purpose.value for purpose in Purpose), ALL]),
        default=Purpose.TASK.value,
        show_default=True,
        help="Which tasks count.",
    ),
    click.option("--repo", help="Only tasks of this repo."),
    click.option(
        "--since", type=Span(), help="Only tasks that ended in or after this day, week or month (UTC)."
    ),
    click.option("--until", type=Span(), help="Only tasks that ended in or before it."),
    click.option("--runtime", type=click.Choice([name.value for name in RuntimeName]), help="Of the coder."),
    click.option("--model", help="The model that answered the coder."),
    click.option(
        "--state", type=click.Choice(["accepted", "done", "stopped", "open"]), help="How it stands."
    ),
)


def filters(command: Command) -> Command:
    """The options that say which tasks count; see `asked_of`."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def asked_of(
    *,
    purpose: str,
    since: Window | None,
    until: Window | None,
    runtime: str | None,
    **others: Any,  # noqa: ANN401 - as above
) -> Asked:
    """The filters as typed."""
    return Asked(
        purpose=None if purpose == ALL else Purpose(purpose),
        window=Window(since.start if since else None, until.end if until else None),
        runtime=RuntimeName(runtime) if runtime else None,
        **others,
    )


def read(home: Path, read: Callable[[], T]) -> T:
    """Read the run folder, or say in one sentence what is wrong."""
    try:
        return read()
    except TaskNotFoundError as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        sentence = (
            f"the run folder {home} cannot be read ({error.strerror}); set FACTORY_HOME to the right one"
        )
        raise Refusal(sentence) from error


def show(text: str) -> None:
    """Print text as it is."""
    click.echo(_printable(text), nl=False)


def _printable(text: str) -> str:
    """Fit text to the terminal's encoding: a Latin-1 one has no `≥` and would make a stack trace."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for mark, plain in _ASCII.items():
            text = text.replace(mark, plain)
        return text.encode(encoding, "replace").decode(encoding)
    return text


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Ctrl-C ends what runs until then, with the shells' exit code for it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
