"""A pod's start: what comes before what, and what a failure on either side does."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from instrument.schema.vocabulary import RuntimeName
from jobs.errors import EngineRefusedError, ImageGoneError, ObjectAbsentError
from jobs.handover import agent_command, inputs_folder, keep_inputs, order_document, was_started
from jobs.launch import Launch
from jobs.order import AgentWork, JobOrder, ProxyOrder
from jobs.pod import ContainerSpec
from support.orders import make_order

PROXY = ProxyOrder("https://api.example.org", secret="sk-of-nobody")
WORK = AgentWork(RuntimeName.COMMAND, None, b"do it", line="true")


class Containers:
    """What was asked for, in order; `at` is called with each."""

    def __init__(self, at: Callable[[str], None] = lambda _: None) -> None:
        self.asked: list[str] = []
        self._at = at

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self._at(what)

    def create(self, spec: ContainerSpec) -> str:
        part = spec.labels["factory.part"]
        self._ask(f"create {part}")
        return part

    def put(self, container: str, _path: str, _tar: IO[bytes]) -> None:
        self._ask(f"put {container}")

    def start(self, container: str) -> None:
        self._ask(f"start {container}")

    def start_with_input(self, container: str, _line: bytes) -> None:
        self._ask(f"start {container}")


def launch(containers: Containers, order: JobOrder) -> None:
    volumes: Any = SimpleNamespace(create=lambda *_: None)
    engine: Any = SimpleNamespace(containers=containers, volumes=volumes)
    info: Any = SimpleNamespace(cpus=2)
    document = order_document(order, agent_command(order))
    keep_inputs(order, document)
    image = "sha256:1" if order.proxy else None
    objects: Any = None
    Launch(engine, info, objects, order.folder.parent, image).start(order, document)


@pytest.fixture
def order(tmp_path: Path) -> JobOrder:
    made = make_order(tmp_path, agent=WORK, proxy=PROXY)
    made.folder.parent.mkdir(parents=True)
    return made


def test_both_are_there_and_it_is_written_down_before_either_runs(order: JobOrder):
    def at(what: str) -> None:
        assert was_started(order) is not what.startswith("create")

    containers = Containers(at)
    launch(containers, order)
    assert containers.asked[:2] == ["create job", "create proxy"]
    assert sorted(containers.asked[2:]) == ["put job", "start job", "start proxy"]
    assert containers.asked.index("put job") < containers.asked.index("start job")


def test_the_job_does_not_wait_for_its_sidecars_start(order: JobOrder):
    has_job_started = threading.Event()

    def at(what: str) -> None:
        if what == "start job":
            has_job_started.set()
        elif what == "start proxy":
            assert has_job_started.wait(10)

    launch(Containers(at), order)
    assert has_job_started.is_set()


@pytest.mark.parametrize("where", ["put job", "start job", "start proxy"])
def test_a_refusal_on_either_side_comes_out_once_both_are_over(order: JobOrder, where: str):
    def at(what: str) -> None:
        if what == where:
            raise EngineRefusedError(f"not {where}")

    containers = Containers(at)
    with pytest.raises(EngineRefusedError, match=f"not {where}"):
        launch(containers, order)
    assert "start proxy" in containers.asked
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sidecar")]


def test_a_job_of_commands_has_no_sidecar(tmp_path: Path):
    order = make_order(tmp_path)
    containers = Containers()
    launch(containers, order)
    assert containers.asked == ["create job", "put job", "start job"]
    assert inputs_folder(order).is_dir()


def test_an_image_that_went_is_said_before_anything_runs(order: JobOrder):
    def at(what: str) -> None:
        if what == "create job":
            raise ObjectAbsentError("no such image")

    with pytest.raises(ImageGoneError, match="no longer on the engine"):
        launch(Containers(at), order)
    assert not was_started(order)
