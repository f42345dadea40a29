"""`make bench`: measure every section, or one, and renew docs/benchmarks.md and benchmarks.json with it.

A section NAME is two modules beside this one. `NAME_bench` offers `measure(count) -> dict`: figures that
JSON can hold, with every round's values. `NAME_figures` is pure and offers `TITLE` and
`render(record) -> str`: the section's text, method first, then goals and figures, made of what `page` has.

Each is measured in a process of its own and kept as soon as it ends: one that fails says so and leaves the
rest of the page as it was, and the exit code is then 1. A missed goal is no failure. Limits: a section
that passes its time is ended.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from instrument.writing import replace_file
from tests.bench.page import Part, render

ROOT = Path(__file__).resolve().parents[2]
END_S = 30.0
"""What a section that is ended gets to clear up after itself."""


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark and its part of the page."""

    name: str
    count: int
    """Rounds; of `scale`, tasks."""
    limit_s: float


SECTIONS = (
    Section("loop", 5, 1200),
    Section("jobs", 12, 600),
    Section("scale", 100, 900),
    Section("replay", 3, 900),
    Section("proxy", 12, 600),
    Section("report", 5, 900),
)


class FailedError(Exception):
    """A section could not be measured; the text says why in a few words."""


@dataclass(frozen=True, slots=True)
class Book:
    """The page and the figures beside it."""

    folder: Path

    @property
    def page(self) -> Path:
        """For a person."""
        return self.folder / "benchmarks.md"

    @property
    def record(self) -> Path:
        """Every round of every section, by its name."""
        return self.folder / "benchmarks.json"

    def kept(self) -> dict[str, Any]:
        """What was measured before; may be empty."""
        return dict(json.loads(self.record.read_text(encoding="utf-8"))) if self.record.exists() else {}

    def keep(self, name: str, entry: Mapping[str, Any]) -> None:
        """Put one section in place of what was there of it, and leave the others."""
        kept = self.kept() | {name: dict(entry)}
        in_order = {section.name: kept[section.name] for section in SECTIONS if section.name in kept}
        replace_file(self.record, [json.dumps(in_order, indent=1), "\n"])

    def write_page(self) -> None:
        """Make the page of what is kept.

        Raises:
            FailedError: A section has no text.
        """
        parts = []
        for name, entry in self.kept().items():
            figures = figures_of(name)
            machine = {key: entry[key] for key in ("date", "cores", "load")}
            parts.append(
                Part(name=name, title=figures.TITLE, body=figures.render(entry["record"]), **machine)
            )
        replace_file(self.page, [render(parts)])


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is asked for; the page is renewed after each section."""
    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=[section.name for section in SECTIONS], metavar="NAME")
    parser.add_argument("--count", type=int, help="of rounds, or of tasks in `scale`; fewer, to try it out")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page of what is kept")
    args = parser.parse_args(words)
    # As Ctrl-C does: what runs is ended and cleared up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    book = Book(ROOT / "docs")
    if args.page:
        book.write_page()
        return 0
    chosen = [section for section in SECTIONS if args.only in (None, section.name)]
    return renew(chosen, book, args.count)


def renew(
    sections: Iterable[Section],
    book: Book,
    count: int | None = None,
    measure: Callable[[Section, int], Any] | None = None,
) -> int:
    """Measure these sections, each kept as soon as it ends; returns the exit code.

    Args:
        sections: In the order in which they are measured.
        book: Where they are kept.
        count: Of rounds or tasks, in place of each section's own.
        measure: Gives a section's record, or raises FailedError; none: in a process of its own.
    """
    failed = []
    for section in sections:
        try:
            _renew(section, book, count or section.count, measure or measure_apart)
        except FailedError as error:
            failed.append(section.name)
            sys.stderr.write(f"{section.name}: {error}; the page keeps what it had.\n")
        except KeyboardInterrupt:
            sys.stderr.write(f"\nEnded in {section.name}; what was measured before it is kept.\n")
            return 130
    if failed:
        sys.stderr.write(f"Not measured: {', '.join(failed)}. `make bench ONLY={failed[0]}` tries again.\n")
    return 1 if failed else 0


def _renew(section: Section, book: Book, count: int, measure: Callable[[Section, int], Any]) -> None:
    # What the page needs of it is looked for first: a typing error must not cost ten minutes.
    figures_of(section.name)
    sys.stderr.write(f"{section.name}: {count} {'tasks' if section.name == 'scale' else 'rounds'}\n")
    begun_s, load = time.monotonic(), os.getloadavg()[0]
    record = measure(section, count)
    date, cores = datetime.now(UTC).date().isoformat(), os.cpu_count() or 1
    book.keep(section.name, {"date": date, "cores": cores, "load": round(load, 2), "record": record})
    book.write_page()
    sys.stderr.write(f"{section.name}: on the page after {time.monotonic() - begun_s:.0f} s\n")


def measure_apart(section: Section, count: int) -> Any:
    """A section's record, measured in a process of its own.

    Raises:
        FailedError: It gave none, or not in time.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        out = Path(folder) / "record.json"
        line = [sys.executable, "-m", "tests.bench.section", section.name, str(count), str(out)]
        process = subprocess.Popen(line, cwd=ROOT, start_new_session=True)
        try:
            code = process.wait(section.limit_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise FailedError(f"it did not end within {section.limit_s:.0f} s") from None
        except KeyboardInterrupt:
            _end(process)
            raise
        if code != 0 or not out.exists():
            raise FailedError(f"it could not be measured (exit code {code})")
        return json.loads(out.read_text(encoding="utf-8"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C would, so that it clears up; then for sure, with all that it started."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def figures_of(name: str) -> Any:
    """The module with a section's text.

    Raises:
        FailedError: There is none.
    """
    try:
        return importlib.import_module(f"tests.bench.{name}_figures")
    except ImportError as error:
        raise FailedError(f"it has no text for the page ({error})") from error


if __name__ == "__main__":
    sys.exit(main())
