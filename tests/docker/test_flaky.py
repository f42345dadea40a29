"""A check that fails and passes on one tree: the test tells each container how its check shall end."""

import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from instrument.schema.vocabulary import DoneReason, EffectKind, Outcome
from jobs.engine import Engine
from loop.git.seed import seed_repository
from support.recorder import Recorder, creates, faults, record
from support.stand import LOOK_EVERY_S, PATIENCE_S, Loop, clearing

pytestmark = pytest.mark.docker

TASK = "tasks/001-say-more.md"
TEXT = """\
---
status: ready
files: [words.txt]
checks: [steady, told]
---
# Say more

One more line.
"""
CONFIG = """\
[repo]
name = "flaky"
branch = "main"
remote = "origin"

[checks]
fast = ["steady", "told"]
gate = ["steady", "told"]

[checks.steady]
run = "test -s words.txt"
timeout_s = 60

[checks.told]
run = "until test -s /tmp/told; do sleep 0.1; done; exit $(cat /tmp/told)"
timeout_s = 120

[agent]
runtime = "command"

[reviewer]
runtime = "command"

[agent.command]
coder = "echo more >> words.txt"
reviewer = '''
token=$(grep -o 'verdict [0-9a-f]\\{16\\}' "$FACTORY_PROMPT" | tail -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{"verdict": "approve", "covered": ["words.txt"], "findings": []}\\n```\\n' "$token" \\
    > "$FACTORY_REVIEW_FILE"
'''

[merge]
push = true
"""
COMMANDS = (EffectKind.BASELINE, EffectKind.CHECK, EffectKind.GATE)


@pytest.fixture
def loop(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Loop]:  # noqa: ARG001 - built before it is needed
    source = tmp_path / "source"
    (source / "tasks").mkdir(parents=True)
    (source / TASK).write_text(TEXT)
    (source / "factory.toml").write_text(CONFIG)
    (source / "words.txt").write_text("some\n")
    made = Loop(tmp_path / "clone", tmp_path / "origin.git", tmp_path / "home", TASK, "flaky-001", ())
    seed_repository(source, made.checkout, made.origin)
    with clearing(made, engine):
        yield made


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with record() as made:
        yield made


def tell_each(loop: Loop, engine: Engine, ends: dict[EffectKind, list[int]]) -> None:
    """Tell each container of commands its exit code as it comes, until the loop's process ends."""
    client = docker.from_env()
    told: set[str] = set()
    deadline = time.monotonic() + PATIENCE_S
    assert loop.process is not None
    while loop.process.poll() is None and time.monotonic() < deadline:
        for kind in COMMANDS:
            job = loop.pod(engine, kind).get("job")
            if job is None or not job.is_running or job.id in told:
                continue
            line = f"echo {ends[kind].pop(0)} > /tmp/told"
            done = client.containers.get(job.id).exec_run(["sh", "-c", line])
            assert done.exit_code == 0, done.output
            told.add(job.id)
        time.sleep(LOOK_EVERY_S)
    client.close()


def test_a_check_that_passes_the_second_time_sends_nobody_back(
    loop: Loop, engine: Engine, recorder: Recorder
) -> None:
    ends = {EffectKind.BASELINE: [0], EffectKind.CHECK: [1, 0], EffectKind.GATE: [7, 0]}
    loop.start()
    tell_each(loop, engine, ends)
    assert loop.finish() == 0, loop.outputs[-1]

    assert not any(ends.values())
    state = loop.state
    assert (state.done, state.counters.coder_rounds) == (DoneReason.MERGED, 1)
    outcomes = [event.outcome for event in loop.of_kind("transition")]
    for doubted, passed in (
        (Outcome.CHECK_DOUBTED, Outcome.CHECKS_PASSED),
        (Outcome.GATE_DOUBTED, Outcome.GATE_PASSED),
    ):
        assert outcomes[outcomes.index(doubted) + 1] is passed
    again = [(e.name, e.exit_code) for e in loop.of_kind("check_ended")]
    both = [("steady", 0), ("told", 0)]
    doubted_once = [[("steady", 0), ("told", code), ("told", 0)] for code in (1, 7)]
    assert again == [*both, *doubted_once[0], *doubted_once[1]]
    assert {event.name for event in loop.of_kind("check_flaky")} == {"told"}
    (row,) = loop.report().rows
    assert row.flaky == state.flaky == ("told",)
    assert faults(recorder, state.run_id) == []
    assert set(creates(recorder, state.run_id).values()) == {1}
