"""Makes the commands of a plan fit a job: its own user, no network but in the set-up, a bare environment.

Pure: no I/O. A command gets PATH and HOME, and nothing else that an image sets.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from loop.doctor.suggest_found import Found, Image, Part, Rank
from loop.doctor.suggest_plan import Plan

TOOLS = ("uv", "poetry", "pdm", "tox", "nox", "hatch", "pre-commit")
"""Programs that pip brings, and no image has."""
VENV = "python3 -m venv .venv"
ACTIVATE = ". .venv/bin/activate && "
TOOL_PATH = "export PATH=~/.tools/bin:$PATH && "
_HOMES = {
    # The usual images say in variables, which a job does not get, where their files are.
    "rust": "ln -s /usr/local/rustup ~/.rustup && ln -s /usr/local/cargo ~/.cargo",
    # The usual image's own place for gems is root's.
    "ruby": "bundle config set --global path ~/.gems",
}
_PIP = re.compile(r"(?:python3? -m )?pip3? ")
_TARGET = re.compile(r"(?:make|just) ")
_NO_PYTHON = re.compile(r"(?:npm|pnpm|yarn|go|cargo|bundle|rustup|ln) ")
_CONFIGURED = (("tox", "tox.ini"), ("nox", "noxfile.py"), ("pre-commit", ".pre-commit-config.yaml"))


def fit(plan: Plan, files: Collection[str]) -> Plan:
    """The same plan with what its commands need around them; `files` are the repository's."""
    checks = plan.checks
    warm_ups = list(_warm_ups(checks.values()))
    commands = [*plan.setup, *checks.values(), *warm_ups]
    tools = _tools(commands)
    is_made = any(VENV in f.run for f in plan.setup)
    bare = None if is_made else next((f for f in plan.setup if _PIP.match(f.run)), None)
    setup = [
        *_homes(plan.setup, plan.image),
        *_tool_setup(tools, commands),
        # Debian's own Python refuses a bare `pip install`, and its packages are root's.
        *([_needed(bare, VENV)] if bare else []),
        *plan.setup,
        *_components(checks.values(), plan.image),
        *warm_ups,
    ]
    has_venv = any(VENV in f.run for f in setup)

    def wrapped(found: Found) -> Found:
        return replace(found, run=_prefix(found.run, has_venv=has_venv, tools=tools) + found.run)

    inputs = [file for word, file in _CONFIGURED if file in files and _is_called(word, warm_ups)]
    return replace(
        plan,
        setup=tuple(map(wrapped, setup)),
        checks={name: _offline(wrapped(check)) for name, check in checks.items()},
        inputs=tuple(dict.fromkeys((*plan.inputs, *inputs))) or tuple({f.file: 0 for f in setup}),
    )


def _offline(check: Found) -> Found:
    """A fresh tree has new times, for which uv would build the project anew: with a network."""
    has_it = "--no-sync" in check.run
    return check if has_it else replace(check, run=re.sub(r"\buv run ", "uv run --no-sync ", check.run))


def _needed(by: Found, run: str) -> Found:
    return replace(by, part=Part.SETUP, run=run, rank=Rank.NEEDED)


def _words(run: str) -> list[str]:
    """The programs that a line starts: the first word of each of its commands."""
    return [part.split()[0] for part in re.split(r"&&|;|\|", run) if part.split()]


def _is_called(program: str, commands: Iterable[Found]) -> bool:
    return any(re.search(rf"(?:^|\s){program}(?=\s)", f.run) for f in commands)


def _prefix(run: str, *, has_venv: bool, tools: tuple[str, ...]) -> str:
    prefix = ""
    if tools and (_TARGET.match(run) or set(tools) & set(_words(run))):
        prefix += TOOL_PATH
    if has_venv and VENV not in run and "~/.tools" not in run and not _NO_PYTHON.match(run):
        prefix += ACTIVATE
    return prefix


def _homes(setup: Iterable[Found], image: Image | None) -> Iterator[Found]:
    first = next(iter(setup), None)
    run = _HOMES.get(image.name.partition(":")[0]) if image else None
    if first and run:
        yield _needed(first, run)


def _tools(commands: Iterable[Found]) -> tuple[str, ...]:
    """The tools that are called and that no command installs."""
    known = list(commands)
    called = {word for f in known for word in _words(f.run)}
    installed = " ".join(f.run for f in known if re.search(r"\bpip3? install", f.run))
    brought = set(re.findall(r"[\w-]+", installed))
    tools = tuple(tool for tool in TOOLS if tool in called and tool not in brought)
    return (*tools, *(["pnpm"] if "pnpm" in called else []))


def _tool_setup(tools: tuple[str, ...], commands: Iterable[Found]) -> Iterator[Found]:
    known = list(commands)
    first = next((f for f in known if set(tools) & set(_words(f.run))), None)
    from_pip = [tool for tool in tools if tool in TOOLS]
    if first and from_pip:
        yield _needed(first, f"python3 -m venv ~/.tools && ~/.tools/bin/pip install {' '.join(from_pip)}")
    if first and "pnpm" in tools:
        yield _needed(first, "npm install -g --prefix ~/.tools pnpm")


def _warm_ups(checks: Iterable[Found]) -> Iterator[Found]:
    """What a runner of environments would else bring through a network in the check itself."""
    for check in checks:
        if re.search(r"\bpre-commit run\b", check.run):
            yield _needed(check, re.sub(r"\bpre-commit run\b.*", "pre-commit install-hooks", check.run))
        elif _is_called("tox", [check]):
            yield _needed(check, f"{check.run} --notest")
        elif _is_called("nox", [check]):
            yield _needed(check, f"{check.run} --install-only")


def _components(checks: Iterable[Found], image: Image | None) -> Iterator[Found]:
    """Parts of Rust that the usual image leaves out."""
    if image is None or not image.name.startswith("rust:"):
        return
    known = list(checks)
    for word, name in (("clippy", "clippy"), ("fmt", "rustfmt")):
        check = next((f for f in known if f"cargo {word}" in f.run), None)
        if check:
            yield _needed(check, f"rustup component add {name}")
