import os
import time
from datetime import UTC, datetime
from pathlib import Path

from engine import messages as m
from engine.alerts import MENDED_S, alert
from engine.place import Place
from instrument.schema.vocabulary import Purpose
from jobs.runner import DockerJobs
from support.receiver import Receiver, receiving

SHOP = m.TaskOrder(task_id="shop-001", repo="shop", checkout="", task="")


def telling(home: Path, receiver: Receiver) -> Place:
    return Place(
        home=home,
        environment={"FACTORY_NOTIFY": receiver.url("a")},
        now=lambda: datetime.now(UTC),
        jobs=lambda _: DockerJobs(),
    )


def test_two_faults_of_a_repo_are_told_once_each_and_one_that_comes_back_again(tmp_path: Path) -> None:
    with receiving() as receiver:
        place = telling(tmp_path, receiver)
        for fault in ("001 is broken", "002 is broken") * 2:
            alert(place, m.Alert(order=SHOP, fault=fault))
        assert len(receiver.titles) == 2

        mended = time.time() - MENDED_S - 1
        for file in (tmp_path / "alerts").glob("*.told"):
            os.utime(file, (mended, mended))
        alert(place, m.Alert(order=SHOP, fault="002 is broken"))
        assert len(receiver.titles) == 3


def test_a_fault_is_told_once_a_repo_and_a_canarys_to_nobody(tmp_path: Path) -> None:
    canary = SHOP.model_copy(update={"repo": "canary-1", "purpose": Purpose.CANARY})
    with receiving() as receiver:
        place = telling(tmp_path, receiver)
        for told in (SHOP, SHOP, canary):
            alert(place, m.Alert(order=told, fault="factory.toml cannot be read"))

        assert receiver.titles == ["shop: its tasks wait until something is mended"]
    assert not list((tmp_path / "alerts").glob("canary-*"))
