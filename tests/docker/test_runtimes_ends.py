"""How each real agent program ends, in a real container: every ending gives its own fact.

A background process that is left behind, and a budget that is gone, are in `test_runtimes.py`.
"""

import io
import shlex
import tarfile
from collections.abc import Iterator
from contextlib import closing

import docker
import pytest

from instrument.schema.vocabulary import AgentFault, Ended, RuntimeName
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.order import MIB, AgentWork, JobOrder, Limits, ProxyOrder
from jobs.runtimes.table import RUNTIMES
from support.gitkit import make_repo
from support.pods import World, write_pack
from support.programs import CLAUDE, PROMPT, Program, diff_of, every_program, make_order, run
from support.witness import Witness, open_witness

pytestmark = pytest.mark.docker

HAVE_MOST_TURNS = (CLAUDE,)
"""Codex has no such setting. opencode's `steps` asks the model to come to an end and ends nothing."""

ERROR_STORY = """
rounds:
  - role: coder
    turns:
      - {run: "echo 1 >> c.txt", usage: {input: 1200, output: 80}}
      - {error: {status: 400, type: invalid_request_error, message: "no such thing here"}}
"""
CRASH_STORY = """
rounds:
  - role: coder
    turns:
      - {run: "echo 1 >> c.txt; kill -9 $PPID; sleep 9", usage: {input: 1200, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""
WORK_STORY = """
rounds:
  - role: coder
    turns:
      - {run: "echo 1 >> c.txt", usage: {input: 1200, output: 80}}
      - {run: "echo 2 >> c.txt", usage: {input: 1200, output: 80}}
      - {finish: "Done.", usage: {input: 100, output: 20}}
"""

STAY_JS = 'process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));\n'
STAY_SH = """\
#!/bin/dash
case $2 in *'exec "$0"'*) /bin/dash "$@"; exec sleep 300;; esac
exec /bin/dash "$@"
"""
"""In place of the shell that starts those programs which do not print their version."""


@pytest.fixture(scope="module")
def narrow(engine: Engine) -> Iterator[Witness]:
    """A provider whose models take no prompt of 300 KB."""
    with open_witness(ImageShelf(engine).sidecar(), WORK_STORY, [], most_bytes=250_000) as opened:
        yield opened


@pytest.fixture(scope="module")
def staying_image(job_image: str) -> Iterator[str]:
    """The job image with a shell that stays after an agent program's end."""
    with closing(docker.from_env()) as client:
        container = client.containers.create(job_image)
        image = None
        try:
            container.put_archive("/bin", program_tar("sh", STAY_SH))
            image = container.commit()
            yield str(image.id)
        finally:
            container.remove()
            if image is not None:
                client.images.remove(image.id)


def program_tar(name: str, text: str) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(text), 0o755
        tar.addfile(entry, io.BytesIO(text.encode()))
    return target.getvalue()


def transcript_of(order: JobOrder) -> bytes:
    return (order.folder / "out" / "transcript.jsonl").read_bytes()


@every_program
def test_an_error_of_the_provider_has_its_name(world: World, program: Program) -> None:
    end, report, agent_run = run(world, make_order(world, program, "error", ERROR_STORY))
    assert (report.ended, report.signal) == (Ended.EXITED, None)
    assert end.ledger.calls[-1].status == 400
    assert not agent_run.finished
    assert agent_run.fault is AgentFault.PROVIDER_ERROR
    assert "no such thing here" in str(agent_run.error)
    assert agent_run.transcript.errors


@every_program
def test_a_crash_is_told_by_its_signal(world: World, program: Program) -> None:
    order = make_order(world, program, "crash", CRASH_STORY)
    _, report, agent_run = run(world, order)
    assert (report.ended, report.exit_code, report.signal) == (Ended.EXITED, None, 9)
    assert (agent_run.finished, agent_run.fault) == (False, AgentFault.ENDED_EARLY)
    assert "+1" in diff_of(order)


@pytest.mark.parametrize("program", HAVE_MOST_TURNS, ids=lambda program: program.label)
def test_the_most_turns_are_told_as_such(world: World, program: Program) -> None:
    command = RUNTIMES[program.name].command(program.work())
    env = [f"{name}={value}" for name, value in command.env.items()]
    # No job sets a limit on turns: the program itself is started as a shell line that does.
    line = shlex.join(["env", *env, *command.argv, "--max-turns", "1"])
    work = AgentWork(RuntimeName.COMMAND, program.model, b"Do it.", line=line)
    order = make_order(world, program, "turns", WORK_STORY, agent=work)
    end, report, _ = run(world, order)
    told = RUNTIMES[program.name].parse(program.work(), transcript_of(order), b"")
    assert (report.ended, report.signal) == (Ended.EXITED, None)
    assert [call.status for call in end.ledger.calls] == [200]
    assert (told.finished, told.fault) == (False, AgentFault.MAX_TURNS)
    assert diff_of(order).count("\n+1\n") == 1


@every_program
def test_a_prompt_that_is_too_long_exhausts_the_context(
    world: World, narrow: Witness, program: Program
) -> None:
    proxy = ProxyOrder(narrow.url, secret="sk-x", protocol=program.provider, budget_microusd=20_000_000)
    order = make_order(world, program, "long", "", agent=program.work(PROMPT.encode()), proxy=proxy)
    end, report, agent_run = run(world, order)
    assert (report.ended, report.signal) == (Ended.EXITED, None)
    assert {call.status for call in end.ledger.calls} == {400}
    assert (agent_run.finished, agent_run.fault) == (False, AgentFault.CONTEXT_EXHAUSTED)
    assert agent_run.error
    assert agent_run.transcript.errors


@every_program
def test_a_program_that_hangs_at_its_start_is_ended_as_one_that_made_no_call(
    world: World, program: Program
) -> None:
    # None of them is as fast as this.
    limits = Limits(memory_bytes=2048 * MIB, deadline_s=60, same_command=0, first_call_s=0.05)
    _, report, agent_run = run(world, make_order(world, program, "start", WORK_STORY, limits=limits))
    assert (report.ended, report.signal) == (Ended.NO_FIRST_CALL, 9)
    assert (agent_run.finished, agent_run.fault) == (False, AgentFault.ENDED_EARLY)


@every_program
def test_a_program_that_stays_after_its_last_line_is_ended_and_its_work_counts(
    world: World, staying_image: str, program: Program
) -> None:
    repo = make_repo(world.folder / "staying")
    commit = repo.commit({"stay.js": STAY_JS.encode()})
    order = make_order(
        world,
        program,
        "stay",
        WORK_STORY,
        image=staying_image,
        commit=commit,
        pack=write_pack(repo, commit, world.folder / "staying.pack"),
        # Claude Code is started without a shell, and runs this at its exit.
        env={"BUN_OPTIONS": "--preload=/repo/stay.js"},
    )
    _, report, agent_run = run(world, order)
    assert (report.ended, report.signal) == (Ended.HUNG_AT_END, 9)
    assert (agent_run.finished, agent_run.fault, agent_run.truncated) == (True, None, False)
    assert diff_of(order).endswith("+1\n+2\n")


@every_program
def test_an_output_that_is_cut_in_mid_line_is_told(world: World, program: Program) -> None:
    order = make_order(world, program, "cut", WORK_STORY)
    run(world, order)
    runtime, whole = RUNTIMES[program.name], transcript_of(order)
    assert runtime.parse(program.work(), whole, b"").finished
    cut = runtime.parse(program.work(), whole[:-20], b"")
    assert (cut.finished, cut.truncated, cut.fault) == (False, True, AgentFault.ENDED_EARLY)
    assert len(cut.transcript.tools) == 2
