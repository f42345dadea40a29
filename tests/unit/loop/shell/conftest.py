"""A task in a store, with the context of a shell."""

from pathlib import Path

import pytest

from instrument.schema.vocabulary import ProviderName
from loop.shell.base import fetch_base
from loop.shell.context import Context, Provider
from support.ends import START
from support.gitworld import store_of
from support.repos import Desk

API = "https://api.example.org"


@pytest.fixture
def context(desk: Desk) -> Context:
    folder = desk.task_folder
    folder.mkdir(mode=0o700, parents=True)
    made = Context(
        home=desk.home,
        folder=folder,
        store=store_of(desk.home, "demo", desk.person.root),
        branch="main",
        remote="origin",
        jobs=desk.jobs,
        providers={name: Provider(name, API, "api_key", "s3cret", "KEY") for name in ProviderName},
        environment=desk.environment,
        now=lambda: START,
    )
    fetch_base(made, "demo")
    return made


@pytest.fixture
def base(desk: Desk) -> str:
    return desk.person.head()


def write_review(folder: Path, text: str) -> None:
    """What a reviewer left in its job's folder."""
    out = folder / "jobs/0001-x-1/out"
    out.mkdir(parents=True, exist_ok=True)
    (out / "review.md").write_text(text)
