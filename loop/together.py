"""One task and one configuration, taken together: which checks run when, who works, on what terms.

Pure: no I/O.
"""

from collections.abc import Iterable, Mapping

from instrument.schema.state import AgentChoice, Caps, LadderTerms, Terms
from instrument.schema.vocabulary import Escalation, LadderStep, ProviderName, Role, RuntimeName
from jobs.order import Command
from jobs.runtimes.table import RUNTIMES
from loop.config import Config
from loop.problems import Problem, Problems, show, suggest
from loop.taskfile import Task
from proxy.prices import provider_of_model

LONGEST_RESERVE_MS = 10 * 60_000
RESERVE_PART = 5
"""Of a money budget this part is kept for one review; a review costs about a coder's round."""


def fast_checks(task: Task, config: Config) -> tuple[Command, ...]:
    """Return what runs after a coder's round; the gate's commands where no fast one is named."""
    names = task.checks or config.fast
    return _commands(names, config) if names else gate_checks(task, config)


def gate_checks(task: Task, config: Config) -> tuple[Command, ...]:
    """Return the repo's gate (its fast checks where it has none) with the task's acceptance after it."""
    return _commands((*(config.gate or config.fast or task.checks), *task.acceptance), config)


def baseline_checks(task: Task, config: Config) -> tuple[Command, ...]:
    """Return every command that this task will ever be judged by, each once."""
    both = (*fast_checks(task, config), *gate_checks(task, config))
    return tuple({command.name: command for command in both}.values())


def agent_for(
    role: Role, task: Task, config: Config, *, runtime: RuntimeName | None = None, model: str | None = None
) -> AgentChoice:
    """Choose who works: command line (`runtime`, `model`) before task before `[agent]`.

    A reviewer takes what `[reviewer]` sets, and follows the coder in the rest.
    """
    repos = config.agent.runtime
    in_task = task.runtime or repos
    chosen = runtime or in_task
    named = [(chosen, model), (in_task, task.model), (repos, config.agent.model)]
    if role is Role.REVIEWER:
        named.insert(0, (config.reviewer.runtime or in_task, config.reviewer.model))
        chosen = config.reviewer.runtime or chosen
    return AgentChoice(runtime=chosen, model=_model_of(chosen, named))


def helper_for(
    step: LadderStep, task: Task, config: Config, *, runtime: RuntimeName | None = None
) -> AgentChoice | None:
    """Choose who answers stops at a step: `[ladder] runtime`, else the coder's; none: there is no such step.

    Only the ladder's own table names its models.
    """
    table = config.ladder
    if table is None or step not in table.steps or not step.is_model:
        return None
    beside = table.runtime or config.agent.runtime
    chosen = table.runtime or runtime or task.runtime or config.agent.runtime
    return AgentChoice(runtime=chosen, model=_model_of(chosen, [(beside, getattr(table, step))]))


def provider_of(choice: AgentChoice, own: Mapping[str, ProviderName]) -> ProviderName:
    """Whose protocol an agent's calls are in: its program's, or where that speaks several its model's.

    `own` says which provider a model has a price of the person's with.
    """
    fixed, model = RUNTIMES[choice.runtime].provider, choice.model or ""
    return fixed or own.get(model) or provider_of_model(model)


def _model_of(chosen: RuntimeName, named: Iterable[tuple[RuntimeName, str | None]]) -> str | None:
    """The first model that was named; `named` pairs each with the runtime that it was named beside.

    A shell line takes only what was named beside a shell line: with `--runtime command` the repo's
    usual model would otherwise ask for a provider's key.
    """
    return next(
        (m for beside, m in named if m and (chosen is not RuntimeName.COMMAND or beside is chosen)), None
    )


def terms_for(
    task: Task,
    config: Config,
    *,
    runtime: RuntimeName | None = None,
    model: str | None = None,
    has_ladder: bool = True,
) -> Terms:
    """Fix what the machine works by; of a time budget a quarter, ten minutes at most, is kept back."""
    return Terms(
        caps=Caps(**{**config.caps.model_dump(), **task.caps}),
        coder=agent_for(Role.CODER, task, config, runtime=runtime, model=model),
        reviewer=agent_for(Role.REVIEWER, task, config, runtime=runtime, model=model),
        job_ms=max(1, int(config.limits.deadline_s * 1000)),
        budget_ms=task.budget_ms,
        reserve_ms=min(task.budget_ms // 4, LONGEST_RESERVE_MS) if task.budget_ms else 0,
        budget_microusd=task.budget_microusd,
        reserve_microusd=(task.budget_microusd or 0) // RESERVE_PART,
        turns_green=task.turns_green,
        has_setup=bool(config.cached),
        ladder=_ladder_for(task, config, runtime) if has_ladder else None,
    )


def _ladder_for(task: Task, config: Config, runtime: RuntimeName | None) -> LadderTerms | None:
    table = config.ladder
    if table is None:
        return None
    return LadderTerms(
        steps=table.steps,
        small=helper_for(LadderStep.SMALL, task, config, runtime=runtime),
        strong=helper_for(LadderStep.STRONG, task, config, runtime=runtime),
        caps={step: getattr(table.caps, step) for step in table.steps},
        reasons=table.reasons,
        escalate_if=task.escalate_if,
        risk_high=task.risk == "high",
    )


def check_together(
    task: Task,
    config: Config,
    *,
    runtime: RuntimeName | None = None,
    model: str | None = None,
    has_ladder: bool = True,
) -> None:
    """Hold the task against the configuration that it meets.

    Raises:
        Problems: Everything that would make the task fail later, each with its file.
    """
    problems = [*_name_problems(task, config)]
    if not problems:
        problems += _command_problems(task, config)
    for role in (Role.CODER, Role.REVIEWER):
        choice = agent_for(role, task, config, runtime=runtime, model=model)
        problems += _agent_problems(role, choice, config)
    if has_ladder:
        problems += _ladder_problems(task, config, runtime)
    if problems:
        raise Problems(dict.fromkeys(problems))


def _commands(names: Iterable[str], config: Config) -> tuple[Command, ...]:
    """Return the commands of these names, in order, each once; unknown names are `check_together`'s."""
    return tuple(config.checks[name] for name in dict.fromkeys(names) if name in config.checks)


def _name_problems(task: Task, config: Config) -> Iterable[Problem]:
    lists = {"checks": task.checks, "acceptance": task.acceptance, "turns_green": task.turns_green}
    for key, names in lists.items():
        for name in names:
            if name not in config.checks:
                sentence = f"{key}: {config.path} has no check {show(name)}{suggest(name, config.checks)}"
                yield Problem(task.path, task.lines.get(key), sentence)


def _command_problems(task: Task, config: Config) -> Iterable[Problem]:
    """Find a task that would pass on zero commands, or wait for a check that never runs."""
    runs = {command.name for command in baseline_checks(task, config)}
    if not runs:
        sentence = (
            'there is no check command; add a table [checks.unit] with run, and [checks] fast = ["unit"]'
            if not config.checks
            else "no check is run; name some in [checks] fast or gate, or in the task's checks"
        )
        yield Problem(config.path, config.lines.of("checks"), sentence)
        return
    for name in task.turns_green:
        if name not in runs:
            sentence = f"turns_green: {show(name)} is not run for this task; add it to checks or acceptance"
            yield Problem(task.path, task.lines.get("turns_green"), sentence)


def command_line(role: Role, config: Config) -> str | None:
    """The shell line of an agent's role for runtime `command`; none: it has none."""
    lines = config.agent.command
    return {Role.CODER: lines.coder, Role.REVIEWER: lines.reviewer, Role.RESOLVER: lines.resolver}[role]


def _ladder_problems(task: Task, config: Config, runtime: RuntimeName | None) -> Iterable[Problem]:
    """Find a step that nobody takes, and words of the task that would have no effect."""
    for step in (LadderStep.SMALL, LadderStep.STRONG):
        choice = helper_for(step, task, config, runtime=runtime)
        if choice is not None and (choice.model or choice.runtime is RuntimeName.COMMAND):
            yield from _agent_problems(Role.RESOLVER, choice, config)
        elif choice is not None:
            sentence = f'[ladder] step {step} needs a model; write {step} = "…", or leave it out of steps'
            yield Problem(config.path, config.lines.of("ladder"), sentence)
    if "escalate_if" in task.lines and config.ladder is None:
        sentence = f"escalate_if has no effect: {config.path} has no [ladder]; take it out"
        yield Problem(task.path, task.lines.get("escalate_if"), sentence)
    if "risk" in task.lines and Escalation.RISK_HIGH not in task.escalate_if:
        sentence = "risk has no effect without escalate_if: [risk_high]; add that, or take risk out"
        yield Problem(task.path, task.lines.get("risk"), sentence)


def _agent_problems(role: Role, choice: AgentChoice, config: Config) -> Iterable[Problem]:
    if choice.runtime is RuntimeName.COMMAND and not command_line(role, config):
        sentence = f'runtime command needs a shell line; write [agent.command] {role} = "…"'
        yield Problem(config.path, config.lines.of("agent", "command"), sentence)
    if choice.runtime is not RuntimeName.COMMAND and not choice.model:
        sentence = (
            f"runtime {choice.runtime} needs a model; set model in [agent], in the task, or with --model"
        )
        yield Problem(config.path, config.lines.of("agent"), sentence)
