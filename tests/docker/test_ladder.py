"""A stop meets models before a person: shell lines as models, then Claude Code on a scripted provider."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from instrument.schema.vocabulary import DoneReason
from jobs.engine import Engine
from loop.git.seed import seed_repository
from support.stand import USAGE, Loop, clearing

pytestmark = pytest.mark.docker

TASK = "tasks/001-say-more.md"
TEXT = "---\nstatus: ready\nfiles: [words.txt]\n---\n# Say more\n\nOne more word.\n"
CONFIG = """\
[repo]
name = "ladder"
branch = "main"
remote = "origin"

[checks]
fast = ["unit"]

[checks.unit]
run = "test -s words.txt"
timeout_s = 60

[merge]
push = true
"""
ASK = '{"outcome": "blocked", "question": "Which word shall it be?"}'
RULED = "Write pause."
LINES = f"""
[agent]
runtime = "command"

[agent.command]
coder = '''
if grep -q '{RULED}' "$FACTORY_PROMPT"; then echo pause >> words.txt
else echo '{ASK}' > "$FACTORY_RESULT"; fi
'''
resolver = '''
test "$FACTORY_ROLE" = resolver && echo scribble >> words.txt
if grep -q 'small handed it up: two words would do' "$FACTORY_PROMPT"
then echo '{{"ruling": "{RULED}", "hand_up": ""}}' > "$FACTORY_RESULT"
else echo '{{"ruling": "", "hand_up": "two words would do"}}' > "$FACTORY_RESULT"; fi
'''
reviewer = '''
token=$(grep -o 'verdict [0-9a-f]\\{{16\\}}' "$FACTORY_PROMPT" | tail -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{{"verdict": "approve", "covered": ["words.txt"], "findings": []}}\\n```\\n' "$token" \\
    > "$FACTORY_REVIEW_FILE"
'''

[ladder]
"""
CLAUDE = """
[agent]
runtime = "claude"
model = "claude-sonnet-4-5"

[ladder]
steps = ["small"]
small = "claude-haiku-4-5"
"""
APPROVE = """\
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
cat > "$FACTORY_REVIEW_FILE" <<'REVIEW'
```verdict {{token}}
{"verdict": "approve", "covered": ["words.txt"], "findings": []}
```
REVIEW
"""


def told(role: str, round_: int, run: str) -> dict[str, Any]:
    turns = [{"run": run, "usage": USAGE}, {"finish": "Done.", "usage": USAGE}]
    return {"role": role, "round": round_, "turns": turns}


STORY = {
    "captures": {"token": "```verdict ([0-9a-f]{16})"},
    "aux_usage": {"input": 0, "output": 0},
    "rounds": [
        told("coder", 1, f"echo '{ASK}' > \"$FACTORY_RESULT\""),
        told("resolver", 1, f'echo \'{{"ruling": "{RULED}", "hand_up": ""}}\' > "$FACTORY_RESULT"'),
        told("coder", 2, "echo pause >> words.txt"),
        told("reviewer", 1, APPROVE),
    ],
}


def open_loop(folder: Path, config: str, words: tuple[str, ...]) -> Loop:
    source = folder / "source"
    (source / "tasks").mkdir(parents=True)
    (source / TASK).write_text(TEXT)
    (source / "factory.toml").write_text(CONFIG + config)
    (source / "words.txt").write_text("some\n")
    made = Loop(folder / "clone", folder / "origin.git", folder / "home", TASK, "ladder-001", words)
    seed_repository(source, made.checkout, made.origin)
    return made


@pytest.fixture
def lines(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Loop]:  # noqa: ARG001 - built before it is needed
    with clearing(made := open_loop(tmp_path, LINES, ()), engine):
        yield made


@pytest.fixture
def claude(engine: Engine, job_image: str, tmp_path: Path) -> Iterator[Loop]:  # noqa: ARG001 - built before it is needed
    story = tmp_path / "story.yaml"
    story.write_text(yaml.safe_dump(STORY))
    words = ("--purpose", "demo", "--story", str(story))
    with clearing(made := open_loop(tmp_path, CLAUDE, words), engine):
        yield made


def test_a_small_shell_line_hands_up_and_a_strong_one_rules(lines: Loop, engine: Engine) -> None:
    lines.run()
    state = lines.state
    assert state.done is DoneReason.MERGED
    assert [(t.step, t.said, t.ruled) for t in state.tried] == [
        ("small", "two words would do", False),
        ("strong", RULED, True),
    ]
    assert lines.origin_git("show", "main:words.txt") == "some\npause"
    assert [event.step for event in lines.of_kind("ladder_step")] == ["small", "strong"]
    assert state.counters.interventions == 0
    assert lines.left(engine) == []


def test_a_real_program_on_another_model_rules_and_its_calls_are_paid(claude: Loop, engine: Engine) -> None:
    claude.run()
    state = claude.state
    assert state.done is DoneReason.MERGED
    assert [ruling.text for ruling in state.rulings] == [RULED]
    ledgers = claude.ledgers()
    asked = {name: {call.model_asked for call in ledger.calls} for name, ledger in ledgers.items()}
    (resolver,) = [name for name in asked if "resolver" in name]
    assert asked[resolver] == {"claude-haiku-4-5"}
    assert ledgers[resolver].cost_microusd > 0
    assert state.spend.microusd == sum(ledger.cost_microusd for ledger in ledgers.values())
    (row,) = claude.report().rows
    assert row.rulings_by_model == {"claude-haiku-4-5": 1}
    assert [agent.role for agent in row.agents] == ["coder", "resolver", "reviewer"]
    assert claude.left(engine) == []
