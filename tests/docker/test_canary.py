"""`factory canary`: lands from nothing at no cost, and takes away what a killed one left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from instrument.schema.vocabulary import EffectKind, Purpose
from jobs.engine import Engine
from loop.demo import EXAMPLE, TASK, TASK_ID, Stand
from support.stand import Loop, clearing, wait_for

pytestmark = pytest.mark.docker

EXPECTED_MICROUSD = json.loads((EXAMPLE.parent / "durations-story.expected.json").read_text())[
    "cost_microusd"
]
CANARY = "from loop.cli import main; main(['canary', '--json'])"


def start(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CANARY],
        cwd=home,
        env=os.environ | {"FACTORY_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.usefixtures("job_image")
def test_a_canary_lands_after_one_that_was_killed(engine: Engine, tmp_path: Path) -> None:
    stand = Stand(tmp_path / "canary" / "work")
    loop = Loop(stand.checkout, stand.origin, stand.home, TASK, TASK_ID, ())
    with clearing(loop, engine):
        loop.process = start(tmp_path)
        wait_for(lambda: loop.pod(engine, EffectKind.BASELINE), "the first canary's pod")
        loop.process.kill()
        loop.finish()
        killed = loop.state.run_id
        assert loop.left(engine)

        loop.process = start(tmp_path)
        assert loop.finish() == 0, loop.outputs[-1]
        state = loop.state
        assert state.run_id != killed
        assert loop.left(engine, killed) == loop.left(engine) == []
        assert (state.purpose, state.spend.microusd) == (Purpose.CANARY, EXPECTED_MICROUSD)
        assert json.loads(loop.outputs[-1].splitlines()[-1])["commit"] == state.merged
        assert loop.origin_git("rev-parse", "main") == state.merged
