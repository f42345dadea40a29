"""Readers of single front matter values: text in, a checked value or a problem out.

Pure: no I/O.
"""

import re
from collections.abc import Collection, Mapping
from decimal import Decimal

from instrument.schema.state import Caps
from instrument.schema.vocabulary import RuntimeName
from loop.frontmatter import Field
from loop.globs import fault_of
from loop.problems import Problem, show, suggest

_WHOLE = re.compile(r"[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})?")
CHECK_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MODEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")


class KeyReader:
    """Reads keys of one file and gathers what is wrong, so that all of it is said at once.

    A reader returns an empty value after a fault; `problems` then forbids using it.
    """

    def __init__(self, path: str, fields: Mapping[str, Field]) -> None:
        self._path = path
        self._fields = fields
        self.problems: list[Problem] = []

    def problem(self, line: int | None, sentence: str) -> None:
        """Note what is wrong in a line."""
        self.problems.append(Problem(self._path, line, sentence))

    def blame(self, key: str, sentence: str) -> None:
        """Note what is wrong at a key; line 1 where the file has no such key."""
        self.problem(self._fields[key].line if key in self._fields else 1, sentence)

    def refuse_others(self, known: Collection[str], without_effect: Collection[str]) -> None:
        """Note every key that is none of `known`."""
        for key, value in self._fields.items():
            if key in without_effect:
                self.problem(value.line, f"{key} has no effect in this version; take it out")
            elif key not in known:
                self.problem(value.line, f"unknown key {show(key)}{suggest(key, known)}")

    def text(self, key: str, required: str | None = None) -> str | None:
        """Read a single value; `required` is the sentence's end where it is absent."""
        field = self._fields.get(key)
        if field is None:
            if required:
                self.blame(key, f"{key} {required}")
            return None
        if not isinstance(field.value, str):
            self.blame(key, f"{key} must be a single value, not a list or a table")
            return None
        if not field.value:
            self.blame(
                key, f"{key} is empty; give a value (after a space, # begins a comment) or take it out"
            )
            return None
        return field.value

    def word(self, key: str) -> str | None:
        """Read a model id."""
        value = self.text(key)
        if value is not None and not MODEL_ID.fullmatch(value):
            self.blame(key, f"{key} {show(value)} is no model id; write it as the provider does")
            return None
        return value

    def flag(self, key: str) -> bool:
        """Read `true` or `false`, of all that YAML takes for a truth; absent: false."""
        value = self.text(key)
        if value not in (None, "true", "false"):
            self.blame(key, f"{key} must be true or false, not {show(value)}")
        return value == "true"

    def whole(self, key: str, *, lowest: int, prefix: str = "") -> int | None:
        """Read a whole number of at most nine digits."""
        value = self.text(key)
        if value is None:
            return None
        digits = value.removeprefix(prefix)
        if not _WHOLE.fullmatch(digits) or int(digits) < lowest:
            self.blame(key, f"{key} must be a whole number from {lowest} up, not {show(value)}")
            return None
        return int(digits)

    def scaled(self, key: str, *, unit: Decimal, finest: str) -> int | None:
        """Read an amount above zero into an integer of `unit`; never through a float, never rounded."""
        value = self.text(key)
        if value is None:
            return None
        if not _DECIMAL.fullmatch(value):
            self.blame(key, f"{key} must be a plain number such as 1.50, not {show(value)}")
            return None
        amount = Decimal(value) * unit
        if amount != amount.to_integral_value():
            self.blame(key, f"{key} {show(value)} is finer than {finest}; write fewer decimals")
            return None
        if not amount:
            self.blame(key, f"{key} must be above zero; take it out for no limit")
            return None
        return int(amount)

    def runtime(self, key: str) -> RuntimeName | None:
        """Read the name of an agent program."""
        value = self.text(key)
        if value is None:
            return None
        known = [name.value for name in RuntimeName]
        if value not in known:
            self.blame(key, f"unknown runtime {show(value)}{suggest(value, known)}")
            return None
        return RuntimeName(value)

    def items(self, key: str) -> tuple[tuple[str, int], ...]:
        """Read a list of single values, each with its line; absent: empty."""
        field = self._fields.get(key)
        if field is None:
            return ()
        if not isinstance(field.value, tuple):
            self.blame(key, f"{key} must be a list, such as [one, two]")
            return ()
        if not field.value:
            self.blame(key, f"{key} is an empty list; fill it or take it out")
        texts: dict[str, int] = {}
        for item in field.value:
            if not isinstance(item.value, str) or not item.value:
                self.problem(item.line, f"{key} must hold single values; quote one with special characters")
            elif item.value in texts:
                self.problem(item.line, f"{key} names {show(item.value)} twice")
            else:
                texts[item.value] = item.line
        return tuple(texts.items())

    def patterns(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Read gitignore patterns, of which at least one must match something."""
        if required and key not in self._fields:
            self.blame(key, f"{key} is missing; list what the task may touch, such as files: [src/retry/**]")
        items = self.items(key)
        for value, line in items:
            if fault := fault_of(value):
                self.problem(line, f"{key}: {fault}")
        if items and all(value.startswith("!") for value, _ in items):
            self.blame(key, f"{key} matches nothing; a pattern with ! only takes back what another one gave")
        return tuple(value for value, _ in items)

    def names(self, key: str) -> tuple[str, ...]:
        """Read names of checks."""
        items = self.items(key)
        for value, line in items:
            if not CHECK_NAME.fullmatch(value):
                self.problem(line, f"{key}: {show(value)} is no name of a check in factory.toml")
        return tuple(value for value, _ in items)

    def words(self, key: str, known: Collection[str]) -> tuple[str, ...]:
        """Read a list of words out of `known`."""
        items = self.items(key)
        for value, line in items:
            if value not in known:
                self.problem(line, f"{key}: unknown word {show(value)}{suggest(value, known)}")
        return tuple(value for value, _ in items if value in known)

    def numbers(self, key: str) -> tuple[int, ...]:
        """Read numbers of tasks; `007` and `7` are the same one."""
        numbers = []
        for value, line in self.items(key):
            if _WHOLE.fullmatch(value):
                numbers.append(int(value))
            else:
                self.problem(line, f"{key} must hold task numbers such as 007, not {show(value)}")
        return tuple(dict.fromkeys(numbers))

    def caps(self, key: str) -> Mapping[str, int]:
        """Read the caps that a task sets for itself."""
        field = self._fields.get(key)
        if field is None:
            return {}
        if not isinstance(field.value, Mapping):
            self.blame(key, f"{key} must be a table, such as {{review: 6}}")
            return {}
        known = tuple(Caps.model_fields)
        inner = KeyReader(self._path, field.value)
        inner.refuse_others(known, ())
        caps = {name: inner.whole(name, lowest=1 if name == "review" else 0) for name in known}
        self.problems += inner.problems
        return {name: value for name, value in caps.items() if value is not None}
