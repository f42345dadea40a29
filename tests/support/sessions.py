"""A person's machine with the logs of real sessions; their words are taken out.

`claude-session` was asked twice and then forked into `claude-forked`; `claude-with-agents` had three
sub-agents. `codex-session` was resumed once, with another model.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from click.testing import CliRunner, Result

from instrument.cli import main

LOGS = Path(__file__).parents[1] / "unit" / "instrument" / "planner" / "logs"


def messages(name: str) -> Iterator[Any]:
    return map(orjson.loads, (LOGS / f"{name}.jsonl").read_bytes().splitlines())


@dataclass(frozen=True)
class Machine:
    user: Path
    home: Path
    """The run folder."""

    def log(self, name: str, place: str) -> Path:
        """Put a log where its program writes it."""
        target = self.user / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(LOGS / f"{name}.jsonl", target)
        return target

    def instrument(self, *words: str, **environ: str) -> Result:
        places = {"HOME": str(self.user), "FACTORY_HOME": str(self.home)}
        unset = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME"))
        return CliRunner().invoke(main, words, env={**unset, **places, **environ})
