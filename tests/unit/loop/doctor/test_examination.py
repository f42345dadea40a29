"""The whole command, as a person types it where no engine answers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from loop.cli import main
from loop.doctor.checks import Result as Done
from loop.doctor.examination import _row
from loop.doctor.finding import failed
from support.repos import TOML, Desk, edited, tree_of_folder

NAMES = [
    *(
        "git",
        "repository",
        "factory.toml",
        "branch",
        "task files",
        "prices",
        "submodules",
        "filters",
        "hooks",
    ),
    *("path case", "engine", "runtimes", "disk", "leftovers", "key", "remote", "protection", "images"),
    *("programs", "request", "baseline"),
]
SHELL = edited(TOML, 'model = "claude-sonnet-4-5"', 'runtime = "command"\n[agent.command]\ncoder = "true"')
DOCTOR = "from loop.cli import main; main(['doctor'])"


@pytest.fixture
def typed(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`factory doctor` in the person's checkout; nobody listens where the engine should be."""
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(desk.person.root)

    def type_it(*args: str) -> Result:
        return CliRunner().invoke(main, ["doctor", *args])

    yield type_it
    for each, handler in kept.items():
        signal.signal(each, handler)


def test_a_line_a_check_and_exit_1_where_one_failed(typed):
    done = typed()
    *lines, gap, last = done.stdout.splitlines()
    assert [line[9:21].strip() for line in lines] == NAMES
    assert {line.split()[0] for line in lines} == {"ok", "failed", "skipped"}
    assert (gap, last) == ("", "21 checks: 11 ok, 2 failed, 8 skipped.")
    assert done.exit_code == 1


def test_every_failed_check_says_how_to_mend_it(typed):
    done = typed("--json")
    assert done.exit_code == 1
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in found] == NAMES
    assert {each["name"] for each in found if each["state"] == "failed"} == {"engine", "key"}
    assert all(each["mend"] for each in found if each["state"] == "failed")
    assert all(each["found"] and each["duration_ms"] >= 0 for each in found)
    assert {each["found"] for each in found if each["name"] in ("disk", "images")} == {
        "needs engine, which failed"
    }


def test_nothing_is_changed(desk: Desk, typed):
    before = tree_of_folder(desk.folder)
    typed()
    assert tree_of_folder(desk.folder) == before
    assert not desk.home.exists()


def test_outside_of_a_repository_the_rest_is_still_looked_at(typed, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    found = [
        json.loads(line) for line in typed("--json", "--repo", str(tmp_path / "empty")).stdout.splitlines()
    ]
    assert {each["name"]: each["state"] for each in found if each["state"] != "skipped"} == {
        "git": "ok",
        "repository": "failed",
        "engine": "failed",
    }


def test_a_folder_that_is_not_there_is_a_usage_error(typed):
    assert typed("--repo", "nowhere").exit_code == 2


def test_a_signal_ends_it_and_its_folder_is_gone(desk: Desk, tmp_path: Path):
    """The remote's program hangs, as a host does that swallows packets."""
    started, temporary = tmp_path / "started", tmp_path / "temporary"
    temporary.mkdir()
    desk.person.commit({"factory.toml": SHELL.encode()})
    desk.person.git("config", "remote.origin.uploadpack", f"touch {started}; exec sleep 300 #")
    process = subprocess.Popen(
        [sys.executable, "-c", DOCTOR],
        cwd=desk.person.root,
        env=os.environ
        | desk.environment
        | {"TMPDIR": str(temporary), "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not started.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("typed")
def test_what_runs_is_shown_on_a_terminal_beside_a_pipe_that_gets_every_line(desk: Desk):
    ours, theirs = os.openpty()
    shown = bytearray()

    def read() -> None:
        # The last end of a terminal that closes is an error on the other one.
        with suppress(OSError):
            while chunk := os.read(ours, 4096):
                shown.extend(chunk)

    process = subprocess.Popen(
        [sys.executable, "-c", DOCTOR],
        cwd=desk.person.root,
        env=os.environ | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=120)
    reader.join()
    os.close(ours)
    assert " …" in shown.decode()
    assert [line[9:21].strip() for line in out.splitlines()[:-2]] == NAMES
    assert "\x1b" not in out


def test_on_a_terminal_what_to_do_stands_below_what_was_found():
    console = Console(width=60, force_terminal=True, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(_row(Done("key", failed("KEY is not set", "set it"), 9)))
    lines = [
        line.rstrip() for line in capture.get().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    ]
    assert lines == ["failed   key           KEY is not set", "                       → set it"]
