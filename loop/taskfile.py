"""A task file, from its bytes to a frozen value, with every fault at once.

Pure: no I/O.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from instrument.schema.vocabulary import Escalation, RuntimeName
from loop.frontmatter import FrontMatter, read_front_matter
from loop.problems import Problem, Problems
from loop.taskkeys import KeyReader

_FILE_NAME = re.compile(r"([0-9]{3,9})-[A-Za-z0-9][A-Za-z0-9._-]*\.md")
_STATUS_LINE = re.compile(r"status: (ready|done) *(?: #.*)?")
_H1 = re.compile(r" {0,3}#(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
MAX_TITLE_CHARS = 200
KNOWN_KEYS = (
    *("status", "depends", "issue", "files", "checks", "acceptance", "turns_green", "allow"),
    "allow_weaker_tests",
    *("budget_min", "budget_usd", "runtime", "model", "caps", "risk", "escalate_if"),
)
RISKS = ("low", "high")


@dataclass(frozen=True, slots=True)
class Task:
    """What a person asked for."""

    path: str
    number: int
    status: Literal["ready", "done"]
    title: str
    """The first H1; the subject of the commit that lands."""
    body: str
    """Markdown after the front matter, the H1 included."""
    text: str
    """The whole file."""
    files: tuple[str, ...]
    """Gitignore patterns of what may be touched; never empty."""
    depends: tuple[int, ...] = ()
    issue: int | None = None
    checks: tuple[str, ...] = ()
    """Empty: `[checks] fast` of factory.toml."""
    acceptance: tuple[str, ...] = ()
    turns_green: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    allow_weaker_tests: bool = False
    """Whether tests may be deleted, skipped or emptied without a person being asked."""
    budget_ms: int | None = None
    """Job run time of the whole task; none: no limit."""
    budget_microusd: int | None = None
    runtime: RuntimeName | None = None
    model: str | None = None
    caps: Mapping[str, int] = field(default_factory=dict)
    """Only those that the file sets; names are the fields of `Caps`."""
    risk: Literal["low", "high"] = "low"
    escalate_if: tuple[Escalation, ...] = ()
    """What sends this task's stops straight to a person, past the ladder."""
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    """Line of each key that the file sets."""

    @property
    def label(self) -> str:
        """The number as the file name and the task id have it: `007`."""
        return f"{self.number:03d}"


def task_number(path: str) -> int | None:
    """Read the number of a task's file name; none where the name is not `NNN-slug.md`."""
    match = _FILE_NAME.fullmatch(path.rpartition("/")[2])
    return int(match[1]) if match else None


def parse_task(data: bytes, path: str) -> Task:
    """Read a task file; `path` is its path in the repository.

    Raises:
        Problems: Every fault of the file that can be told at once.
    """
    number = task_number(path)
    problems = []
    if number is None:
        sentence = 'the name must be a number of three digits or more and a word, such as "007-retry.md"'
        problems.append(Problem(path, None, sentence))
    try:
        matter = read_front_matter(data, path)
    except Problems as error:
        raise Problems([*problems, *error.problems]) from None
    keys = KeyReader(path, matter.fields)
    keys.refuse_others(KNOWN_KEYS, ())
    task = _values(keys, path, number or 0, matter)
    if number is not None and number in task.depends:
        keys.blame("depends", "a task cannot depend on itself; take its own number out")
    problems += keys.problems
    if problems:
        raise Problems(problems)
    return task


def _values(keys: KeyReader, path: str, number: int, matter: FrontMatter) -> Task:
    """Read every value; faults are gathered in `keys`."""
    return Task(
        path=path,
        number=number,
        status=_status(keys, matter),
        title=_title(keys, matter),
        body=matter.body,
        text=matter.text,
        files=keys.patterns("files", required=True),
        depends=keys.numbers("depends"),
        issue=keys.whole("issue", lowest=1, prefix="#"),
        checks=keys.names("checks"),
        acceptance=keys.names("acceptance"),
        turns_green=keys.names("turns_green"),
        allow=keys.patterns("allow"),
        allow_weaker_tests=keys.flag("allow_weaker_tests"),
        budget_ms=keys.scaled("budget_min", unit=Decimal(60_000), finest="a millisecond"),
        budget_microusd=keys.scaled("budget_usd", unit=Decimal(1_000_000), finest="a micro-dollar"),
        runtime=keys.runtime("runtime"),
        model=keys.word("model"),
        caps=keys.caps("caps"),
        risk=_risk(keys),
        escalate_if=tuple(map(Escalation, keys.words("escalate_if", list(Escalation)))),
        lines={name: value.line for name, value in matter.fields.items()},
    )


def _status(keys: KeyReader, matter: FrontMatter) -> Literal["ready", "done"]:
    """Read `status`, which must stand plainly: the program changes exactly that line when it lands."""
    value = keys.text("status", required="is missing; write a line status: ready")
    if value is None:
        return "ready"
    if value not in ("ready", "done"):
        keys.blame("status", "status must be ready or done")
    elif not _STATUS_LINE.fullmatch(matter.lines[matter.fields["status"].line - 1]):
        keys.blame("status", f"status must stand on a line of its own, plainly: status: {value}")
    return "done" if value == "done" else "ready"


def _risk(keys: KeyReader) -> Literal["low", "high"]:
    """Read `risk`; absent: low."""
    value = keys.text("risk")
    if value is not None and value not in RISKS:
        keys.blame("risk", f"risk must be {' or '.join(RISKS)}")
    return "high" if value == "high" else "low"


def _title(keys: KeyReader, matter: FrontMatter) -> str:
    """Find the first H1 outside fenced code: a `# comment` in a shell example is no title."""
    first = len(matter.lines) - matter.body.count("\n")
    fence = ""
    for number, line in enumerate(matter.body.split("\n"), start=first):
        if mark := _CODE_FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif not fence and (match := _H1.fullmatch(line)) and match[1]:
            title = match[1]
            if not title.isprintable() or len(title) > MAX_TITLE_CHARS:
                sentence = f"the title must be printable and at most {MAX_TITLE_CHARS} characters long"
                keys.problem(number, sentence)
            return title
    keys.problem(None, "there is no title; write one line that begins with # and a space")
    return ""
