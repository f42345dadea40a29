"""A person's desk for the tests of the loop's shell."""

from pathlib import Path

import pytest

from support.repos import Desk, alone, copy_desk, make_desk


@pytest.fixture(scope="session")
def desk_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        make_desk(folder)
    return folder


@pytest.fixture
def desk(tmp_path: Path, desk_template: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    alone(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    return copy_desk(desk_template, tmp_path)
