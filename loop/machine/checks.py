"""What the ends of commands come to: baseline, check, gate, each failure run once more.

A failing check is run again once, in a fresh container; passing then makes it flaky, which
is recorded and sends nobody back. Pure: no I/O.
"""

from instrument.schema.job import CommandEnd, JobEnd
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome
from loop.machine.budget import caps_of

Commands = tuple[CommandEnd, ...]


def commands_of(end: JobEnd) -> Commands:
    """All commands of a job, in order; a set-up that failed on the actual tree is the only one then."""
    if end.report is None:
        return ()
    if end.report.setup_failed is not None and not any(not c.has_passed for c in end.report.commands):
        name = end.report.setup_failed
        return (CommandEnd(name=name, run=name, exit_code=None, output="out/commands"),)
    return end.report.commands


def failed_of(commands: Commands) -> Commands:
    """Those that did not pass, in order."""
    return tuple(command for command in commands if not command.has_passed)


def merge_runs(first: Commands, second: Commands) -> Commands:
    """The first run's ends, each replaced by its second run's; in the first's order.

    After a set-up that failed nothing of the first run stands: all of it ran again.
    """
    if any(_is_set_up(command) for command in first):
        return second
    again = {command.name: command for command in second}
    known = {command.name for command in first}
    merged = tuple(again.get(command.name, command) for command in first)
    return merged + tuple(command for command in second if command.name not in known)


def flaky_names(first: Commands, merged: Commands) -> tuple[str, ...]:
    """Checks that failed at first and passed on the same tree."""
    red = {command.name for command in failed_of(first)}
    return tuple(command.name for command in merged if command.has_passed and command.name in red)


def names_again(commands: Commands, *, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What a second run has to run; empty means all of it, where the set-up itself had failed."""
    if any(_is_set_up(command) for command in commands):
        return ()
    return tuple(command.name for command in failed_of(commands) if command.name not in but)


def _is_set_up(command: CommandEnd) -> bool:
    """A set-up command's name has a dot, which no check's has; it is here only where it failed."""
    return "." in command.name


def judge_baseline(state: TaskState, end: JobEnd) -> Outcome:
    """Hold a baseline against what the task turns green; those must fail, and are not run again."""
    if end.report is not None and end.report.setup_failed is not None:
        return Outcome.SETUP_FAILED
    expected = set(state.terms.turns_green)
    red = {command.name for command in failed_of(merge_runs(state.first_run, commands_of(end)))}
    if red - expected:
        return Outcome.BASELINE_FAILED if state.first_run else Outcome.BASELINE_DOUBTED
    return Outcome.BASELINE_ALREADY_GREEN if expected - red else Outcome.BASELINE_PASSED


def judge_check(state: TaskState, end: JobEnd) -> Outcome:
    """Judge the checks on a candidate."""
    if not failed_of(merge_runs(state.first_run, commands_of(end))):
        return Outcome.CHECKS_PASSED
    if not state.first_run:
        return Outcome.CHECK_DOUBTED
    if state.counters.check_failures >= caps_of(state).check:
        return Outcome.CHECKS_FAILED_TOO_OFTEN
    return Outcome.CHECK_FAILED


def judge_gate(state: TaskState, end: JobEnd) -> Outcome:
    """Judge the gate on the landing commit; the very check that the task turns green has one try."""
    merged = merge_runs(state.first_run, commands_of(end))
    red = {command.name for command in failed_of(merged)}
    is_decided = bool(red & set(state.terms.turns_green))
    if not red:
        return Outcome.GATE_PASSED if state.authorised else Outcome.GATE_PASSED_UNAUTHORISED
    if not state.first_run and not is_decided:
        return Outcome.GATE_DOUBTED
    if state.counters.gate_failures >= caps_of(state).gate:
        return Outcome.GATE_FAILED_TOO_OFTEN
    return Outcome.GATE_FAILED


def compared_lines(end: JobEnd) -> tuple[str, ...]:
    """How the checks end with the base's test files, as facts for the reviewer: with its own all passed."""
    lines = tuple(
        f"{command.name} fails ({how_ended(command)}) with the base's test files"
        for command in failed_of(commands_of(end))
    )
    return lines or ("every check passes with the base's test files, too",)


def how_ended(command: CommandEnd) -> str:
    """The end of a command that did not pass, in words."""
    if command.timed_out:
        return "timed out"
    return f"signal {command.signal}" if command.signal else f"exit code {command.exit_code}"
