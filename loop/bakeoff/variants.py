"""What `--with` names: a runtime, its model, and settings of `[agent]` in factory.toml.

Pure: no I/O.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from instrument.schema.base import Frozen
from instrument.schema.vocabulary import RuntimeName
from loop.config import parse_config
from loop.errors import UsageError
from loop.problems import Problems, show, suggest
from loop.toml_lines import locate

_COMMA = re.compile(r",(?=[A-Za-z_][A-Za-z0-9_.]*=)")
"""Between two settings; any other comma belongs to a value."""
_TYPED = ("runtime", "model")


class Variant(Frozen):
    """One way to have the tasks done."""

    name: str
    """As typed."""
    runtime: RuntimeName
    model: str | None = None
    """None: the task's or the repo's."""
    settings: tuple[tuple[str, str], ...] = ()
    """Keys below `[agent]`, with dots, and their values as typed."""


def parse_variant(text: str) -> Variant:
    """Read `RUNTIME[:MODEL][,key=value…]`.

    Raises:
        UsageError: The runtime is unknown, or a part is no setting.
    """
    head, *rest = _COMMA.split(text.strip())
    runtime, mark, model = head.partition(":")
    known = [name.value for name in RuntimeName]
    if runtime not in known:
        raise UsageError(f"--with {text}: unknown runtime {show(runtime)}{suggest(runtime, known)}")
    if (mark and not model) or "," in model:
        raise UsageError(f"--with {text}: write RUNTIME:MODEL,key=value, such as claude:claude-sonnet-4-5")
    settings = [(key, value) for key, _, value in (part.partition("=") for part in rest)]
    for key in dict(settings):
        if key in _TYPED:
            raise UsageError(f"--with {text}: name runtime and model in front, as RUNTIME:MODEL")
    if len(dict(settings)) < len(settings):
        raise UsageError(f"--with {text}: one key is set twice; take one out")
    return Variant(
        name=text.strip(), runtime=RuntimeName(runtime), model=model or None, settings=tuple(settings)
    )


def parse_variants(texts: Sequence[str]) -> tuple[Variant, ...]:
    """Read them all, in order.

    Raises:
        UsageError: One is faulty, or stands there twice.
    """
    variants = tuple(map(parse_variant, texts))
    if len({variant.name for variant in variants}) < len(variants):
        raise UsageError("one --with stands there twice; --repeat runs each more than once")
    return variants


def with_settings(toml: bytes, variant: Variant) -> bytes:
    """Give factory.toml with the variant's settings in `[agent]`, held valid by the file's own models.

    Raises:
        UsageError: A key is unknown, a value cannot be, or the file is written so that it cannot be set.
    """
    if not variant.settings:
        return toml
    text = toml.decode()
    for name, value in variant.settings:
        text = _with_one(text, ("agent", *name.split(".")), value, variant.name)
    try:
        parse_config(text.encode())
    except Problems as problems:
        first = problems.problems[0].text
        raise UsageError(f"--with {variant.name}: {first}") from problems
    return text.encode()


def _with_one(text: str, path: tuple[str, ...], value: str, name: str) -> str:
    written = _as_toml(value)
    wanted = _set(tomllib.loads(text), path, tomllib.loads(f"v = {written}")["v"])
    edited = _inserted(_without(text, path), path, written)
    try:
        is_done = tomllib.loads(edited) == wanted
    except tomllib.TOMLDecodeError:
        is_done = False
    if not is_done:
        table = ".".join(path[:-1])
        raise UsageError(
            f"--with {name}: {path[-1]} cannot be set; give factory.toml a table [{table}] with a line a key"
        )
    return edited


def _as_toml(value: str) -> str:
    """The value as typed where that is TOML, else as a text."""
    try:
        is_toml = list(tomllib.loads(f"v = {value}")) == ["v"]
    except tomllib.TOMLDecodeError:
        is_toml = False
    return value if is_toml else json.dumps(value, ensure_ascii=False)


def _set(whole: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    inner = whole
    for key in path[:-1]:
        found = inner.setdefault(key, {})
        if not isinstance(found, dict):
            return whole
        inner = found
    inner[path[-1]] = value
    return whole


def _without(text: str, path: tuple[str, ...]) -> str:
    """The text without the key, whose value may take several lines."""
    line = locate(text).found.get(path)
    if line is None:
        return text
    lines = text.splitlines(keepends=True)
    for end in range(line, len(lines) + 1):
        rest = "".join(lines[: line - 1] + lines[end:])
        try:
            tomllib.loads(rest)
        except tomllib.TOMLDecodeError:
            continue
        return rest
    return text


def _inserted(text: str, path: tuple[str, ...], written: str) -> str:
    """The text with the key right below its table's head; a table that is not there comes last."""
    key = f"{path[-1]} = {written}\n"
    parts = r"\s*\.\s*".join(map(re.escape, path[:-1]))
    head = re.search(rf"^[ \t]*\[\s*{parts}\s*\][^\n]*(\n|\Z)", text, re.MULTILINE)
    if head is None:
        return f"{text.rstrip()}\n\n[{'.'.join(path[:-1])}]\n{key}"
    before = text[: head.end()]
    return f"{before}{'' if before.endswith(chr(10)) else chr(10)}{key}{text[head.end() :]}"
