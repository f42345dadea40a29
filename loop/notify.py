"""Tells somebody of a stop: once, and again only when it has changed.

Limits: `told.json` of the task's folder remembers what was told; an address never leaves the child that
delivers. A failure is a line for the person and an event, nothing else.
"""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import orjson
from pydantic import ValidationError

from instrument.schema.base import Frozen
from instrument.schema.events import Event, Notified
from instrument.schema.state import Stop, TaskState
from instrument.schema.vocabulary import Purpose, Stage, StopReason
from loop.atomic import write_atomic

CONFIGURED_BY = ("FACTORY_NOTIFY", "FACTORY_NOTIFY_FILE")
TOLD_FILE = "told.json"
TIMEOUT_S = 10
"""For everything; the child is ended then."""
SERVICES_TIMEOUT_S = 8
"""For the services, so that the child can still say which of them took the message."""


class Record(Protocol):
    """Whoever keeps the record, as `Journal.append`."""

    def __call__(self, kind: type[Event], **fields: object) -> None:
        """Keep one event."""
        ...


class Delivery(Frozen):
    """What came of one message."""

    told: tuple[str, ...] = ()
    """Services that took it, each a hash."""
    failed: tuple[str, ...] = ()
    """Those that did not, each a word for a person without its address; empty: nothing is left to do."""


class Told(Frozen):
    """`told.json`: the stop that was told last, and to whom."""

    schema_version: Literal[1] = 1
    digest: str
    """Of what the stop is about."""
    services: tuple[str, ...] = ()
    is_complete: bool
    """Whether every service has it; the others are tried again at the next run."""


def tell(
    folder: Path,
    state: TaskState,
    brief: str,
    environment: Mapping[str, str],
    *,
    say: Callable[[str], None],
    record: Record,
) -> None:
    """Tell of the stop that a run ended in; nothing where nobody wants to know or everybody does already.

    Args:
        folder: The task's own.
        state: As the run left it; one that is not stopped only lets the last stop be forgotten.
        brief: The body of the message.
        environment: Names the services, see `loop/deliver.py`.
        say: Called with one line where a delivery failed.
        record: Called with one event where one was tried.
    """
    stop = state.stop
    if stop is None or state.stage is not Stage.STOPPED:
        (folder / TOLD_FILE).unlink(missing_ok=True)
        return
    # Who parks a task knows of it, and only a task is worth a call.
    if state.purpose is not Purpose.TASK or stop.reason is StopReason.PARKED:
        return
    digest = _digest(state, stop)
    delivery = _tell_once(folder, digest, f"{state.task_id} stopped: {stop.reason}", brief, environment, say)
    if delivery is not None:
        record(Notified, ok=len(delivery.told), failed=len(delivery.failed))


def tell_corrupt(
    folder: Path, task_id: str, brief: str, environment: Mapping[str, str], *, say: Callable[[str], None]
) -> None:
    """The same where the state cannot be read, so that nothing can be recorded either."""
    digest = hashlib.sha256(brief.encode("utf-8", "replace")).hexdigest()
    _tell_once(folder, digest, f"{task_id} stopped: {StopReason.STATE_CORRUPT}", brief, environment, say)


def _tell_once(
    folder: Path,
    digest: str,
    title: str,
    brief: str,
    environment: Mapping[str, str],
    say: Callable[[str], None],
) -> Delivery | None:
    """Deliver to those who do not know yet, and remember them; none: nobody is to be told."""
    path = folder / TOLD_FILE
    before = _told_of(path, digest)
    if before.is_complete:
        return None
    delivery = deliver(title, brief, environment, skip=before.services)
    if delivery is None:
        return None
    services = before.services + delivery.told
    after = Told(digest=digest, services=services, is_complete=not delivery.failed)
    try:
        write_atomic(path, after.model_dump_json().encode())
    except OSError as error:
        say(f"Who was told of this stop cannot be kept, so the next run tells again: {error}.")
    if delivery.failed:
        say(f"Not told of this stop: {', '.join(delivery.failed)}; the next run tries again.")
    return delivery


def deliver(
    title: str, body: str, environment: Mapping[str, str], *, skip: tuple[str, ...] = ()
) -> Delivery | None:
    """Hand one message to all configured services but those in `skip`; none: nothing is configured.

    Takes ten seconds at most; Ctrl-C in a terminal ends it, too.
    """
    if not any(environment.get(name, "").strip() for name in CONFIGURED_BY):
        return None
    order = {"title": title, "body": body, "skip": skip, "timeout_s": SERVICES_TIMEOUT_S}
    try:
        done = subprocess.run(
            # -P: neither the current folder, the repo, nor that program's own holds modules for it.
            [sys.executable, "-P", str(Path(__file__).with_name("deliver.py"))],
            input=orjson.dumps(order),
            stdout=subprocess.PIPE,
            # Apprise and what it uses write addresses there.
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            timeout=TIMEOUT_S,
            check=True,
        )
        return Delivery.model_validate_json(done.stdout)
    except (OSError, subprocess.SubprocessError, ValidationError):
        return Delivery(failed=("all",))


def _told_of(path: Path, digest: str) -> Told:
    """What is known of this very stop; a file about another one, or a damaged one, knows nothing of it."""
    try:
        told = Told.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        told = None
    return told if told and told.digest == digest else Told(digest=digest, is_complete=False)


def _digest(state: TaskState, stop: Stop) -> str:
    """What makes a stop another one: the stop itself, and whatever a person has said since."""
    about = (
        state.run_id,
        (stop.reason, stop.stage, stop.outcome, stop.details, stop.choices),
        state.task_blob,
        len(state.rulings),
        state.allowed,
        state.grants.model_dump_json(),
    )
    return hashlib.sha256(orjson.dumps(about)).hexdigest()
