"""`factory lint`: an author's checks on the base alone, before any money is spent on them.

Limits: keeps no state, calls no model; what a failed check said stays below `<home>/lint`.
"""

import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from instrument.schema.job import CommandEnd, JobEnd
from instrument.schema.state import Attempt, TaskState
from instrument.schema.vocabulary import EffectKind, Purpose
from jobs.errors import ImageUnfitError, JobsError
from loop.atomic import write_atomic
from loop.drafts import Draft, Drafts, context_of, open_drafts
from loop.errors import BusyError
from loop.guard import guarded
from loop.home import make_private
from loop.leases import try_lease
from loop.machine.effects import Baseline, SetUp
from loop.machine.guards import is_clean
from loop.machine.keys import effect_key
from loop.options import repo_option
from loop.run import World
from loop.shell.context import Context
from loop.shell.orders import commands_order, setup_order
from loop.shell.packing import hold_if_large, packs_folder
from loop.slotfiles import Need
from loop.slots import host_of, job_slot
from loop.together import baseline_checks

RED = 1
"""The exit code where a check does not end as the task says; `Exit.BUG` has the same number."""
RUN_ID_FILE = "run-id"
JOB_FOLDER = "jobs/0001-baseline-1"
DIGITS = 12


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check on the base comes to, in words."""

    text: str
    is_good: bool
    evidence: Path | str | None = None
    """A file or folder with what was printed; none where there is nothing to read."""

    def __str__(self) -> str:
        return f"{self.text}; see {self.evidence}" if self.evidence else self.text


def lint(tasks: Sequence[str], repo: Path, world: World, *, out: Callable[[str], None]) -> int:
    """Run the baseline checks of each task on the base, each in a fresh container; a line a check.

    A draft in the working copy goes before the committed text, so that an author need not commit
    to try; checks and set-up are the base's. Every file is held valid before anything is run.

    Args:
        tasks: Task files as typed; at least one.
        repo: A folder of the repository.
        world: The surroundings; the engine is its `jobs`.
        out: Is given one line a check.

    Returns:
        0 where every check ends as its task says, else 1.

    Raises:
        UsageError, Problems, GitError: Exit 2; nothing was run.
        JobsError: No engine answers.
        BusyError: The same task is being linted by another process.
    """
    drafts = open_drafts(tasks, repo, jobs=world.jobs, environment=world.environment, now=world.now())
    is_green = True
    for draft in drafts.drafts:
        where = drafts.context.branch if draft.is_committed else "the working copy, not committed"
        world.progress.note(f"{draft.task_id}: checks on {drafts.base[:DIGITS]}, the task as on {where}")
        for verdict in _lint_one(drafts, draft, world):
            out(f"{draft.path}  {verdict}")
            is_green = is_green and verdict.is_good
    return 0 if is_green else RED


def _lint_one(drafts: Drafts, draft: Draft, world: World) -> tuple[Verdict, ...]:
    """Run one task's checks; its folder is this process's alone, and begins empty."""
    context = context_of(drafts, draft)
    lease = try_lease(context.folder.with_name(f"{draft.task_id}.lock"))
    if lease is None:
        raise BusyError(f"{draft.task_id}: another `factory lint` runs its checks; wait for it")
    with lease:
        state = _begin(context, drafts, draft)
        host = host_of(context.home, world.environment, world.load)
        memory_bytes = draft.papers.config.limits.memory_bytes

        def slot(key: str) -> AbstractContextManager[None]:
            need = Need(key=key, memory_bytes=memory_bytes)
            return job_slot(host, need, None, say=world.progress.note)

        try:
            end = _run(context, state, draft, drafts.base, slot)
        except ImageUnfitError as error:
            return (Verdict(f"set-up fails on the base: {error}", is_good=False, evidence=error.evidence),)
        finally:
            shutil.rmtree(packs_folder(context), ignore_errors=True)
            with suppress(JobsError):
                world.jobs.reap(state.run_id, keep=None)
        verdicts = tuple(_verdicts(draft, end, context.folder / JOB_FOLDER))
        if not any(verdict.evidence for verdict in verdicts):
            shutil.rmtree(context.folder, ignore_errors=True)
        return verdicts


def _begin(context: Context, drafts: Drafts, draft: Draft) -> TaskState:
    """A state that is never saved, as orders are made from one; a killed lint's leftovers go first."""
    run_id_file = context.folder / RUN_ID_FILE
    with suppress(FileNotFoundError, UnicodeDecodeError):
        context.jobs.reap(run_id_file.read_text(encoding="ascii"), keep=None)
    shutil.rmtree(context.folder)
    make_private(context.folder / "jobs")
    run_id = secrets.token_hex(4)
    write_atomic(run_id_file, run_id.encode())
    return TaskState(
        run_id=run_id,
        nonce=secrets.token_hex(16),
        task_id=draft.task_id,
        purpose=Purpose.PROBE,
        created_utc=context.now(),
        repo=draft.papers.config.repo.name,
        task_path=draft.path,
        task_blob=draft.blob,
        terms=draft.papers.terms,
        base=drafts.base,
    )


def _run(
    context: Context,
    state: TaskState,
    draft: Draft,
    base: str,
    slot: Callable[[str], AbstractContextManager[None]],
) -> JobEnd:
    key = effect_key(state, EffectKind.SET_UP, base)
    begun = _with_attempt(state, key, EffectKind.SET_UP, "jobs/0000-setup")
    if not draft.papers.config.limits.has_docker:
        hold_if_large(context, base)
    with slot(key):
        image = context.jobs.set_up(setup_order(context, begun, SetUp(key=key, base=base), draft.papers))
    key = effect_key(state, EffectKind.BASELINE, base, image)
    begun = _with_attempt(state, key, EffectKind.BASELINE, JOB_FOLDER)
    effect = Baseline(key=key, round=1, commit=base, image=image, deadline_ms=state.terms.job_ms)
    with slot(key):
        return context.jobs.run(commands_order(context, begun, effect, draft.papers), resumed=False)


def _with_attempt(state: TaskState, key: str, kind: EffectKind, folder: str) -> TaskState:
    return state.model_copy(update={"attempt": Attempt(key=key, kind=kind, folder=folder)})


def _verdicts(draft: Draft, end: JobEnd, folder: Path) -> Iterator[Verdict]:
    """One a check in order of run, and one more where the job itself went wrong."""
    report = end.report
    ends = {command.name: command for command in report.commands} if report else {}
    if report is not None and report.setup_failed is not None:
        name = report.setup_failed
        evidence = _evidence(folder, ends.get(name))
        yield Verdict(f"{name}: set-up fails on the base", is_good=False, evidence=evidence)
    elif not is_clean(end):
        why = end.report_error or (report and (report.error or report.ended)) or "the machine lost it"
        yield Verdict(f"the job did not run to its end ({why})", is_good=False, evidence=folder)
    for check in baseline_checks(draft.papers.task, draft.papers.config):
        must_fail = check.name in draft.papers.task.turns_green
        yield _verdict(check.name, ends.get(check.name), folder, must_fail=must_fail)


def _verdict(name: str, end: CommandEnd | None, folder: Path, *, must_fail: bool) -> Verdict:
    if end is None:
        return Verdict(f"{name}: not run", is_good=False)
    if end.has_passed:
        said = " passes on the base, but turns_green says that it fails" if must_fail else " passes"
        return Verdict(f"{name}:{said} ({end.duration_ms / 1000:.1f} s)", is_good=not must_fail)
    how = f"exit code {end.exit_code}" if end.exit_code is not None else f"signal {end.signal}"
    how = "over its time" if end.timed_out else how
    said = " as turns_green says" if must_fail else ""
    return Verdict(f"{name}: fails{said} ({how})", is_good=must_fail, evidence=_evidence(folder, end))


def _evidence(folder: Path, end: CommandEnd | None) -> Path | None:
    return folder / end.output if end is not None and (folder / end.output).is_file() else None


def lint_command(world: Callable[[], World]) -> click.Command:
    """The click command, ready for `main.add_command`.

    Args:
        world: Makes the real surroundings, once.
    """

    @click.command("lint")
    @click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
    @repo_option
    def command(tasks: tuple[str, ...], repo: Path) -> None:
        """Run the checks of each TASK on the base alone, one line a check; calls no model.

        A check passes there, or fails where the task's turns_green names it. Exit codes: 0 all do,
        1 one does not, 2 a file is faulty.
        """
        sys.exit(guarded(lambda: lint(tasks, repo.resolve(), world(), out=click.echo)))

    return command
