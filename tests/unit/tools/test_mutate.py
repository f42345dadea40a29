"""The tool that breaks the machine finds what it breaks, and finds nothing wrong with a whole one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, REVIEWER_GUARDS
from loop.machine.stops import STOPS
from loop.machine.table import TABLE
from tools.mutants import ENTRIES, MODULES, Mutant, all_mutants

ROOT = Path(__file__).resolve().parents[3]
SOURCES = {name: (ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8") for name in MODULES}


def mutate(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.tools.mutate", "--processes", "2", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return all_mutants(SOURCES)


def test_every_row_every_guard_and_every_way_on_is_broken_once(mutants: list[Mutant]):
    def named(part: str) -> list[Mutant]:
        return [mutant for mutant in mutants if mutant.name.startswith(part)]

    assert len(named("TABLE")) == len(TABLE)
    for name, guards in (
        ("CODER", CODER_GUARDS),
        ("REVIEWER", REVIEWER_GUARDS),
        ("COMMANDS", COMMANDS_GUARDS),
    ):
        assert len(named(f"{name}_GUARDS")) == len(guards)
    ways = [
        way
        for row in STOPS.values()
        for way in (row.rerun, row.ruling, row.edit, row.grants, row.granted, row.allow)
        if way
    ]
    assert len(named("_R.")) == len(ways)
    assert len({mutant.name for mutant in mutants}) == len(mutants)


def test_a_mutant_differs_from_the_machine_in_one_place_and_is_python(mutants: list[Mutant]):
    whole = {name: ast.unparse(ast.parse(source)).splitlines() for name, source in SOURCES.items()}
    for mutant in mutants[::10]:
        mutant.compile()
        broken = ast.unparse(mutant.tree).splitlines()
        assert 1 <= len(set(whole[mutant.module]) ^ set(broken)) <= 2, mutant.name


def test_a_list_of_rules_under_a_new_name_is_missed_aloud():
    module, name = ENTRIES[0]
    with pytest.raises(LookupError, match="no dict or tuple is called TABLE"):
        all_mutants(SOURCES | {module: SOURCES[module].replace(name, "OTHER")})


@pytest.mark.slow
def test_a_sample_of_broken_rules_is_noticed():
    rows = "TABLE .*(BASE_FOUND|(BASELINE|CHECKS|GATE)_PASSED)"
    found = mutate("--only", rows, "--stories", "tests/stories/test_calm.py")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "5 rules broken in turn, 0 unnoticed" in found.stdout


@pytest.mark.slow
def test_a_broken_rule_that_no_story_is_about_is_named():
    calm = "tests/stories/test_calm.py::test_a_calm_task_lands"
    found = mutate("--only", "_R.NO_CHANGE without ruling", "--stories", calm)
    assert found.returncode == 1
    assert "no story misses it: _R.NO_CHANGE without ruling" in found.stdout


@pytest.mark.slow
def test_stories_that_fail_by_themselves_prove_nothing():
    found = mutate("--take", "1", "--stories", "tests/stories/absent.py")
    assert found.returncode == 1
    assert "the stories fail as they are" in found.stdout
