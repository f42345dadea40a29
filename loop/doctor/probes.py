"""Jobs of the examination's own: does a container of this repo's image run, and does a call get through.

Runs real jobs, removes them whatever happens; writes below the scratch folder alone.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from instrument.money import show_usd
from instrument.schema.job import CommandEnd, JobEnd
from instrument.schema.vocabulary import Purpose, Role, RuntimeName
from instrument.show import plain
from jobs.errors import JobsError
from jobs.order import AgentWork, Command, Identity, JobOrder, ProxyOrder
from jobs.pins import pinned_versions
from jobs.pod import SOCKET
from loop.doctor.finding import Finding, failed, ok
from loop.doctor.surroundings import Surroundings
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.seed import seed_repository
from loop.git.store import Store

DEADLINE_S = 120
VERSION_S = 60
TAIL_CHARS = 200
MODEL = "claude-sonnet-4-5"
STORY = b"rounds: [{role: coder, turns: [{finish: Heard., usage: {input: 10, output: 2}}]}]"
BUDGET_MICROUSD = 1_000_000
ASK = f"""python3 - <<'END'
import http.client, json, socket
call = http.client.HTTPConnection("localhost")
call.sock = socket.socket(socket.AF_UNIX)
call.sock.settimeout(30)
call.sock.connect("{SOCKET}")
body = {{"model": "{MODEL}", "max_tokens": 16, "messages": [{{"role": "user", "content": "Hello?"}}]}}
call.request("POST", "/v1/messages", json.dumps(body), {{"content-type": "application/json"}})
answer = call.getresponse()
print(answer.status, answer.read().decode())
raise SystemExit(answer.status != 200)
END"""
REBUILD = "`python -m jobs clean`, then `python -m jobs images`; if that does not help, please report it"


def look_at_programs(surroundings: Surroundings) -> Finding:
    """Whether each agent program answers in a container without network, in the version that we pin."""
    pins = pinned_versions()
    commands = tuple(Command(name, f"{name} --version", timeout_s=VERSION_S) for name in pins)
    with probe(surroundings, "programs", role=Role.CHECK) as plain_order:
        order = replace(plain_order, commands=commands)
        end = surroundings.jobs.run(order, resumed=False)
        ends = {command.name: command for command in end.report.commands} if end.report else {}
        faults = [
            f"{name} {_said(order, ends.get(name))}, not {version}"
            for name, version in pins.items()
            if not _has_version(order, ends.get(name), version)
        ]
    if not ends:
        return failed(f"no program was started: {fault_of(end)}", REBUILD)
    if faults:
        return failed("; ".join(faults), REBUILD)
    return ok(", ".join(f"{name} {version}" for name, version in pins.items()))


def look_at_request(surroundings: Surroundings) -> Finding:
    """Whether a call gets from a job through its pod's socket to a scripted provider, and is metered."""
    work = AgentWork(RuntimeName.COMMAND, MODEL, b"", line=ASK)
    proxy = ProxyOrder(
        "", secret="", budget_microusd=BUDGET_MICROUSD, story=STORY, story_role=Role.CODER, story_round=1
    )
    with probe(surroundings, "request", role=Role.CODER) as order:
        end = surroundings.jobs.run(replace(order, agent=work, proxy=proxy), resumed=False)
        log = _tail(order.folder / "out" / "transcript.jsonl")
    calls = end.ledger.calls
    if end.report is None or end.report.exit_code != 0:
        return failed(f"the call did not get through: {log or fault_of(end)}", REBUILD)
    if len(calls) != 1 or not calls[0].settled or not end.ledger.cost_microusd:
        return failed(f"the call was answered, but its ledger has {len(calls)} calls", REBUILD)
    return ok(f"answered, and metered at {show_usd(end.ledger.cost_microusd)} of play money")


@contextmanager
def probe(surroundings: Surroundings, name: str, *, role: Role) -> Iterator[JobOrder]:
    """The order of a job on a tiny tree; its containers are gone at the end of the block."""
    image = surroundings.start_image or surroundings.job_image
    store, commit = _tiny(surroundings, surroundings.scratch / name)
    with identified(surroundings, name) as identity:
        yield JobOrder(
            identity=identity,
            role=role,
            image=image,
            commit=commit,
            pack=store.write_pack(commit, surroundings.scratch / name / "tree.pack"),
            folder=surroundings.scratch / name / "job",
            limits=replace(surroundings.config.limits, deadline_s=DEADLINE_S),
        )


@contextmanager
def identified(surroundings: Surroundings, name: str) -> Iterator[Identity]:
    """Names for one job, by which all of it is removed at the end of the block."""
    run_id = secrets.token_hex(4)
    try:
        yield Identity(run_id, f"doctor-{name}", "doctor", Purpose.PROBE)
    finally:
        with suppress(JobsError):
            surroundings.jobs.reap(run_id, keep=None)


def fault_of(end: JobEnd) -> str:
    """Why a job came to nothing, in a few words."""
    report = end.report
    if report is None:
        return end.report_error or "its container was lost"
    return report.error or (f"exit code {report.exit_code}" if report.exit_code else f"it {report.ended}")


def last_line(order: JobOrder, end: CommandEnd | None) -> str:
    """The last words that a command printed, on one line; empty where it printed none."""
    return _tail(order.folder / end.output) if end is not None else ""


def _has_version(order: JobOrder, end: CommandEnd | None, version: str) -> bool:
    return end is not None and end.has_passed and version in last_line(order, end).split()


def _said(order: JobOrder, end: CommandEnd | None) -> str:
    if end is None:
        return "was not started"
    how = "says" if end.has_passed else "fails and says"
    return f"{how} {last_line(order, end) or 'nothing'}"


def _tail(file: Path) -> str:
    try:
        lines = file.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return plain(lines[-1].strip())[-TAIL_CHARS:] if lines else ""


def _tiny(surroundings: Surroundings, folder: Path) -> tuple[Store, str]:
    """A repository of one file, and its commit."""
    source = folder / "source"
    source.mkdir(parents=True)
    (source / "README").write_text("A probe.\n", encoding="utf-8")
    seed_repository(source, folder / "checkout", folder / "origin.git")
    store = Store(folder / "origin.git", surroundings.checkout)
    end = run_git(["rev-parse", "main"], profile=SEALED, git_dir=store.path)
    return store, end.out.decode().strip()
