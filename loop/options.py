"""What several commands take: the option that names the repo, and values that need more than click.

Limits: reads the file that `@FILE` names, nothing else.
"""

from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from instrument.money import MICROUSD_PER_USD
from loop.allowances import LOOKALIKE
from loop.errors import UsageError
from loop.globs import fault_of
from loop.machine.resume import GRANTED

repo_option = click.option(
    "--repo",
    type=click.Path(path_type=Path, exists=True),
    default=Path(),
    help="A folder of the repo; else the current one.",
)
COUNTERS = ", ".join(GRANTED)
SCALES = {"usd": MICROUSD_PER_USD, "minutes": 60_000}
"""What one unit of a budget is in the state's own."""


def read_ruling(text: str) -> str:
    """The ruling itself; `@FILE` (or `F3=@FILE`) is read.

    Raises:
        UsageError: The file cannot be read, or there is nothing in it.
    """
    head, mark, rest = text.partition("=")
    prefix = f"{head}{mark}" if mark and head.removeprefix("F").isdecimal() and head[:1] == "F" else ""
    body = rest if prefix else text
    if body.startswith("@"):
        try:
            body = Path(body[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ruling {text}: the file cannot be read as UTF-8 text ({error})") from error
    if not body.strip():
        raise UsageError("--ruling is empty; write what you decide")
    return prefix + body


def read_grant(text: str) -> tuple[str, int]:
    """Counter and cap of `COUNTER=N`; dollars come as micro-dollars, minutes as milliseconds.

    Raises:
        UsageError: The counter is unknown, or N is no number that it can have.
    """
    counter, mark, value = text.partition("=")
    if not mark or counter not in GRANTED:
        raise UsageError(f"--grant {text}: write COUNTER=N with one of {COUNTERS}")
    try:
        amount = Decimal(value) * SCALES.get(counter, 1)
        number = int(amount)
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"--grant {text}: {value or 'nothing'} is no number") from None
    if number != amount or number < 0:
        raise UsageError(f"--grant {text}: {value} is not a cap that {counter} can have")
    return counter, number


def read_glob(text: str) -> str:
    """A gitignore pattern, or one behind `secret:`.

    Raises:
        UsageError: It is none.
    """
    fault = fault_of(text.removeprefix(LOOKALIKE))
    if fault is not None:
        raise UsageError(f"--allow {text}: {fault}")
    return text
