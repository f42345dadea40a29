import json

from instrument.schema.state import Attempt, Spend, Stop
from instrument.schema.vocabulary import DoneReason, EffectKind, Outcome, Stage, StopReason
from loop.status import status_lines
from loop.store import save_state
from support.lives import new_state


def lines(home, **options):
    return list(status_lines({"FACTORY_HOME": str(home)}, **({"as_json": False} | options)))


def test_one_line_a_task_in_order_of_its_id(tmp_path):
    assert lines(tmp_path) == []
    stop = Stop(reason=StopReason.NO_CHANGE, stage=Stage.IMPLEMENT, outcome=Outcome.NOTHING_CHANGED)
    states = {
        "demo-003": new_state(stage=Stage.DONE, done=DoneReason.MERGED, spend=Spend(microusd=54_400)),
        "demo-002": new_state(stage=Stage.STOPPED, stop=stop, spend=Spend(lower_bound=True)),
        "demo-001": new_state(stage=Stage.GATE, attempt=Attempt(key="k", kind=EffectKind.GATE)),
    }
    for task_id, state in states.items():
        folder = tmp_path / "tasks" / task_id
        folder.mkdir(parents=True)
        save_state(folder, state.model_copy(update={"task_id": task_id}))
    (tmp_path / "tasks/demo-004").mkdir()
    (tmp_path / "tasks/demo-004/state.json").touch()
    damaged = "state.json is damaged (Invalid JSON: EOF while parsing a value at line 1 column 0)"
    assert lines(tmp_path) == [
        "demo-001  gate, job.gate under way  0 coder rounds, 0 reviews, $0.0000",
        "demo-002  stopped: no_change  0 coder rounds, 0 reviews, ≥ $0.0000",
        "demo-003  done: merged  0 coder rounds, 0 reviews, $0.0544",
        f"demo-004: {damaged}; see it with `factory run`, or begin again with --restart",
    ]
    found = json.loads(lines(tmp_path, as_json=True)[2])
    assert (found["task_id"], found["done_reason"], found["cost_microusd"]) == ("demo-003", "merged", 54_400)
