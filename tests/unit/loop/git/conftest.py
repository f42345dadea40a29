from pathlib import Path

import pytest

from support.gitworld import World, copy_world, make_world


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        make_world(folder)
    return folder


@pytest.fixture
def world(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    alone(monkeypatch, tmp_path)
    return copy_world(template, tmp_path)


def alone(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """A person with an empty configuration of their own."""
    patch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("HOME", str(folder))
    (folder / ".gitconfig").write_text("")
