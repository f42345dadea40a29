"""Writes the generated documentation: the machine's table in README.md, every stop, every key.

Limits: writes the files that it names, from the root of the repository; `--check` only compares.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from click import echo

from instrument.schema.state import AgentChoice, Stop, TaskState, Terms
from instrument.schema.vocabulary import Outcome, Purpose, RuntimeName, Stage, StopReason
from loop.allowances import LOOKALIKE
from loop.machine.resume import How, resume
from loop.machine.stops import STOPS, StopRow
from loop.machine.table import TABLE, Step
from loop.verdict import VerdictFault
from tests.tools.readme_keys import config_tables, docs_of, story_tables

ROOT = Path(__file__).resolve().parents[2]
README = Path("README.md")
STOPS_PAGE = Path("docs/stops.md")
BEGIN, END = "<!-- generated: table -->", "<!-- /generated -->"
WAY = (Stage.READY, Stage.IMPLEMENT, Stage.CHECK, Stage.REVIEW, Stage.REBASE, Stage.GATE, Stage.MERGE)
"""The stages of a task that lands, in order."""
AGENT_STAGES = (Stage.IMPLEMENT, Stage.REVIEW)
CANNOT = "cannot help"
JOB_STAGES = (Stage.READY, Stage.IMPLEMENT, Stage.CHECK, Stage.REVIEW, Stage.GATE)


def table_block() -> str:
    """The README's block: a picture, a row a stage, the stops that every job can come to."""
    everywhere = _common(JOB_STAGES)
    agents = [reason for reason in _common(AGENT_STAGES) if reason not in everywhere]
    answers = [outcome for outcome, to in _rows_at(Stage.RESOLVE) if to.stop is None]
    rows = [
        f"| `{stage}` | {_ways(stage)} | {_again(stage)} | {_own(stage, everywhere, agents)} |"
        for stage in WAY
    ]
    asked = f"With a `[ladder]` a stop may pass `{Stage.RESOLVE}`, which asks a model: {_listed(answers)}."
    state, parked = StopReason.STATE_CORRUPT, StopReason.PARKED
    lines = [
        *_picture(),
        "",
        "| stage | leads to | stays | stops with |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
        f"- *job*, wherever a container runs: {_listed(everywhere)}.",
        f"- *agent*, wherever a model works: {_listed(agents)}.",
        f"- Anywhere: `{state}`, an unreadable state; `{parked}`, put aside. {asked}",
    ]
    return "\n".join(lines)


def _picture() -> list[str]:
    """A mermaid chart: the way to `done` on one line, every other way between stages below it."""
    onward = list(zip(WAY, (*WAY[1:], Stage.DONE), strict=True))
    moves = [(at, o, to.stage) for (at, o), to in TABLE.items() if to.stage not in (at, Stage.STOPPED)]
    labels: dict[tuple[Stage, Stage], Outcome] = {(at, to): outcome for at, outcome, to in reversed(moves)}
    chain = "".join(f" -->|{labels[pair]}| {pair[1]}" for pair in onward)
    others = [f"  {at} -->|{outcome}| {to}" for at, outcome, to in moves if (at, to) not in onward]
    return ["```mermaid", "flowchart LR", f"  {WAY[0]}{chain}", *others, "```"]


def _rows_at(stage: Stage) -> list[tuple[Outcome, Step]]:
    return [(outcome, to) for (at, outcome), to in TABLE.items() if at is stage]


def _ways(stage: Stage) -> str:
    ways = [(o, to) for o, to in _rows_at(stage) if to.stage not in (stage, Stage.STOPPED)]
    return ", ".join(f"`{outcome}` → {to.stage}" for outcome, to in ways)


def _again(stage: Stage) -> str:
    return _listed(outcome for outcome, to in _rows_at(stage) if to.stage is stage)


def _stops_at(stage: Stage) -> list[StopReason]:
    return list(dict.fromkeys(to.stop for _, to in _rows_at(stage) if to.stop is not None))


def _common(stages: Iterable[Stage]) -> list[StopReason]:
    """The stops that each of the stages can come to, in the order of the vocabulary."""
    shared = set.intersection(*(set(_stops_at(stage)) for stage in stages))
    return [reason for reason in StopReason if reason in shared]


def _own(stage: Stage, everywhere: list[StopReason], agents: list[StopReason]) -> str:
    """The stage's own stops; those of every job and of every agent stand once, below the table."""
    left = _stops_at(stage)
    names = []
    for word, group in (("*agent*", agents), ("*job*", everywhere)):
        if set(group) <= set(left):
            left = [reason for reason in left if reason not in group]
            names.append(word)
    return ", ".join([f"`{reason}`" for reason in left] + names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def stops_page() -> str:
    """docs/stops.md, whole."""
    rows = [f"| {_cells(reason, STOPS[reason])} |" for reason in StopReason]
    faults = docs_of(VerdictFault)
    lines = [
        "# Why a task stops",
        "",
        "A stopped task waits for a person, exit code 3. Its brief says what happened and what to type;",
        "`--restart` begins again from any stop. A bare rerun is the same command once more; a ruling is",
        "`--ruling 'what you decide'`, or `--ruling F3='…'` on one finding; an edit is a change of the task",
        "file, committed on the branch, and a rerun. `--grant COUNTER=N` sets a cap, it never adds: one that",
        "leaves no room for one more changes nothing. `--allow GLOB` has the same diff judged again,",
        "which may touch that path, or with `--allow secret:GLOB` add what only looks like a secret there.",
        "`--park 'why'` puts any stopped task aside until one of these answers takes it up.",
        "*Where it stood* is the stage that it stopped at.",
        "",
        "<!-- made by `make docs` from loop/machine/stops.py, resume.py and table.py -->",
        "",
        "| stop | at | who acts, and how | a bare rerun | a ruling | an edit | a grant, an allowance |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "## A review without a verdict",
        "",
        "A review ends with one block ([its form](factory-toml.md#the-verdict)). Where it does not, another",
        "review is asked for once; the second time the task stops as",
        f"`{StopReason.REVIEW_UNREADABLE}`, and its brief says `no verdict:` with a word:",
        "",
        "| word | what it means |",
        "| --- | --- |",
        *(f"| `{fault}` | {faults[fault.name]} |" for fault in VerdictFault),
    ]
    return "\n".join(lines) + "\n"


def _cells(reason: StopReason, row: StopRow) -> str:
    stages = [stage for stage in WAY if reason in _stops_at(stage)]
    at = _listed(stages) or "any stage"
    cells = [f"`{reason}`", at, row.sentence, _rerun(reason, stages)]
    cells += [_ways_on(reason, stages, how) or CANNOT for how in ("ruling", "task_edited")]
    cells.append(_openings(reason, row, stages))
    if reason is StopReason.PARKED:  # it stands at no stage of its own
        cells[1], cells[4:] = "any stop", ["as at the stop it was parked at"] * 3
    return " | ".join(cell.replace("|", "\\|") for cell in cells)


def _openings(reason: StopReason, row: StopRow, stages: list[Stage]) -> str:
    """What `--grant` and `--allow` open, with where that leads."""
    ways = [(f"--grant {name}=N", _ways_on(reason, stages, "grant", counter=name)) for name in row.grants]
    glob = LOOKALIKE + "GLOB" if reason is StopReason.SECRET_FOUND else "GLOB"
    ways.append((f"--allow {glob}", _ways_on(reason, stages, "allow")))
    return "; ".join(f"`{words}`: {where}" for words, where in ways if where) or CANNOT


def _rerun(reason: StopReason, stages: list[Stage]) -> str:
    plain = _ways_on(reason, stages, "rerun")
    moved = _ways_on(reason, stages, "rerun", main_has_moved=True)
    said = f"looks again: {plain}" if plain else "prints the brief"
    return said if moved == plain else f"{said}; once main moved: {moved}"


def _ways_on(
    reason: StopReason,
    stages: list[Stage],
    how: How,
    *,
    main_has_moved: bool = False,
    counter: str | None = None,
) -> str:
    """Where `resume` leads from the stages that stop so; empty where it leads nowhere."""
    targets = {at: _target(reason, at, how, main_has_moved=main_has_moved, counter=counter) for at in stages}
    if all(target is at for at, target in targets.items()):
        return "where it stood" if targets else ""
    by_target: dict[Stage, list[Stage]] = {}
    for at, target in targets.items():
        if target is not None:
            by_target.setdefault(target, []).append(at)
    if len(by_target) == 1 and None not in targets.values():
        return f"`{next(iter(by_target))}`"
    stays = [at for at, target in targets.items() if target is at]
    leaves = {target: [at for at in ats if at is not target] for target, ats in by_target.items()}
    parts = ["where it stood"] if stays else []
    parts += [f"from {_listed(ats)}: `{target}`" for target, ats in leaves.items() if ats]
    return ", ".join(parts)


def _target(
    reason: StopReason, at: Stage, how: How, *, main_has_moved: bool, counter: str | None
) -> Stage | None:
    agent = AgentChoice(runtime=RuntimeName.COMMAND)
    stopped = TaskState(
        run_id="",
        nonce="",
        task_id="",
        purpose=Purpose.PROBE,
        created_utc=datetime.now(UTC),
        repo="",
        task_path="",
        task_blob="",
        terms=Terms(coder=agent, reviewer=agent),
        stage=Stage.STOPPED,
        stop=Stop(reason=reason, stage=at, outcome=Outcome.ENGINE_FAILED),
    )
    after = resume(stopped, how, main_has_moved=main_has_moved, counter=counter)
    return None if after is None else after.stage


def with_block(text: str, block: str) -> str:
    """`text` with the generated block in its place.

    Raises:
        ValueError: The markers are not there, once each and in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"put {BEGIN} and {END} there once, each on a line of its own")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


BLOCKS: dict[Path, Callable[[], str]] = {
    README: table_block,
    Path("docs/factory-toml.md"): config_tables,
    Path("docs/story.md"): story_tables,
}
"""The files of which one block is made."""


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Exit code 1 where `--check` finds a stale file, or a file has no place for its block."""
    parser = argparse.ArgumentParser(prog="readme", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a file is stale")
    is_check = parser.parse_args(words).check
    wanted = {STOPS_PAGE: stops_page()}
    for path, block in BLOCKS.items():
        try:
            wanted[path] = with_block((root / path).read_text(encoding="utf-8"), block())
        except ValueError as error:
            echo(f"{path}: {error}")
            return 1
    stale = [path for path, new in wanted.items() if _read(root / path) != new]
    for path in stale:
        echo(f"{path} is stale; run: make docs" if is_check else f"{path} written")
        if not is_check:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path], encoding="utf-8")
    return 1 if is_check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
