"""A task on a clone of this very repository lands: a shell line codes, another one reviews."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from instrument.schema.vocabulary import EffectKind, Outcome, Role
from jobs.engine import Engine
from loop.demo import ROOT
from support.recorder import Recorder, creates, faults, record
from support.stand import Loop, clearing, wait_for

pytestmark = pytest.mark.docker

TASK = "tasks/901-name-the-decimals.md"
SECOND_TASK = "tasks/902-name-the-decimals-again.md"
TEXT = """\
---
status: ready
files: [instrument/money.py]
checks: [instrument]
budget_min: 60
---
# Name the decimals of an amount

`show_usd` writes six decimals; give the number a name.
"""
MONEY = "instrument/money.py"
CODER = f"""
if grep -q '^# Failed checks' "$FACTORY_PROMPT"; then
    sed -i 's/^DECIMALS = 5$/DECIMALS = 6/' {MONEY}
    echo '{{"outcome": "done", "summary": "The six decimals have a name."}}' > "$FACTORY_RESULT"
else
    sed -i 's/^MICROUSD_PER_USD = .*/&\\nDECIMALS = 5/; s/rest:06d/rest:0{{DECIMALS}}d/' {MONEY}
fi
"""
REVIEWER = f"""
token=$(grep -o 'verdict [0-9a-f]\\{{16\\}}' "$FACTORY_PROMPT" | tail -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{{"verdict": "approve", "covered": ["{MONEY}"], "findings": []}}\\n```\\n' "$token" \\
    > "$FACTORY_REVIEW_FILE"
"""
PIP_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")
"""A person's own mirror reaches the set-up as `[job] env`, where it is set."""


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    done = subprocess.run(["git", *author, "-C", str(folder), *words], capture_output=True, check=True)
    return done.stdout.decode()


def clone(checkout: Path, origin: Path) -> None:
    """This repository as it lies here, uncommitted work included, on `main` of a new origin."""
    checkout.mkdir()
    git(checkout, "init", "--quiet", "--initial-branch=main")
    for name in filter(None, git(ROOT, "ls-files", "-z", "-co", "--exclude-standard").split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name, follow_symlinks=False)
    named = [name for name in PIP_VARIABLES if os.environ.get(name)]
    toml = (checkout / "factory.toml").read_text()
    toml += f"\n[agent.command]\ncoder = '''{CODER}'''\nreviewer = '''{REVIEWER}'''\n\n[job]\nenv = {named}\n"
    (checkout / "factory.toml").write_text(toml)
    (checkout / TASK).write_text(TEXT)
    (checkout / SECOND_TASK).write_text(TEXT)
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "This repository with two tasks")
    git(checkout.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(checkout, "remote", "add", "origin", str(origin))
    git(checkout, "push", "--quiet", "origin", "main")


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with record() as made:
        yield made


@pytest.fixture(scope="module")
def landed(
    engine: Engine,
    job_image: str,  # noqa: ARG001 - built before it is needed
    recorder: Recorder,  # noqa: ARG001 - it sees the run from its beginning
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Loop]:
    folder = tmp_path_factory.mktemp("own")
    clone(folder / "clone", folder / "origin.git")
    words = ("--runtime", "command", "--purpose", "probe")
    loop = Loop(
        folder / "clone", folder / "origin.git", folder / "home", TASK, "factory-loop-901", words, 900
    )
    with clearing(loop, engine):
        loop.run()
        yield loop


def test_a_task_on_this_repository_lands(landed: Loop, recorder: Recorder) -> None:
    assert landed.origin_git("rev-parse", "main") == landed.state.merged
    assert landed.origin_git("diff", "--name-only", "main~1", "main").splitlines() == [MONEY, TASK]
    assert "rest:0{DECIMALS}d" in landed.origin_git("show", f"main:{MONEY}")
    assert "DECIMALS = 6" in landed.origin_git("show", f"main:{MONEY}")
    assert faults(recorder, landed.state.run_id) == []


def test_the_first_command_broke_a_unit_test_and_went_back(landed: Loop) -> None:
    outcomes = [event.outcome for event in landed.of_kind("transition")]
    assert outcomes.count(Outcome.CHECK_DOUBTED) == outcomes.count(Outcome.CHECK_FAILED) == 1
    assert (landed.state.counters.coder_rounds, landed.state.counters.review_rounds) == (2, 1)
    failed = [event for event in landed.of_kind("check_ended") if event.exit_code]
    assert [event.name for event in failed] == ["instrument"] * 2, said_by(landed, failed[-1].key)[-9000:]
    assert len({event.key for event in failed}) == 2
    assert all("0.0544" in said_by(landed, event.key) for event in failed)
    assert landed.state.flaky == ()


def test_the_gate_was_make_check_with_the_suite_without_docker(landed: Loop) -> None:
    (gate,) = [event.key for event in landed.of_kind("job_ended") if event.role is Role.GATE]
    assert [(e.name, e.exit_code) for e in landed.of_kind("check_ended") if e.key == gate] == [("check", 0)]
    said = said_by(landed, gate)
    assert "Success: no issues found" in said
    assert re.search(r"Contracts: \d+ kept, 0 broken", said)
    assert re.search(r"\n\d{3,} passed", said)
    assert " failed" not in said


def said_by(loop: Loop, key: str) -> str:
    """What the commands of a job printed."""
    (folder,) = [event.folder for event in loop.of_kind("job_ended") if event.key == key]
    paths = sorted((loop.folder / folder / "out" / "commands").iterdir())
    return "\n".join(path.read_text() for path in paths)


def test_nothing_was_spent_and_no_proxy_was_started(landed: Loop, recorder: Recorder) -> None:
    assert (landed.state.spend.microusd, landed.state.spend.lower_bound) == (0, False)
    assert landed.ledgers() == {}
    assert creates(recorder, landed.state.run_id, "proxy") == {}


def test_the_second_task_finds_the_set_up_done(landed: Loop, recorder: Recorder, engine: Engine) -> None:
    second = Loop(landed.checkout, landed.origin, landed.home, SECOND_TASK, "factory-loop-902", landed.words)
    with clearing(second, engine):
        process = second.start()
        wait_for(lambda: second.pod(engine, EffectKind.BASELINE), "the baseline's pod", within_s=30)
        process.send_signal(signal.SIGINT)
        assert second.finish() == 130
    first_image, image = (loop.state.image for loop in (landed, second))
    assert image == first_image
    recorder.catch_up()
    roles = {thing.labels["factory.role"] for thing in recorder.things(second.state.run_id)}
    assert roles == {"check"}
