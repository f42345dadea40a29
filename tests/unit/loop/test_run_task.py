"""Both forms of the command, from a repository that plants modules under our names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loop.run_task import find_planted
from support.repos import TASK, Desk

PYTHON = sys.executable
FORMS = {
    "module": [PYTHON, "-m", "loop.run_task"],
    "script": [str(Path(PYTHON).parent / "factory"), "run"],
}
BARE = """
import runpy, sys
sys.path.insert(0, "")
sys.argv = ["loop.run_task", *sys.argv[1:]]
runpy.run_module("loop.run_task", run_name="__main__", alter_sys=True)
"""
"""What `-m loop.run_task` does, in an installation that was not made by `scripts/setup`."""
FORMS_AND_BARE = FORMS | {"bare": [PYTHON, "-c", BARE]}
OURS_RAN = "ANTHROPIC_API_KEY is not set; set it to the provider's key\n"
PLANTED = ("orjson.py", "click.py", "yaml.py", "jobs/errors.py", "proxy/prices.py", "loop/cli.py")


def plant(desk: Desk, *names: str) -> None:
    """Modules that write down that they ran."""
    mark = f"open({str(desk.folder / 'mark')!r}, 'a').write(__name__ + chr(10))\n"
    for name in names:
        path = desk.person.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(mark)


def type_it(desk: Desk, form: str, *args: str) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= desk.environment
    command = [*FORMS_AND_BARE[form], *args]
    return subprocess.run(
        command, cwd=desk.person.root, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def marks(desk: Desk) -> list[str]:
    path = desk.folder / "mark"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("form", FORMS)
def test_planted_modules_never_run_where_the_packages_are_ours(desk: Desk, form: str):
    plant(desk, *PLANTED)
    done = type_it(desk, form, TASK)
    assert marks(desk) == []
    assert done.returncode == 2, done.stderr
    assert done.stderr == OURS_RAN


def test_the_script_runs_ours_beside_whole_planted_packages(desk: Desk):
    plant(desk, *PLANTED, "loop/__init__.py", "jobs/__init__.py", "loop/run_task.py")
    done = type_it(desk, "script", TASK)
    assert marks(desk) == []
    assert done.stderr == OURS_RAN


def test_the_module_runs_ours_beside_a_planted_package_of_the_jobs(desk: Desk):
    plant(desk, *PLANTED[:4], "jobs/__init__.py", "instrument/__init__.py")
    done = type_it(desk, "module", TASK)
    assert marks(desk) == []
    assert done.stderr == OURS_RAN


def test_the_module_runs_ours_beside_a_planted_package_that_python_itself_prefers(desk: Desk):
    """`scripts/setup` has ours loaded before the current folder comes onto the path."""
    plant(desk, "orjson.py", "jobs/__init__.py", "loop/__init__.py", "loop/run_task.py")
    done = type_it(desk, "module", TASK)
    assert marks(desk) == []
    assert done.stderr == OURS_RAN


def test_without_that_the_module_refuses(desk: Desk):
    """`-m loop.run_task` imports the folder's own `loop` before any line of ours: then we do nothing."""
    plant(desk, "orjson.py", "jobs/__init__.py", "loop/__init__.py")
    done = type_it(desk, "bare", TASK)
    assert done.returncode == 2, done.stderr
    assert done.stderr == (
        "The module loop comes from the current folder, not from the factory's installation; "
        "run `factory run` from another folder with --repo.\n"
    )
    assert set(marks(desk)) <= {"loop"}, "nothing but what Python had run already"
    assert not desk.home.exists()


def test_a_module_is_planted_by_where_its_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert find_planted((tmp_path,)) is None
    (tmp_path / "planted_by_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import planted_by_a_test  # noqa: PLC0415 - it exists only now

    assert find_planted((tmp_path,)) == "planted_by_a_test"
    monkeypatch.delitem(sys.modules, planted_by_a_test.__name__)
