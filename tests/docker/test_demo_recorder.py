"""The recorder itself: each fault that it is there for is found, and a clean life has none."""

import uuid
from collections.abc import Iterator
from typing import Any

import docker
import pytest

from jobs.engine import Engine
from support.recorder import LABELS, Recorder, creates, faults, record

pytestmark = pytest.mark.docker


@pytest.fixture
def run_id(engine: Engine) -> Iterator[str]:  # noqa: ARG001 - it says why where there is none
    run_id = uuid.uuid4().hex[:8]
    yield run_id
    client = docker.from_env()
    labels = {"filters": {"label": f"factory.run={run_id}"}}
    for container in client.containers.list(all=True, **labels):
        container.remove(force=True)
    for volume in client.volumes.list(**labels):
        volume.remove()
    client.close()


@pytest.fixture
def api(run_id: str) -> Iterator[Any]:  # noqa: ARG001 - closed before what is left is removed
    client = docker.APIClient()
    yield client
    client.close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with record() as made:
        yield made


def labels_of(run_id: str, key: str) -> dict[str, str]:
    return dict.fromkeys(LABELS, "1") | {"factory.run": run_id, "factory.key": key, "factory.part": "job"}


def container(api: Any, image: str, name: str, labels: dict[str, str], **host: Any) -> str:
    config = api.create_host_config(network_mode="none", **host)
    made = api.create_container(image, ["true"], name=name, labels=labels, host_config=config)
    return str(made["Id"])


def test_a_life_without_fault(api: Any, job_image: str, run_id: str, recorder: Recorder) -> None:
    for key in ("k-1", "k-2"):
        labels = labels_of(run_id, key)
        api.create_volume(f"factory-{run_id}-{key}-sock", labels=labels)
        made = container(api, job_image, f"factory-{run_id}-{key}", labels)
        recorder.catch_up()  # it has looked at both
        api.remove_container(made)
        api.remove_volume(f"factory-{run_id}-{key}-sock")
    assert faults(recorder, run_id) == []
    assert creates(recorder, run_id) == {"k-1": 1, "k-2": 1}


def test_what_is_left_or_removes_itself_or_lacks_a_label_is_named(
    api: Any, job_image: str, run_id: str, recorder: Recorder
) -> None:
    labels = labels_of(run_id, "k-1")
    short = {name: value for name, value in labels.items() if name != "factory.task"}
    container(api, job_image, f"factory-{run_id}-left", labels, auto_remove=True)
    made = container(api, job_image, f"factory-{run_id}-short", short)
    nameless = container(api, job_image, f"factory-{run_id}-other", {})
    api.create_volume(f"factory-{run_id}-volume")
    recorder.catch_up()
    api.remove_container(made)
    api.remove_container(nameless)
    api.remove_volume(f"factory-{run_id}-volume")
    assert sorted(faults(recorder, run_id)) == sorted(
        [
            f"a container without our labels: factory-{run_id}-other",
            f"a volume without our labels: factory-{run_id}-volume",
            f"container factory-{run_id}-left is left",
            f"container factory-{run_id}-left removes itself",
            f"container factory-{run_id}-short lacks ['factory.task']",
        ]
    )


def test_what_a_later_step_removed_outlived_its_own(
    api: Any, job_image: str, run_id: str, recorder: Recorder
) -> None:
    first, second = (
        container(api, job_image, f"factory-{run_id}-{key}", labels_of(run_id, key)) for key in ("k-1", "k-2")
    )
    recorder.catch_up()
    for each in (first, second):
        api.remove_container(each)
    assert faults(recorder, run_id) == [f"container factory-{run_id}-k-1 outlived its step"]
    assert faults(recorder, run_id, is_calm=False) == []
