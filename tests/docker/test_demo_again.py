"""`make run` three times: a demo from its beginning, a new one after it, and that one continued."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind
from jobs.engine import Engine
from loop.demo import EXAMPLE, ROOT, TASK, TASK_ID, Stand
from support.stand import Loop, clearing, wait_for

pytestmark = pytest.mark.docker

EXPECTED_MICROUSD = json.loads((EXAMPLE.parent / "durations-story.expected.json").read_text())[
    "cost_microusd"
]
MAIN = "import sys; from pathlib import Path; from loop.demo import main; main(Path(sys.argv[1]))"


def make_run(stand: Stand) -> subprocess.Popen[str]:
    """What `make run` starts, in a folder of its own and without the caller's choice of a provider."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PROVIDER", "MODEL")}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, str(stand.folder)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.usefixtures("job_image")
def test_a_demo_costs_what_is_scripted_and_the_next_ones_begin_or_go_on(
    engine: Engine, tmp_path: Path
) -> None:
    stand = Stand(tmp_path / "demo")
    loop = Loop(stand.checkout, stand.origin, stand.home, TASK, TASK_ID, ())
    with clearing(loop, engine):
        loop.process = make_run(stand)
        assert loop.finish() == 0, loop.outputs[-1]
        first = loop.state
        assert first.spend.microusd == EXPECTED_MICROUSD == 342262
        assert loop.origin_git("rev-parse", "main") == first.merged
        said = loop.outputs[-1]
        assert said.startswith("A new demo begins.\n")
        for line in (
            "check_doubted  ",
            "check_failed → implement",
            "must_fix_found → implement",
            "merged → done",
            "$0.342262",
        ):
            assert line in said
        assert str(loop.folder) in said

        loop.process = make_run(stand)
        wait_for(lambda: loop.pod(engine, EffectKind.BASELINE), "the second demo's first job")
        loop.process.send_signal(signal.SIGTERM)
        assert loop.finish() == 143
        assert loop.outputs[-1].startswith("The finished demo is kept in ")
        old = stand.folder / "old" / "1" / "home" / "tasks" / TASK_ID / "state.json"
        assert TaskState.model_validate_json(old.read_bytes()) == first
        second = loop.state.run_id
        assert second != first.run_id

        loop.process = make_run(stand)
        wait_for(lambda: loop.of_kind("check_ended"), "the adopted baseline's end")
        loop.process.send_signal(signal.SIGINT)
        assert loop.finish() == 130
        assert loop.outputs[-1].startswith("An unfinished demo is there: it goes on.\n")
        assert loop.state.run_id == second
        assert loop.left(engine) == []
