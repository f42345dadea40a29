"""The loop or the sidecar is killed at the worst moments; the same command then ends as a calm run does."""

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from instrument.schema.vocabulary import EffectKind, Outcome
from jobs.engine import Engine
from support.recorder import Recorder, creates, faults, record
from support.stand import Loop, open_demo, short_story, wait_for

pytestmark = pytest.mark.docker

POST_RECEIVE = """\
#!/bin/sh
cat >/dev/null
if mkdir "$GIT_DIR/killed" 2>/dev/null; then kill -9 "$(cat "$GIT_DIR/loop.pid")"; fi
"""


@dataclass(frozen=True)
class Calm:
    """What a run that nobody disturbs comes to."""

    tree: str
    cost_microusd: int
    calls: int
    outcomes: tuple[Outcome, ...]


def came_to(loop: Loop) -> Calm:
    return Calm(
        loop.origin_git("rev-parse", "main^{tree}"),
        loop.state.spend.microusd,
        len(loop.of_kind("model_call")),
        tuple(event.outcome for event in loop.of_kind("transition")),
    )


@pytest.fixture(scope="module")
def calm(engine: Engine, job_image: str, tmp_path_factory: pytest.TempPathFactory) -> Calm:  # noqa: ARG001
    with open_demo(tmp_path_factory.mktemp("calm"), engine, short_story()) as loop:
        loop.run()
        assert not loop.state.spend.lower_bound
        return came_to(loop)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with record() as made:
        yield made


@pytest.fixture
def loop(engine: Engine, calm: Calm, recorder: Recorder, tmp_path: Path) -> Iterator[Loop]:  # noqa: ARG001
    with open_demo(tmp_path, engine, short_story()) as made:
        yield made


def kill(loop: Loop) -> None:
    """The loop as if the machine had taken it; its last event is not an end."""
    assert loop.process is not None
    loop.process.kill()
    assert loop.finish() == -signal.SIGKILL
    assert loop.events[-1].kind != "run_ended"


def check_nothing_happened_twice(loop: Loop, calm: Calm, recorder: Recorder, engine: Engine) -> None:
    """The end of cases a to c: the calm run's, with one container a key and each call booked once."""
    assert came_to(loop) == calm
    state = loop.state
    assert not state.spend.lower_bound
    assert state.counters.interruptions == 0
    settled = [call.settled for summary in loop.ledgers().values() for call in summary.calls]
    assert settled == [True] * calm.calls
    assert sum(event.cost_microusd for event in loop.of_kind("model_call")) == calm.cost_microusd
    assert len(loop.requests()) == calm.calls
    (row,) = loop.report().rows
    assert (row.cost_microusd, row.lower_bound) == (calm.cost_microusd, False)
    check_objects(loop, recorder, engine)


def check_objects(loop: Loop, recorder: Recorder, engine: Engine) -> None:
    run_id = loop.state.run_id
    assert faults(recorder, run_id, is_calm=False) == []
    assert set(creates(recorder, run_id).values()) == {1}
    assert loop.left(engine) == []


def test_killed_while_an_answer_is_half_streamed(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    loop.start()
    loop.wait_for_half_an_answer(engine)
    kill(loop)
    assert loop.pod(engine, EffectKind.IMPLEMENT)["job"].is_running
    loop.run()
    assert "goes on" in loop.outputs[-1]
    check_nothing_happened_twice(loop, calm, recorder, engine)


def test_killed_after_the_container_exited_and_before_it_was_collected(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    process = loop.start()
    loop.wait_for_half_an_answer(engine)
    process.send_signal(signal.SIGSTOP)  # so that it cannot collect before the kill
    wait_for(lambda: not loop.pod(engine, EffectKind.IMPLEMENT)["job"].is_running, "the coder's end")
    kill(loop)
    assert loop.of_kind("job_ended")[-1].effect is not EffectKind.IMPLEMENT
    loop.run()
    check_nothing_happened_twice(loop, calm, recorder, engine)


def test_killed_after_the_push_and_before_the_state_was_saved(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    hook = loop.origin / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(POST_RECEIVE)
    hook.chmod(0o755)
    process = loop.start()
    (loop.origin / "loop.pid").write_text(str(process.pid))
    assert loop.finish() == -signal.SIGKILL
    pushed = loop.origin_git("rev-parse", "main")
    state = loop.state
    assert state.attempt is not None
    assert (state.attempt.kind, state.merged, state.gated) == (EffectKind.MERGE, None, pushed)
    loop.run()
    assert loop.origin_git("rev-parse", "main") == loop.state.merged == pushed
    assert (loop.checkout / ".git/refs/heads/main").read_text().strip() == pushed
    check_nothing_happened_twice(loop, calm, recorder, engine)


def test_the_sidecar_is_killed_in_mid_call(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    loop.start()
    sidecar = loop.wait_for_half_an_answer(engine)
    engine.containers.kill(sidecar)
    assert loop.finish() == 0, loop.outputs[-1]
    state = loop.state
    assert state.counters.interruptions == 1
    assert state.counters.coder_rounds == 1
    (interrupted,) = loop.of_kind("attempt_interrupted")
    lost, *others = [event for event in loop.of_kind("job_ended") if event.effect is EffectKind.IMPLEMENT]
    assert (lost.key, lost.sidecar_lost, lost.lower_bound) == (interrupted.key, True, True)
    assert [event.sidecar_lost for event in others] == [False]
    open_calls = [event for event in loop.of_kind("model_call") if not event.settled]
    assert [(event.key, event.call) for event in open_calls] == [(lost.key, 2)]
    assert open_calls[0].cost_microusd > 0
    assert state.spend.lower_bound
    assert state.spend.microusd == calm.cost_microusd + lost.cost_microusd
    assert loop.origin_git("rev-parse", "main^{tree}") == calm.tree
    (row,) = loop.report().rows
    assert (row.lower_bound, row.unmetered_parts) == (True, 1)
    check_objects(loop, recorder, engine)


def test_sigint_takes_the_pod_away_and_counts_nothing(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    process = loop.start()
    loop.wait_for_half_an_answer(engine)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    wait_for(lambda: not loop.left(engine), "the pod's removal", within_s=10)
    assert loop.finish() == 130
    assert time.monotonic() - began < 10
    assert "to continue:  factory run tasks/" in loop.outputs[-1]
    (cancelled,) = loop.of_kind("attempt_cancelled")
    assert cancelled.signal == signal.SIGINT
    assert loop.events[-1].exit_code == 130
    spent = loop.state.spend.microusd
    assert spent > 0
    loop.run()
    state = loop.state
    assert (state.counters.interruptions, state.counters.coder_rounds) == (0, 1)
    assert loop.of_kind("attempt_interrupted") == []
    assert state.spend.microusd == spent + calm.cost_microusd
    assert loop.origin_git("rev-parse", "main^{tree}") == calm.tree
    check_objects(loop, recorder, engine)


def test_sigterm_leaves_the_pod_to_be_adopted(
    loop: Loop, calm: Calm, recorder: Recorder, engine: Engine
) -> None:
    process = loop.start()
    loop.wait_for_half_an_answer(engine)
    process.send_signal(signal.SIGTERM)
    assert loop.finish() == 143
    assert loop.events[-1].exit_code == 143
    assert "to continue:  factory run tasks/" in loop.outputs[-1]
    pod = loop.pod(engine, EffectKind.IMPLEMENT)
    # On a busy machine the answer may have ended meanwhile, and the job with it, by itself.
    assert pod["job"].is_running or pod["job"].exit_code == 0
    assert pod["proxy"].is_running
    loop.run()
    check_nothing_happened_twice(loop, calm, recorder, engine)


def test_case_12_a_second_loop_is_told_that_the_task_is_held(loop: Loop, engine: Engine) -> None:
    first = loop.start()
    loop.wait_for_half_an_answer(engine)
    loop.start()
    assert loop.finish() == 4
    assert "task_locked" in loop.outputs[-1]
    loop.process = first
    assert loop.finish() == 0
