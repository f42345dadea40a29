"""Out of all that was found, what a `factory.toml` should say.

Pure: no I/O.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loop.doctor.suggest_found import Fact, Found, Image, Note, Part, Rank

MAX_EACH = 3
"""Commands for one part."""
MAX_NOTES = 6
_SHOWN = (Part.TEST, Part.QUICK, Part.LINT, Part.FORMAT, Part.TYPES, Part.WHOLE)
_RUNNER = re.compile(r"(?:^|\s)(?:tox|nox)(?=\s|$)")
_ECOSYSTEMS = (
    ("python", r"pip3? |uv |poetry |pdm |venv"),
    ("node", r"npm |pnpm |yarn|bun "),
    ("go", r"go "),
    ("rust", r"cargo |rustup "),
    ("ruby", r"bundle "),
    ("php", r"composer "),
    ("elixir", r"mix "),
    ("java", r"mvnw? |gradlew? "),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a proposal; every one may be empty."""

    setup: tuple[Found, ...]
    """In the order of run."""
    inputs: tuple[str, ...]
    checks: Mapping[str, Found]
    """By name."""
    fast: tuple[str, ...]
    gate: tuple[str, ...]
    image: Image | None
    notes: tuple[str, ...]


def make_plan(facts: Sequence[Fact]) -> Plan:
    """Choose for each part the commands of whoever knows best."""
    found = [fact for fact in facts if isinstance(fact, Found)]
    checks = _checks(found)
    images = list(dict.fromkeys(fact for fact in facts if isinstance(fact, Image)))
    notes = [fact.text for fact in facts if isinstance(fact, Note)] if checks else []
    if len(images) > 1:
        named = ", ".join(f"{image.name} ({image.file}:{image.line})" for image in images)
        notes.append(f"several languages: {named}; one image must hold them all, an [image] dockerfile can")
    setup = _setup(found)
    inputs = [path for f in found if f.part is Part.SETUP for path in f.inputs] if setup else []
    return Plan(
        setup=setup,
        inputs=tuple(dict.fromkeys(inputs or [f.file for f in setup])),
        checks={name: check for names in checks.values() for name, check in names.items()},
        fast=_fast(checks),
        gate=_gate(checks),
        image=images[0] if images else None,
        notes=tuple(dict.fromkeys(notes))[:MAX_NOTES],
    )


def _best(found: Iterable[Found]) -> list[Found]:
    """Those of the lowest rank, a command once, those of the root before those of a folder.

    A runner that makes environments of its own comes last: it may want a network each time.
    """
    everything = list(found)
    known = [f for f in everything if not _RUNNER.search(f.run)] or everything
    lowest = min((f.rank for f in known), default=None)
    once = {f.run: f for f in reversed(known) if f.rank is lowest}
    return sorted(once.values(), key=lambda f: (f.run.startswith("cd "), known.index(f)))


def _checks(found: Sequence[Found]) -> dict[Part, dict[str, Found]]:
    """For each part its commands by name; parts without any are left out."""
    best = {part: _best([f for f in found if f.part is part])[:MAX_EACH] for part in _SHOWN}
    if not best[Part.TEST]:
        best[Part.TEST], best[Part.QUICK] = best[Part.QUICK], []
    if any(f.rank is not Rank.GUESS for f in (*best[Part.TEST], *best[Part.WHOLE])):
        # What a repository configures and nobody runs may well fail: no gate should ask for it.
        for part in (Part.LINT, Part.FORMAT, Part.TYPES):
            best[part] = [f for f in best[part] if f.rank is not Rank.GUESS]
    has_better = best[Part.TEST] and best[Part.WHOLE] and best[Part.TEST][0].rank < best[Part.WHOLE][0].rank
    if has_better:
        best[Part.WHOLE] = []
    named = {}
    for part, commands in best.items():
        names = [part.value if n == 1 else f"{part.value}-{n}" for n in range(1, len(commands) + 1)]
        if names:
            named[part] = dict(zip(names, commands, strict=True))
    return named


def _fast(checks: Mapping[Part, Mapping[str, Found]]) -> tuple[str, ...]:
    """The quick tests, else the first; and what reads the code alone."""
    tests = checks.get(Part.QUICK) or checks.get(Part.TEST) or checks.get(Part.WHOLE) or {}
    others = [name for part in (Part.LINT, Part.FORMAT, Part.TYPES) for name in checks.get(part, {})]
    return (*list(tests)[:1], *others)


def _gate(checks: Mapping[Part, Mapping[str, Found]]) -> tuple[str, ...]:
    return tuple(name for part in _SHOWN if part is not Part.QUICK for name in checks.get(part, {}))


def _setup(found: Sequence[Found]) -> tuple[Found, ...]:
    """One source an ecosystem; a target that sets up knows more than what is usual."""
    commands = [f for f in found if f.part is Part.SETUP]
    own = _best([f for f in commands if _ecosystem(f.run) is None])
    if own and (not commands or own[0].rank <= min(f.rank for f in commands)):
        return tuple(own[:1])
    chosen: list[Found] = []
    for name in filter(None, dict.fromkeys(_ecosystem(f.run) for f in commands)):
        same = [f for f in commands if _ecosystem(f.run) == name]
        chosen += _best([f for f in same if f.rank is not Rank.NEEDED])
        chosen += [f for f in same if f.rank is Rank.NEEDED]
    return tuple({f.run: f for f in chosen}.values())


def _ecosystem(run: str) -> str | None:
    """Whose packages a set-up command brings; none: it is a target's."""
    return next(
        (name for name, words in _ECOSYSTEMS if re.search(rf"(?:^|[\s;&/])(?:{words})", f"{run} ")), None
    )
