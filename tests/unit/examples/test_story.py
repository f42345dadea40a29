"""Runs every command of the demo's story in a copy of the package, as the demo's jobs would."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from instrument.schema.job import AgentResult
from instrument.schema.vocabulary import Role, Severity
from loop.config import parse_config
from loop.scope import judge_scope
from loop.taskfile import parse_task
from loop.together import baseline_checks, check_together, fast_checks, gate_checks
from loop.verdict import Verdict, read_verdict, verdict_template
from proxy.scripted.story import load_story

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "durations"
STORY_TEXT = (ROOT / "examples" / "durations-story.yaml").read_text()
STORY = yaml.safe_load(STORY_TEXT)
TASK_PATH = "tasks/001-carry-rounded-seconds.md"
TOKEN = "0123456789abcdef"
TASK = parse_task((EXAMPLE / TASK_PATH).read_bytes(), TASK_PATH)
CONFIG = parse_config((EXAMPLE / "factory.toml").read_bytes())
INPUT = "from durations import format_human; print(format_human(0.9996))"


class Repo:
    """The package under git, with what a job's environment offers a shell."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "repo"
        self.hand = folder / "hand"
        self.hand.mkdir()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(EXAMPLE, self.path, ignore=ignored)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()
        self.base = self.git("rev-parse", "HEAD").strip()

    @property
    def result(self) -> Path:
        return self.hand / "result.json"

    @property
    def review(self) -> Path:
        return self.path / ".agents" / "reviews" / "001-round1.md"

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.hand),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "FACTORY_RESULT": str(self.result),
            "FACTORY_REVIEW_FILE": str(self.review),
        }
        return subprocess.run(
            ["bash", "-c", line], cwd=self.path, env=environment, capture_output=True, text=True, check=False
        )

    def git(self, *arguments: str) -> str:
        name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *name, *arguments],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=round")

    def changed(self) -> list[str]:
        return self.git("diff", "--name-only", self.base).split()

    def red(self) -> set[str]:
        """Names of the checks that fail now, of all that the task is judged by."""
        return {c.name for c in baseline_checks(TASK, CONFIG) if self.shell(c.run).returncode != 0}

    def play(self, role: str, number: int) -> None:
        """Do one round's commands as the agent would; each must end well."""
        (found,) = [entry for entry in STORY["rounds"] if (entry["role"], entry["round"]) == (role, number)]
        for turn in found["turns"]:
            if "run" in turn:
                done = self.shell(turn["run"].replace("{{token}}", TOKEN))
                assert done.returncode == 0, done.stdout + done.stderr

    def read_review(self) -> Verdict:
        verdict = read_verdict(self.review.read_text(), token=TOKEN, must_cover=self.changed())
        assert isinstance(verdict, Verdict), verdict
        return verdict

    def read_result(self) -> AgentResult:
        result = AgentResult.model_validate_json(self.result.read_bytes())
        self.result.unlink()
        return result


def test_the_whole_story_is_true(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    assert repo.red() == set(TASK.turns_green) == {"unit"}

    repo.play("coder", 1)
    assert repo.read_result().outcome == "done"
    failed = repo.shell("python3 -m unittest discover -s tests -t .").stderr
    assert repo.red() == {"unit"}
    # Another assertion than the one that was red on the base.
    assert "FAIL: test_less_than_a_second_is_milliseconds" in failed
    assert "test_a_rounded_second_is_carried" not in failed
    repo.commit()

    repo.play("coder", 2)
    assert repo.read_result().decisions
    assert repo.red() == set()
    assert repo.changed() == ["durations/text.py"]
    repo.commit()

    repo.play("reviewer", 1)
    verdict = repo.read_review()
    (must_fix,) = verdict.must_fixes
    command, printed = re.fullmatch(r"(.*) prints (\S+)", must_fix.evidence or "").groups()
    assert INPUT in command
    assert repo.shell(command).stdout.strip() == printed == "1000ms"
    assert_quotes_stand_where_they_say(repo, verdict)
    assert_inputs_give_what_they_say(repo, verdict)
    assert_nothing_tracked_changed(repo)

    repo.play("coder", 3)
    assert repo.read_result().outcome == "done"
    assert repo.red() == set()
    assert repo.shell(command).stdout.strip() == "1s"
    assert repo.changed() == ["durations/text.py", "tests/test_text.py"]
    assert_the_new_test_would_have_caught_it(repo)
    repo.commit()

    repo.play("reviewer", 2)
    verdict = repo.read_review()
    assert not verdict.must_fixes
    assert {remark.severity for remark in verdict.findings} == {Severity.NOTE}
    assert_quotes_stand_where_they_say(repo, verdict)
    assert_inputs_give_what_they_say(repo, verdict)
    assert_nothing_tracked_changed(repo)


def assert_quotes_stand_where_they_say(repo: Repo, verdict: Verdict) -> None:
    for remark in verdict.findings:
        lines = (repo.path / (remark.path or "")).read_text().splitlines()
        assert remark.line
        assert lines[remark.line - 1].strip() == remark.quote


def assert_inputs_give_what_they_say(repo: Repo, verdict: Verdict) -> None:
    for remark in verdict.findings:
        if given := re.fullmatch(r"(format_human\(\S+\)) gives (\S+)", remark.evidence or ""):
            program = f"from durations import format_human; print({given[1]})"
            assert repo.shell(f"python3 -c '{program}'").stdout.strip() == given[2]
        else:
            assert remark.severity is Severity.MUST_FIX


def assert_nothing_tracked_changed(repo: Repo) -> None:
    assert repo.git("status", "--porcelain", "--untracked-files=all").split() == [
        "??",
        ".agents/reviews/001-round1.md",
    ]
    shutil.rmtree(repo.path / ".agents")


def assert_the_new_test_would_have_caught_it(repo: Repo) -> None:
    after = (repo.path / "durations" / "text.py").read_bytes()
    repo.git("checkout", "--quiet", "HEAD", "durations/text.py")
    assert repo.red() == {"unit"}
    (repo.path / "durations" / "text.py").write_bytes(after)


def test_the_task_and_its_configuration_fit_together() -> None:
    check_together(TASK, CONFIG)

    assert [check.name for check in fast_checks(TASK, CONFIG)] == ["style", "unit"]
    assert [check.name for check in gate_checks(TASK, CONFIG)] == ["compile", "style", "unit"]


def test_the_canary_is_the_demos_task_under_its_own_number() -> None:
    canary = (ROOT / "tasks" / "000-canary.md").read_text()

    # Done in this repository, so that nobody carries it to this repository's own branch.
    assert canary.replace("status: done", "status: ready", 1) == (EXAMPLE / TASK_PATH).read_text()
    assert parse_task(canary.encode(), "tasks/000-canary.md").status == "done"


def calls() -> Iterator[tuple[str, int, Mapping[str, int]]]:
    for entry in STORY["rounds"]:
        for turn in entry["turns"]:
            yield entry["role"], entry["round"], turn["usage"]


def cost_microusd(usage: Mapping[str, int]) -> int:
    """Price one call at 3, 15, 0.30, 3.75 and 6 dollars a million tokens, rounded up once."""
    hundredths = (
        300 * usage["input"]
        + 1500 * usage["output"]
        + 30 * usage["cache_read"]
        + 375 * usage["cache_write_5m"]
        + 600 * usage["cache_write_1h"]
    )
    return -(-hundredths // 100)


def test_the_expected_figures_are_those_of_the_story() -> None:
    expected = json.loads((ROOT / "examples" / "durations-story.expected.json").read_text())
    rounds: dict[tuple[str, int], list[int]] = {}
    for role, number, usage in calls():
        rounds.setdefault((role, number), []).append(cost_microusd(usage))

    assert expected["rounds"] == [
        {
            "role": role,
            "round": number,
            "calls": len(costs),
            "calls_microusd": costs,
            "cost_microusd": sum(costs),
        }
        for (role, number), costs in rounds.items()
    ]
    assert expected["calls"] == sum(len(costs) for costs in rounds.values())
    assert expected["cost_microusd"] == sum(sum(costs) for costs in rounds.values())
    assert expected["tokens"] == {
        name: sum(usage[name] for _, _, usage in calls()) for name in expected["tokens"]
    }
    assert len(expected["tokens"]) == 5


def test_the_scripted_provider_takes_the_story() -> None:
    story = load_story(STORY_TEXT)

    assert len(story.rounds) == 5
    assert all(entry.turns[-1].finish for entry in story.rounds)


def test_every_turn_has_its_own_usage_and_no_other_bucket() -> None:
    usages = [usage for _, _, usage in calls()]

    assert len({tuple(usage.items()) for usage in usages}) == len(usages)
    assert {frozenset(usage) for usage in usages} == {
        frozenset({"input", "output", "cache_read", "cache_write_5m", "cache_write_1h"})
    }
    assert STORY["aux_usage"] == {"input": 0, "output": 0}
    assert STORY["model"] == CONFIG.agent.model


def test_what_the_story_changes_is_in_scope() -> None:
    changed = [SimpleNamespace(path=path) for path in ("durations/text.py", "tests/test_text.py")]

    scope = judge_scope(
        changed, files=TASK.files, allow=TASK.allow, protected=CONFIG.protected, generated=CONFIG.generated
    )

    assert (scope.out_of_scope, scope.protected) == ((), ())


def test_the_capture_finds_the_token_as_the_prompt_shows_it() -> None:
    found = re.findall(STORY["captures"]["token"], f"Write:\n\n{verdict_template(TOKEN)}\nNo more.")

    assert found == [TOKEN]


@pytest.mark.parametrize("role", [Role.CODER, Role.REVIEWER])
def test_rounds_count_from_one_without_a_gap(role: Role) -> None:
    numbers = [entry["round"] for entry in STORY["rounds"] if entry["role"] == role]

    assert numbers == list(range(1, len(numbers) + 1))
