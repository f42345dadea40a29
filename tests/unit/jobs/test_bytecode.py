"""The supervisor's bytecode: what this very Python loads instead of the source."""

import subprocess
import sys
from pathlib import Path

import jobs.inside
from jobs.bytecode import program_files


def lay(target: Path, inside: Path) -> None:
    for name, data in program_files(inside):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def run(target: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", *words, str(target)], capture_output=True, text=True, check=False
    )


def test_a_python_of_our_version_runs_the_bytecode_and_names_the_place_where_it_lies(tmp_path: Path):
    inside, target = tmp_path / "inside", tmp_path / "laid"
    inside.mkdir()
    (inside / "__main__.py").write_text("raise SystemExit(__import__('broken'))\n")
    (inside / "broken.py").write_text("raise ValueError('so it is')\n")
    lay(target, inside)
    (target / "broken.py").write_text("this is no Python")
    done = run(target)
    assert "so it is" in done.stderr
    assert f'File "{target}/broken.py", line 1' in done.stderr
    assert str(inside) not in done.stderr


def test_the_source_is_there_for_every_other_version(tmp_path: Path):
    inside = Path(jobs.inside.__path__[0])
    lay(tmp_path, inside)
    for path in inside.glob("*.py"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_second_job_does_not_compile_again(tmp_path: Path):
    (tmp_path / "one.py").write_text("A = 1\n")
    first = dict(program_files(tmp_path))
    assert dict(program_files(tmp_path)) == first
    (tmp_path / "one.py").write_text("A = 2\n")
    again = dict(program_files(tmp_path))
    assert [name for name in again if again[name] != first[name]] == list(again)
