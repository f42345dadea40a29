"""The command as a person types it; nothing here reaches an engine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from instrument.schema.vocabulary import Stage
from loop.cli import main
from loop.home import task_folder
from loop.session import hold_lock
from loop.store import save_state
from support.lives import new_state
from support.repos import TASK, TASK_ID, TASK_TEXT, TOML, Desk, edited, mode_of

TESTS = Path(__file__).parents[2]
NO_KEY = "ANTHROPIC_API_KEY is not set; set it to the provider's key\n"


@pytest.fixture(autouse=True)
def handlers():
    kept = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in kept.items():
        signal.signal(each, handler)


@pytest.fixture
def typed(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    """What a person types in their checkout."""
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(desk.person.root)

    def type_it(*args: str) -> Result:
        done = CliRunner().invoke(main, args)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return type_it


def test_every_refusal_is_its_sentence_on_stderr_and_exit_2(desk: Desk, typed):
    done = typed("run", "tasks/009-none.md")
    assert done.exit_code == 2
    assert done.stderr == (
        "tasks/009-none.md is not committed on origin/main; commit it there and run again\n"
    )
    assert done.stdout == ""
    done = typed("run", TASK)
    assert done.exit_code == 2
    assert done.stderr == NO_KEY
    desk.commit({TASK: edited(TASK_TEXT, "files:", "filez:"), "factory.toml": TOML})
    done = typed("run", TASK)
    assert done.exit_code == 2
    assert 'tasks/007-retry.md:3: unknown key "filez"; did you mean "files"?\n' in done.stderr
    assert typed("run", TASK, "--runtime", "made-up").exit_code == 2
    assert typed("run").exit_code == 2


@pytest.mark.parametrize(
    ("ruling", "sentence"),
    [
        ("@absent.md", "--ruling @absent.md: the file cannot be read as UTF-8 text"),
        ("@latin.md", "--ruling @latin.md: the file cannot be read as UTF-8 text"),
        ("  ", "--ruling is empty; write what you decide"),
        ("@empty.md", "--ruling is empty; write what you decide"),
    ],
)
def test_a_ruling_that_cannot_be_read(desk: Desk, typed, ruling: str, sentence: str):
    (desk.person.root / "latin.md").write_bytes(b"caf\xe9")
    (desk.person.root / "empty.md").touch()
    done = typed("run", TASK, "--ruling", ruling)
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)


def test_a_busy_task_is_exit_4_and_a_stopped_one_exit_3_with_its_brief_or_json(desk: Desk, typed):
    with hold_lock(task_folder(desk.home, TASK_ID), TASK_ID):
        done = typed("run", TASK)
    assert done.exit_code == 4
    assert "another loop holds this task (task_locked)" in done.stderr
    desk.script.coder = []
    desk.script.unfit = "no"
    brief = desk.run().text
    (desk.task_folder / "state.json").write_text("{")
    done = typed("run", TASK, "--ruling", "@" + str(desk.person.root / "README"))
    assert done.exit_code == 3
    assert done.stdout.startswith("# stopped: state_corrupt\n")
    assert brief != done.stdout
    found = json.loads(typed("run", TASK, "--json").stdout.splitlines()[-1])
    assert (found["task_id"], found["stop_reason"]) == (TASK_ID, "state_corrupt")
    assert set(found) >= {"stage", "commit", "coder_rounds", "review_rounds", "run_folder"}
    assert "    state.json is damaged" in typed("status").stdout


def test_a_home_or_a_repo_that_cannot_be_used_is_one_sentence_with_what_mends_it(
    desk: Desk, typed, monkeypatch: pytest.MonkeyPatch
):
    done = typed("run", TASK, "--repo", str(desk.folder))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{desk.folder} is in no git repository that can be used: fatal: ")
    assert done.stderr.endswith("; name a folder of a git repository with --repo, or do as git says\n")
    monkeypatch.setenv("FACTORY_HOME", str(desk.person.root / "README"))
    done = typed("run", TASK)
    assert done.exit_code == 2
    assert "README cannot be used" in done.stderr
    assert done.stderr.endswith("; set FACTORY_HOME to another folder\n")


def test_a_file_that_cannot_be_read_is_one_sentence(desk: Desk, typed):
    (task_folder(desk.home, TASK_ID) / "state.json").mkdir()
    done = typed("run", TASK)
    assert done.exit_code == 2
    assert done.stderr.startswith("A file cannot be read or written: ")
    assert not list(desk.home.glob("bug-*.txt"))


def test_a_reader_that_has_enough_is_no_error_of_a_file(desk: Desk):
    assert unheard(desk, "from loop.cli import main; main()", "doctor", "--suggest") == 141


def test_a_run_that_nobody_reads_any_more_goes_on_and_ends_with_its_own_code(desk: Desk):
    story = desk.folder / "story.yaml"
    story.write_text("rounds: []\n")
    assert unheard(desk, RUN_ON_FAKES, "run", "tasks/009-none.md") == 2
    assert unheard(desk, RUN_ON_FAKES, "run", TASK, "--story", str(story)) == 3
    assert unheard(desk, RUN_ON_FAKES, "run", TASK, "--story", str(story), "--auto-merge") == 0
    assert [event.exit_code for event in desk.events if event.kind == "run_ended"] == [3, 0]
    assert desk.state.counters.interruptions == 0


RUN_ON_FAKES = """
import os
from pathlib import Path
from loop import cli
from support.fake_jobs import FakeJobs
from support.repos import Desk

folder = Path(os.environ["FACTORY_HOME"]).parent
desk = Desk(folder, FakeJobs(folder / "engine", None))
cli.real_world = lambda _, progress, signals: (desk.jobs, desk.world(progress=progress, signals=signals))
cli.main()
"""
"""The command with everything real but the engine."""


def unheard(desk: Desk, program: str, *words: str) -> int:
    """The exit code of a command that prints into a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    env = {**os.environ, **desk.environment, "PYTHONPATH": str(TESTS)}
    line = [sys.executable, "-c", program, *words, "--repo", str(desk.person.root)]
    try:
        return subprocess.run(line, stdout=writing, stderr=writing, env=env, check=False).returncode
    finally:
        os.close(writing)


def test_a_bug_of_ours_is_one_sentence_and_the_trace_is_kept(desk: Desk, typed):
    # A state that contradicts itself, as only a bug could write it: checks without a candidate.
    blob = desk.person.ask("rev-parse", f"HEAD:{TASK}")
    state = new_state(task_id=TASK_ID, task_path=TASK, task_blob=blob, stage=Stage.CHECK)
    save_state(task_folder(desk.home, TASK_ID), state)
    story = desk.folder / "story.yaml"
    story.write_text("rounds: []\n")
    done = typed("run", TASK, "--story", str(story))
    assert done.exit_code == 1, done.stderr
    (trace,) = desk.home.glob("bug-*.txt")
    assert done.stderr.splitlines()[-1] == (
        f"A bug of ours; please report {trace}. Run the same command to continue."
    )
    assert "Traceback" in trace.read_text()
    assert mode_of(trace) == 0o600


def test_ci_without_a_kept_home_says_so(typed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    assert "so a rerun begins anew" not in typed("run", "tasks/009-none.md").stderr
    monkeypatch.delenv("FACTORY_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "state"))
    assert "so a rerun begins anew" in typed("run", "tasks/009-none.md").stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_work_ends_it_with_its_code(desk: Desk, number: int, code: int):
    """git waits for a reader of a pipe, so that the signal always comes in time."""
    slow = desk.folder / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\necho here >&2\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    env = {**os.environ, **desk.environment, "PATH": f"{slow}:{os.environ['PATH']}"}
    command = [str(Path(sys.executable).parent / "factory"), "run", TASK]
    process = subprocess.Popen(command, cwd=desk.person.root, env=env, stderr=subprocess.PIPE)
    try:
        wait_for_child(process.pid)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == code, stderr
    assert b"Traceback" not in stderr


def wait_for_child(pid: int) -> None:
    """Until the program has started git: then its handlers stand."""
    for _ in range(400):
        children = Path(f"/proc/{pid}/task/{pid}/children")
        if children.exists() and children.read_text().strip():
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail("git was never started")
