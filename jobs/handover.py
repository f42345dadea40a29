"""What goes into a job's container, and what of it the host keeps.

Reads the pack and the supervisor's files; writes below the order's folder and into a temporary file.
"""

import dataclasses
import io
import json
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from jobs.bytecode import program_files
from jobs.order import Command, JobOrder
from jobs.pod import JOB_FOLDER, MARKER, OBJECTS_FOLDER, SOCKET
from jobs.runtimes.protocol import RELAY, RELAY_PORT, AgentCommand, ShellCalls
from jobs.runtimes.table import RUNTIMES

LOCAL = "localhost,127.0.0.1"
SPOOL_BYTES = 16 * 1024 * 1024
MASKED_CHARACTERS = 4
"""Shorter values are left alone: masking every `1` would make all output unreadable."""
STARTED = "started"
"""File in `in/`: from here on something may have run and cost."""


def agent_command(order: JobOrder) -> AgentCommand | None:
    """What the order's runtime starts; none for a job of commands.

    Raises:
        JobsError: The work lacks what the runtime needs.
    """
    return RUNTIMES[order.agent.runtime].command(order.agent) if order.agent else None


def order_document(order: JobOrder, agent: AgentCommand | None) -> dict[str, object]:
    """`order.json` as the supervisor reads it; it holds the values of `[job] env`, never the key."""
    limits = order.limits
    has_proxy = order.proxy is not None
    return {
        "schema_version": 1,
        "key": order.identity.key,
        "role": order.role.value,
        "commit": order.commit,
        "pack": f"{JOB_FOLDER}/in/tree.pack",
        "alternates": None if order.kept is None else OBJECTS_FOLDER,
        "deadline_s": limits.deadline_s,
        "first_call_s": limits.first_call_s,
        "disk_bytes": limits.disk_bytes,
        "patch_bytes": limits.patch_bytes,
        "patch_files": limits.patch_files,
        "same_command": limits.same_command,
        "gate_commands": list(order.agent.gate_commands) if order.agent else [],
        "env": {**_egress_env(order), **order.env},
        "secrets": _masked(order.env.values()),
        "always": _commands(order.always),
        "commands": _commands(order.commands),
        "agent": None if agent is None else _agent(order, agent),
        "socket": SOCKET if has_proxy else None,
        "relay_port": RELAY_PORT if has_proxy else None,
        "docker": limits.has_docker,
        "first_call_marker": MARKER if has_proxy and _uses_model(order) else None,
    }


def _masked(values: Iterable[str]) -> list[str]:
    """Those that are masked, each once, the longest first: one may be a part of another."""
    return sorted({value for value in values if len(value) >= MASKED_CHARACTERS}, key=len, reverse=True)


def _has_egress(order: JobOrder) -> bool:
    return order.proxy is not None and bool(order.proxy.egress)


def _egress_env(order: JobOrder) -> dict[str, str]:
    """What programs look at before they open a connection; only `https` goes by tunnels."""
    if not _has_egress(order):
        return {}
    names = ("HTTPS_PROXY", "https_proxy")
    return {**dict.fromkeys(names, RELAY), "NO_PROXY": LOCAL, "no_proxy": LOCAL}


def _uses_model(order: JobOrder) -> bool:
    return order.agent is not None and RUNTIMES[order.agent.runtime].uses_model


def _commands(commands: Sequence[Command]) -> list[dict[str, object]]:
    return [{"name": c.name, "run": c.run, "timeout_s": c.timeout_s, "env": dict(c.env)} for c in commands]


def _agent(order: JobOrder, agent: AgentCommand) -> dict[str, object]:
    return {
        "argv": list(agent.argv),
        "env": dict(agent.env),
        "stdin": agent.stdin,
        "review_path": order.agent.review_path if order.agent else None,
        "shell_calls": None if agent.shell_calls is None else _shell_calls(agent.shell_calls),
        "last_lines": [{"line": dict(line)} for line in agent.last_lines],
        "files": dict(agent.files),
        "cleared": list(agent.cleared),
        "hidden": list(agent.hidden),
    }


def _shell_calls(calls: ShellCalls) -> dict[str, object]:
    return {
        "line": dict(calls.line),
        "command": calls.command,
        "items": calls.items,
        "item": dict(calls.item),
    }


def kept_document(document: dict[str, object]) -> dict[str, object]:
    """The order as it may lie on the host: names of variables without their values."""
    kept = {**document, "env": _hide(document["env"]), "secrets": []}
    for group in ("always", "commands"):
        commands = document.get(group)
        # A proxy's address, given to a set-up command, may hold a password.
        kept[group] = [{**c, "env": _hide(c["env"])} for c in commands] if isinstance(commands, list) else []
    return kept


def _hide(env: object) -> dict[str, str]:
    return dict.fromkeys(sorted(env), "***") if isinstance(env, dict) else {}


def keep_inputs(order: JobOrder, document: dict[str, object]) -> None:
    """Write `in/order.json` and `in/prompt.md` below the order's folder."""
    folder = inputs_folder(order)
    # One by one: the mode of `mkdir` is not that of the parents it makes.
    order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    write_private(folder / "order.json", json.dumps(kept_document(document), indent=1).encode())
    if order.agent is not None:
        write_private(folder / "prompt.md", order.agent.prompt)


def inputs_folder(order: JobOrder) -> Path:
    """Where the inputs are kept on the host."""
    return order.folder / "in"


def mark_started(order: JobOrder) -> None:
    """Note on the host that the pod is about to run: without it, nothing can have cost anything."""
    write_private(inputs_folder(order) / STARTED, b"")


def was_started(order: JobOrder) -> bool:
    """Whether an earlier call, perhaps of a process now dead, came so far as to start the pod."""
    return (inputs_folder(order) / STARTED).exists()


def keep_log(order: JobOrder, name: str, text: bytes) -> None:
    """Keep what a container of ours wrote, the secrets masked; an empty text is not kept."""
    keys = order.proxy.secrets if order.proxy is not None else ()
    text = mask_values(text, (*keys, *_masked(order.env.values())))
    if text:
        write_private(order.folder / name, text)


def mask_values(text: bytes, values: Iterable[str]) -> bytes:
    """A text without these values, written as they are or as JSON has them."""
    forms = {form for value in values for form in (value, json.dumps(value)[1:-1])}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form.encode(errors="surrogateescape"), b"***")
    return text


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads, in place of whatever was there."""
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        path.chmod(0o600)
        file.write(data)


def pack_inputs(order: JobOrder, document: dict[str, object], inside: Path) -> IO[bytes]:
    """The tar archive that is unpacked at `/job`: root's, readable by nobody else.

    Returns:
        A file at its start, which the caller closes; it may lie on disk, for a pack can be big.
    """
    target: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - the caller's
    with tarfile.open(fileobj=target, mode="w") as tar:
        _add(tar, "order.json", json.dumps(document).encode(), 0o600)
        for folder in ("in", "inside", "inside/__pycache__", "out"):
            _add_folder(tar, folder)
        with order.pack.open("rb") as pack:
            entry = tarfile.TarInfo("in/tree.pack")
            entry.size = order.pack.stat().st_size
            entry.mode = 0o600
            tar.addfile(entry, pack)
        _add(tar, "in/prompt.md", order.agent.prompt if order.agent else b"", 0o600)
        for name, data in program_files(inside):
            _add(tar, f"inside/{name}", data, 0o600)
    target.seek(0)
    return target


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = mode
    tar.addfile(entry, io.BytesIO(data))


def _add_folder(tar: tarfile.TarFile, name: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE
    entry.mode = 0o700
    tar.addfile(entry)


def sidecar_line(order: JobOrder) -> bytes:
    """What the sidecar is told by standard input, one line: the only place where a key travels."""
    proxy = order.proxy
    if proxy is None:
        return b""
    document = {
        "socket": SOCKET,
        "marker": MARKER,
        "ledger": "/ledger/ledger.jsonl",
        "base_url": proxy.base_url,
        "secret": proxy.secret,
        "auth": proxy.auth,
        "protocol": proxy.protocol,
        "fallbacks": [dataclasses.asdict(fallback) for fallback in proxy.fallbacks],
        "masked": [value for value in _masked(order.env.values()) if value.isprintable()],
        "budget_microusd": proxy.budget_microusd,
        "deadline_s": order.limits.deadline_s,
        "story": None if proxy.story is None else proxy.story.decode("utf-8"),
        "story_role": proxy.story_role,
        "story_round": proxy.story_round,
        "egress": list(proxy.egress),
        "prices": {model: price.model_dump(mode="json") for model, price in proxy.prices.items()},
    }
    return json.dumps(document).encode() + b"\n"
