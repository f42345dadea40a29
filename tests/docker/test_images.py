import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from jobs.clean import remove_all
from jobs.engine import Engine
from jobs.errors import ImageUnfitError
from jobs.images import ImageShelf
from jobs.order import Command
from jobs.pod import OURS
from jobs.recipe import Recipe
from support.pods import World

pytestmark = pytest.mark.docker

BUILD = """
import sys
from pathlib import Path
from jobs.engine import Engine
from jobs.images import ImageShelf
from jobs.recipe import Recipe
engine = Engine.connect()
shelf = ImageShelf(engine, locks=Path(sys.argv[1]), say=print)
name, image = shelf.base(None)
text = "ARG BASE\\nFROM ${BASE}\\nLABEL factory-loop=1 factory.image=test factory.run=" + sys.argv[2] + "\\n"
recipe = Recipe("test", text + "RUN sleep 2; echo hi > /made\\n", {}, {"BASE": name}, (image,))
print("id", shelf.build(recipe))
engine.close()
"""


@pytest.fixture
def shelf(engine: Engine, tmp_path: Path) -> ImageShelf:
    return ImageShelf(engine, locks=tmp_path / "locks")


@pytest.fixture
def events() -> Iterator[list[dict[str, Any]]]:
    """Everything that the engine says of containers while the test runs."""
    client = docker.from_env()
    stream = client.events(decode=True, filters={"type": "container"})
    found: list[dict[str, Any]] = []
    reader = threading.Thread(target=lambda: found.extend(stream), daemon=True)
    reader.start()
    yield found
    stream.close()
    reader.join(timeout=10)
    client.close()


def test_two_processes_build_an_image_once(world: World, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", BUILD, str(tmp_path / "locks"), world.run_id]
    both = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [child.communicate(timeout=120)[0] for child in both]
    try:
        assert [child.returncode for child in both] == [0, 0]
        assert sum(text.count("Built ") for text in texts) == 1
        assert len({text.rpartition("id ")[2] for text in texts}) == 1
    finally:
        gone = remove_all(world.engine, {"factory.run": world.run_id})
    assert (gone.containers, gone.volumes) == (0, 0)
    assert gone.images >= 1
    assert world.engine.images.find({OURS: "1", "factory.run": world.run_id}) == ()


def test_the_builders_own_containers_carry_our_label(
    world: World, shelf: ImageShelf, events: list[dict[str, Any]]
) -> None:
    text = f"ARG BASE\nFROM ${{BASE}}\nRUN echo {world.run_id} > /made\nENV A=1\nRUN true\n"
    name, image = shelf.base(None, text)
    try:
        created = [e for e in events if e["Action"] == "create" and world.run_id in json.dumps(e)]
        ours = [e for e in events if e["Actor"]["Attributes"].get("factory.image") == "base"]
        assert name.startswith("factory-loop/base:")
        assert {e["Action"] for e in ours} >= {"create", "destroy"}
        assert all(e["Actor"]["Attributes"].get(OURS) == "1" for e in created)
    finally:
        world.engine.images.remove(image, force=True)


def test_the_job_image_has_the_agent_its_user_and_no_npm(world: World) -> None:
    line = (
        "claude --version; id -un; command -v npm node || echo none; stat -c '%n %u %a' /repo /factory/hand"
    )
    order = world.order("check-1", commands=(Command("look", line),))
    end = world.jobs.run(order, resumed=False)
    assert end.report is not None
    text = (order.folder / end.report.commands[0].output).read_text().splitlines()
    assert text[0].startswith("2.1.332")
    assert text[1:] == ["agent", "none", "/repo 10001 755", "/factory/hand 10001 700"]


def test_a_broken_build_names_its_log(shelf: ImageShelf) -> None:
    name, image = shelf.base(None)
    text = "ARG BASE\nFROM ${BASE}\nLABEL factory-loop=1\nRUN echo the reason; exit 7\n"
    with pytest.raises(ImageUnfitError, match="returned a non-zero code: 7") as caught:
        shelf.build(Recipe("test", text, {}, {"BASE": name}, (image,)))
    assert caught.value.evidence is not None
    assert "the reason" in Path(caught.value.evidence).read_text(encoding="utf-8")


def test_a_base_that_cannot_be_had_is_one_sentence(shelf: ImageShelf) -> None:
    with pytest.raises(ImageUnfitError, match="cannot be pulled; correct"):
        shelf.job("factory-loop.invalid/none:1")


def test_without_cached_commands_the_job_image_is_the_answer(world: World) -> None:
    assert world.jobs.set_up(world.setup_order("setup-1")) == world.image
    assert world.left() == 0


def test_a_set_up_is_made_once_and_later_jobs_start_warm(world: World) -> None:
    cached = (Command("prepare", "mkdir .warm && echo $TOKEN > ~/seen && date +%s%N > .warm/when"),)
    order = world.setup_order("setup-1", cached=cached, env={"TOKEN": "env-secret-value"})
    image = world.jobs.set_up(order)
    try:
        assert world.left() == 0
        assert world.jobs.set_up(order) == image
        _check_config(image)
        look = world.order("check-1", image=image, commands=(Command("look", "ls -a .warm; ls -A /job"),))
        end = world.jobs.run(look, resumed=False)
        assert end.report is not None
        text = (look.folder / end.report.commands[0].output).read_text()
        assert "when" in text
        other = world.jobs.set_up(
            world.setup_order("setup-2", cached=cached, inputs_digest=world.run_id[::-1])
        )
        world.engine.images.remove(other, force=True)
        assert other != image
    finally:
        world.engine.images.remove(image, force=True)


def _check_config(image: str) -> None:
    client = docker.from_env()
    try:
        config = client.api.inspect_image(image)["Config"]
    finally:
        client.close()
    assert "env-secret-value" not in json.dumps(config)
    assert {name for name, value in config["Labels"].items() if value} == {OURS, "factory.image"}
    assert config["Labels"]["factory.image"] == "setup"
    assert [entry.partition("=")[0] for entry in config["Env"]] == ["PATH"]
    assert not config.get("Cmd")


def test_a_set_up_reaches_packages_as_this_machine_does(world: World) -> None:
    line = "python3 -m venv .venv && .venv/bin/pip install --quiet --no-deps idna"
    image = world.jobs.set_up(world.setup_order("setup-6", cached=(Command("deps", line),)))
    try:
        look = Command("look", ".venv/bin/python -c 'import idna; print(idna.encode(\"a.b\"))'")
        check = world.order("check-6", image=image, commands=(look,))
        end = world.jobs.run(check, resumed=False)
        assert end.report is not None
        assert end.report.commands[0].exit_code == 0
    finally:
        world.engine.images.remove(image, force=True)


def test_a_failing_set_up_names_its_output_and_leaves_nothing(world: World) -> None:
    order = world.setup_order("setup-3", cached=(Command("prepare", "echo no such package; exit 5"),))
    with pytest.raises(ImageUnfitError, match="`prepare` ended with exit code 5") as caught:
        world.jobs.set_up(order)
    assert caught.value.evidence is not None
    assert Path(caught.value.evidence).read_text(encoding="utf-8") == "no such package\n"
    assert world.left() == 0


def test_a_set_up_that_changes_a_tracked_file_is_no_image(world: World) -> None:
    order = world.setup_order("setup-4", cached=(Command("prepare", "echo more >> a.txt"),))
    with pytest.raises(ImageUnfitError, match=r"a\.txt"):
        world.jobs.set_up(order)
    assert world.left() == 0


def test_the_set_up_has_a_network_and_a_check_has_none(world: World) -> None:
    line = "ls /sys/class/net | tr '\\n' ' '"
    order = world.setup_order("setup-5", cached=(Command("net", f"{line} | grep eth0"),))
    image = world.jobs.set_up(order)
    try:
        check = world.order("check-5", image=image, commands=(Command("net", line),))
        end = world.jobs.run(check, resumed=False)
        assert end.report is not None
        assert (check.folder / end.report.commands[0].output).read_text() == "lo "
    finally:
        world.engine.images.remove(image, force=True)
