"""Baselines that passed, kept per tree, commands and image: facts that need not be found twice.

Limits: writes below `<home>/baselines`; a file that cannot be read is as good as none.
"""

import hashlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from instrument.schema.job import CommandEnd, ContainerEnd, JobEnd, JobReport
from instrument.schema.vocabulary import Ended
from jobs.order import Command, JobOrder
from loop.atomic import write_atomic
from loop.home import make_private
from loop.shell.context import Context

COMMANDS: TypeAdapter[tuple[CommandEnd, ...]] = TypeAdapter(tuple[CommandEnd, ...])


def find_baseline(context: Context, order: JobOrder) -> JobEnd | None:
    """The end of an earlier job that did the same, as this one's; it took no time. None: run it."""
    try:
        commands = COMMANDS.validate_json(_path(context, order).read_bytes(), strict=True)
    except (OSError, ValidationError):
        return None
    report = JobReport(
        key=order.identity.key,
        role=order.role,
        ended=Ended.EXITED,
        exit_code=0,
        signal=None,
        started_utc=context.now(),
        duration_ms=0,
        commands=commands,
    )
    folder = order.folder.relative_to(context.folder).as_posix()
    return JobEnd(key=order.identity.key, folder=folder, container=ContainerEnd(exit_code=0), report=report)


def keep_baseline(context: Context, order: JobOrder, end: JobEnd) -> None:
    """Keep a baseline that passed; one that did not is looked at again."""
    if end.report is not None:
        path = _path(context, order)
        make_private(path.parent)
        write_atomic(path, COMMANDS.dump_json(end.report.commands))


def _path(context: Context, order: JobOrder) -> Path:
    parts = [context.store.tree_of(order.commit), order.image]
    parts += [_text(command) for command in (*order.always, *order.commands)]
    parts += [f"{name}={value}" for name, value in sorted(order.env.items())]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return context.home / "baselines" / f"{digest}.json"


def _text(command: Command) -> str:
    return f"{command.name}\0{command.run}\0{command.timeout_s}\0{sorted(command.env.items())}"
