"""A repository or a task file that cannot be read holds its own tasks only, with one alert."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.engine import Engine
from support.backlog import Factory, Repo, clearing, make_repo
from support.receiver import Receiver, receiving
from support.stand import wait_for

pytestmark = [pytest.mark.docker, pytest.mark.slow]

WHOLE = "[merge]\npush = true\n"


@pytest.fixture
def factory(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Factory]:  # noqa: ARG001 - built before
    made = Factory(tmp_path / "home")
    with clearing(made, engine):
        yield made


def status_of(factory: Factory) -> dict[str, str]:
    """What each task under way waits for."""
    return {task["task_id"]: task["waits"] for task in factory.status()}


def test_one_of_three_breaks_and_the_others_land(factory: Factory, tmp_path: Path) -> None:
    red, green, blue = (make_repo(tmp_path, name, 2) for name in ("red", "green", "blue"))
    factory.engine("up", "--no-worker")
    for repo in (red, green, blue):
        factory.engine("submit", str(repo.checkout / "tasks"), "--repo", str(repo.checkout), "--auto-merge")
    assert len(status_of(factory)) == 6, "no worker is needed to be told"
    toml = (green.checkout / "factory.toml").read_text()
    green.commit("factory.toml", toml.replace("[merge]", "[merge\n"))
    task = (blue.checkout / "tasks/002-note.md").read_text()
    blue.commit("tasks/002-note.md", task.replace("files:", "fails:"))
    with receiving() as receiver:
        factory.extra["FACTORY_NOTIFY"] = receiver.url("alerts")
        factory.worker()
        held = {"green-001": "fault", "green-002": "fault", "blue-002": "fault"}
        wait_for(lambda: status_of(factory) == held or None, "the others to land", 120)
        check_alerts(receiver)
        mend(factory, green, "factory.toml", toml)
        mend(factory, blue, "tasks/002-note.md", task)
        wait_for(lambda: status_of(factory) == {} or None, "all to land", 120)
        check_alerts(receiver)
    for repo in (red, green, blue):
        assert repo.notes() == ["notes/000.txt", "notes/001.txt", "notes/002.txt"]


def check_alerts(receiver: Receiver) -> None:
    assert sorted(receiver.titles) == [
        "blue: its tasks wait until something is mended",
        "green: its tasks wait until something is mended",
    ]


def mend(factory: Factory, repo: Repo, path: str, text: str) -> None:
    repo.git("pull", "--quiet", "--rebase", "origin", "main")
    repo.commit(path, text)
    said = factory.engine("event", "mended", repo.git("rev-parse", "HEAD").strip(), "--repo", repo.name)
    assert "told" in said
