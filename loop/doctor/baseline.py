"""The checks of the branch in a fresh container, held against what the ready tasks say of them.

Runs one real job, removes it whatever happens; writes below the scratch folder alone.
"""

from collections.abc import Iterator, Mapping

from instrument.schema.job import CommandEnd
from instrument.schema.vocabulary import Role
from jobs.order import Command, JobOrder
from loop.doctor.engine import lint_command
from loop.doctor.finding import Finding, failed, ok, skipped
from loop.doctor.probes import fault_of, identified, last_line
from loop.doctor.surroundings import Surroundings
from loop.machine.guards import is_clean
from loop.taskfile import Task
from loop.together import baseline_checks


def look_at_baseline(surroundings: Surroundings) -> Finding:
    """Whether every check passes there, but those of which a task says that it turns them green."""
    image, commands = surroundings.start_image, _commands(surroundings)
    if not commands:
        return skipped("no check is named in [checks] fast or gate, nor by a ready task")
    if image is None:
        mend = f"{lint_command(surroundings)} makes it and runs these checks"
        return skipped("the set-up image is not made yet, and nothing is made here", mend)
    with identified(surroundings, "baseline") as identity:
        config = surroundings.config
        order = JobOrder(
            identity=identity,
            role=Role.CHECK,
            image=image,
            commit=surroundings.tip,
            pack=surroundings.store.write_pack(surroundings.tip, surroundings.scratch / "baseline.pack"),
            folder=surroundings.scratch / "baseline",
            limits=config.limits,
            always=config.always,
            commands=commands,
            env={name: surroundings.environment[name] for name in config.job_env},
        )
        end = surroundings.jobs.run(order, resumed=False)
        ends = {command.name: command for command in end.report.commands} if end.report else {}
        mend = f"mend the branch first; {lint_command(surroundings)} keeps the whole output"
        if not is_clean(end) or (end.report and end.report.setup_failed):
            name = end.report.setup_failed if end.report else None
            why = f"set-up {name}: {last_line(order, ends.get(name))}" if name else fault_of(end)
            return failed(f"the checks did not run to their end: {why}", mend)
        faults = tuple(dict.fromkeys(_faults(surroundings, order, ends)))
    if faults:
        return failed("; ".join(faults), mend)
    took_s = sum(command.duration_ms for command in ends.values()) / 1000
    return ok(f"{', '.join(_told(surroundings, command) for command in ends.values())} ({took_s:.1f} s)")


def _commands(surroundings: Surroundings) -> tuple[Command, ...]:
    """Every command by which the ready tasks would be judged; without a task, the repo's own."""
    config = surroundings.config
    names = dict.fromkeys(name for name in (*config.fast, *config.gate) if name in config.checks)
    own = {name: config.checks[name] for name in names}
    for task in surroundings.ready:
        own |= {command.name: command for command in baseline_checks(task, config)}
    return tuple(own.values())


def _faults(surroundings: Surroundings, order: JobOrder, ends: Mapping[str, CommandEnd]) -> Iterator[str]:
    """What a run of each ready task would stop for; without a task, every check that fails."""
    for name, end in ends.items():
        tasks = _judged(surroundings, name)
        must_fail = [task for task in tasks if name in task.turns_green]
        if end.has_passed:
            for task in must_fail:
                yield f"{name} passes, but {task.path} says that it turns it green"
        elif not tasks or len(must_fail) < len(tasks):
            said = last_line(order, end)
            yield f"{name} fails{f': {said}' if said else ''}"


def _judged(surroundings: Surroundings, name: str) -> list[Task]:
    """The ready tasks whose baseline has this check."""
    config = surroundings.config
    return [
        task
        for task in surroundings.ready
        if name in {command.name for command in baseline_checks(task, config)}
    ]


def _told(surroundings: Surroundings, end: CommandEnd) -> str:
    task = next((task for task in surroundings.ready if end.name in task.turns_green), None)
    return end.name if end.has_passed or task is None else f"{end.name} (red, as task {task.label} says)"
