import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from instrument.cli import main
from instrument.found import find_home


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["report", *arguments], env={"FACTORY_HOME": str(home)})


def test_json_is_one_object_with_exact_integers(home: Any, events: Any) -> None:
    folder = home.folder("demo-001", "demo")
    folder.write_merged(1_234_567)
    folder.write_events(events.call("k", 1, 1_234_567, {"input_tokens": 8}))

    result = run(home.path, "--json", "--purpose", "demo")

    assert result.exit_code == 0
    made = json.loads(result.stdout)
    assert made["cost_per_accepted_microusd"] == 1_234_567
    assert made["rows"][0]["usage"]["input_tokens"] == 8
    assert made["rows"][0]["lead_ms"] == 723_500


def test_the_table_is_the_default(home: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(0)
    folder.write_events()

    result = run(home.path)

    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "cost per accepted task  $0.0000")


def test_no_run_folder_is_an_empty_report(tmp_path: Path) -> None:
    result = run(tmp_path / "absent")

    assert (result.exit_code, result.stdout) == (0, "No task of purpose task found.\n")
    assert run(tmp_path / "absent", "--purpose", "all").stdout == "No task found.\n"


def test_a_file_in_the_place_of_the_run_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    result = run(tmp_path / "home")

    assert result.exit_code == 2
    assert f"the run folder {tmp_path / 'home'} cannot be read (Not a directory)" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_purpose_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    result = run(tmp_path, "--purpose", "fun")

    assert result.exit_code == 2
    assert "'demo'" in result.stderr


def test_a_terminal_without_the_sign_gets_plain_text(home: Any, events: Any) -> None:
    folder = home.folder("api-001")
    folder.write_state(stage="review", spend={"microusd": 5, "lower_bound": True})
    folder.write_events(events.call("k", 1, 5))
    environment = os.environ | {"FACTORY_HOME": str(home.path), "PYTHONIOENCODING": "latin-1"}

    program = "from instrument.cli import main; main(['report'])"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"total                   >= $0.000005\n" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["report"], ["tail", "api-001", "--no-follow"], ["status"], ["--help"], ["report", "--help"]],
)
def test_a_reader_that_has_enough_ends_it_as_sigpipe_would(home: Any, arguments: list[str]) -> None:
    folder = home.folder("api-001")
    folder.write_state(stage="review")
    folder.write_events({"kind": "run_started", "pid": 7, "host": "box", "version": "1"})
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from instrument.cli import main; main()", *arguments]
    environment = os.environ | {"FACTORY_HOME": str(home.path)}

    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("environ", [{}, {"FACTORY_HOME": ""}])
def test_the_platform_names_the_run_folder_where_nothing_is_set(environ: dict[str, str]) -> None:
    assert find_home(environ).name == "factory-loop"
    assert find_home(environ).is_absolute()


def test_a_relative_run_folder_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    assert find_home({"FACTORY_HOME": "runs"}) == tmp_path / "runs"
