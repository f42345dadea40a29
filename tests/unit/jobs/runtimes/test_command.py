import subprocess
from pathlib import Path

from instrument.schema.vocabulary import RuntimeName
from jobs.order import AgentWork
from jobs.runtimes.command import CommandRuntime
from jobs.runtimes.table import RUNTIMES

WORK = AgentWork(RuntimeName.COMMAND, None, b"do it", line="cat; printf '%s' \"$((6 * 7))'quoted'\" > answer")


def test_the_line_is_run_as_written_and_reads_the_prompt(tmp_path: Path) -> None:
    command = CommandRuntime().command(WORK)
    done = subprocess.run(command.argv, cwd=tmp_path, input=WORK.prompt, capture_output=True, check=True)
    assert done.stdout == b"do it"
    assert (tmp_path / "answer").read_text() == "42'quoted'"


def test_its_output_is_no_message() -> None:
    run = CommandRuntime().parse(WORK, b'{"type":"result","is_error":true}\nno end', b"")
    assert run.finished
    assert run.error is None
    assert not run.truncated
    assert not CommandRuntime().uses_model


def test_every_runtime_has_its_row() -> None:
    assert set(RUNTIMES) == set(RuntimeName)
    assert all(runtime.name is name for name, runtime in RUNTIMES.items())
