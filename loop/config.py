"""`factory.toml`, from its bytes to a frozen value, with every fault at once.

Pure: no I/O.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from instrument.schema.state import Caps
from jobs.order import MIB, Command, Limits
from loop import config_tables as tables
from loop.config_faults import problem_of
from loop.config_words import bytes_of
from loop.problems import Problem, Problems, show, suggest
from loop.provider_tables import ProviderTable
from loop.toml_lines import TomlLines, locate

FILE_NAME = "factory.toml"
INSTRUCTION_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude/", ".opencode/", ".codex/", ".agents/")
"""What agent programs take orders from."""
PROTECTED = (
    *(".github/", ".forgejo/", ".gitlab-ci.yml", ".ci/", "factory.toml", "tasks/", ".gitattributes"),
    *(".gitmodules", *INSTRUCTION_FILES),
)
SETUP_TIMEOUT_S = 1800
_CHECK_LISTS = ("fast", "gate")
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column \d+\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Config:
    """What a repository fixes for all of its tasks."""

    path: str
    repo: tables.RepoTable
    image: tables.ImageTable
    cached: tuple[Command, ...]
    """Set-up whose effect is kept; empty where no inputs are declared."""
    inputs: tuple[str, ...]
    """Gitignore patterns of what the cached set-up reads."""
    always: tuple[Command, ...]
    """Set-up run on the actual tree in every job; cached commands without inputs come first."""
    checks: Mapping[str, Command]
    fast: tuple[str, ...]
    gate: tuple[str, ...]
    protected: tuple[str, ...]
    """The protected paths of every repository, the file's own, and its prompt templates."""
    generated: tuple[str, ...]
    tests: tuple[str, ...]
    """Patterns of test files, in addition to those known by convention."""
    agent: tables.AgentTable
    reviewer: tables.ReviewerTable
    limits: Limits
    caps: Caps
    job_env: tuple[str, ...]
    """Names of the host's variables that every job gets."""
    egress: tables.EgressTable | None
    """None: no allowlist."""
    ladder: tables.LadderTable | None
    """None: every stop waits for a person."""
    merge: tables.MergeTable
    prompts: tables.PromptsTable
    provider: ProviderTable
    lines: TomlLines = field(repr=False, compare=False)


def parse_config(data: bytes, path: str = FILE_NAME) -> Config:
    """Read a configuration; `path` names it in problems.

    Raises:
        Problems: Every fault of the file that can be told at once.
    """
    raw, text = _load(data, path)
    lines = locate(text)
    problems = _unknown_names(raw, path, lines)
    try:
        toml = tables.FactoryToml.model_validate_json(_as_json(raw, path))
    except ValidationError as error:
        problems += [problem_of(e, path, lines) for e in error.errors(include_url=False)]
        raise Problems(dict.fromkeys(problems)) from None
    problems += _keys_in_jobs(toml, path, lines)
    if problems:
        raise Problems(problems)
    return _config(toml, path, lines)


def _load(data: bytes, path: str) -> tuple[dict[str, Any], str]:
    if data.startswith(b"\xef\xbb\xbf"):
        raise Problems([Problem(path, 1, "the file begins with a byte order mark; save it as UTF-8 without")])
    try:
        text = data.decode().replace("\r\n", "\n")
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise Problems([Problem(path, line, "the file is not UTF-8; save it as UTF-8")]) from None
    except tomllib.TOMLDecodeError as error:
        match = _TOML_PLACE.fullmatch(str(error))
        said, line = (match[1], int(match[2])) if match else (str(error), text.count("\n") + 1)
        said = said.partition(" (at end")[0]
        raise Problems([Problem(path, line, f"the TOML is broken: {said[:1].lower()}{said[1:]}")]) from None
    except (ValueError, RecursionError):
        # A number of thousands of digits, or thousands of brackets: the parser gives up differently.
        raise Problems([Problem(path, None, "a value is too long or nested too deep")]) from None


def _as_json(raw: dict[str, Any], path: str) -> str:
    """Give the file as JSON, since strict models read lists and enums only from there."""
    checks = raw.get("checks")
    if isinstance(checks, dict):
        lists = {name: checks[name] for name in _CHECK_LISTS if name in checks}
        commands = {name: table for name, table in checks.items() if name not in lists}
        raw = {**raw, "checks": {**lists, "commands": commands}}
    try:
        # TOML's dates have no place here: a table in their stead gets the sentence of a wrong type.
        return json.dumps(raw, default=lambda _: {})
    except (ValueError, RecursionError):
        raise Problems([Problem(path, None, "a value is too long or nested too deep")]) from None


def _unknown_names(raw: dict[str, Any], path: str, lines: TomlLines) -> list[Problem]:
    """Find the names in `fast` and `gate` that no table defines."""
    checks = raw.get("checks")
    if not isinstance(checks, dict):
        return []
    known = [name for name in checks if name not in _CHECK_LISTS]
    return [
        Problem(
            path,
            lines.of("checks", part),
            f"[checks] {part}: unknown check {show(name)}{suggest(name, known)}",
        )
        for part in _CHECK_LISTS
        if isinstance(checks.get(part), list)
        for name in checks[part]
        if isinstance(name, str) and name not in known
    ]


def _keys_in_jobs(toml: tables.FactoryToml, path: str, lines: TomlLines) -> list[Problem]:
    """Refuse to hand a provider's key to jobs: it lives in the proxy alone."""
    secret = toml.provider.key_variables
    return [
        Problem(
            path, lines.of("job", "env"), f"[job] env: {name} holds the provider's key, which no job may have"
        )
        for name in toml.job.env
        if name in secret
    ]


def _config(toml: tables.FactoryToml, path: str, lines: TomlLines) -> Config:
    setup = toml.setup
    cached = setup.cached if setup.inputs else ()
    always = setup.always if setup.inputs else setup.cached + setup.always
    prompts = tuple(path for path in (toml.prompts.coder, toml.prompts.reviewer) if path)
    return Config(
        path=path,
        repo=toml.repo,
        image=toml.image,
        cached=_setup_commands("cached", cached),
        inputs=setup.inputs,
        always=_setup_commands("always", always),
        checks={
            name: Command(name=name, run=check.run, timeout_s=check.timeout_s, env=check.env)
            for name, check in toml.checks.commands.items()
        },
        fast=tuple(dict.fromkeys(toml.checks.fast)),
        gate=tuple(dict.fromkeys(toml.checks.gate)),
        protected=tuple(dict.fromkeys((*PROTECTED, *toml.paths.protected, *(f"/{p}" for p in prompts)))),
        generated=toml.paths.generated,
        tests=toml.paths.tests,
        agent=toml.agent,
        reviewer=toml.reviewer,
        limits=_limits(toml.limits, toml.job),
        caps=Caps(**toml.caps.model_dump()),
        job_env=toml.job.env,
        egress=toml.egress,
        ladder=toml.ladder,
        merge=toml.merge,
        prompts=toml.prompts,
        provider=toml.provider,
        lines=lines,
    )


def _setup_commands(kind: str, runs: tuple[str, ...]) -> tuple[Command, ...]:
    """Name set-up commands with a dot, which no check's name has: outputs are kept by name."""
    return tuple(
        Command(name=f"{kind}.{n}", run=run, timeout_s=SETUP_TIMEOUT_S) for n, run in enumerate(runs, start=1)
    )


def _limits(table: tables.LimitsTable, job: tables.JobTable) -> Limits:
    return Limits(
        memory_bytes=bytes_of(table.memory),
        cpus=table.cpus,
        pids=table.pids,
        disk_bytes=bytes_of(table.disk),
        deadline_s=table.job_min * 60,
        first_call_s=table.first_call_s,
        patch_bytes=int(table.patch_mb * MIB),
        patch_files=table.patch_files,
        same_command=table.same_command,
        container_runtime=job.container_runtime,
        has_docker=job.docker,
    )
