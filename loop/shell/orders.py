"""From an effect to what is ordered of a job.

Limits: reads the host's environment as the context holds it; writes packs.
"""

import dataclasses
from pathlib import Path

from instrument.schema.state import AgentChoice, TaskState, Terms
from instrument.schema.vocabulary import Role, RuntimeName
from jobs.order import (
    AgentWork,
    Command,
    FallbackOrder,
    Identity,
    JobOrder,
    Limits,
    ProxyOrder,
    SetupOrder,
    egress_only,
)
from loop.atomic import PRIVATE_FOLDER
from loop.config import Config
from loop.git.store import Store
from loop.home import mark_of
from loop.machine.effects import (
    ROLES,
    AgentEffect,
    Baseline,
    CommandsEffect,
    CompareTests,
    Gate,
    Implement,
    Resolve,
    Review,
    SetUp,
)
from loop.problems import Problem, Problems
from loop.shell.comparison import with_base_tests
from loop.shell.context import Context, Provider
from loop.shell.instructions import nested_instructions, with_base_instructions
from loop.shell.packing import pack_for
from loop.shell.papers import Papers
from loop.slots import host_label
from loop.taskfile import Task
from loop.together import baseline_checks, command_line, fast_checks, gate_checks

UNLIMITED_MICROUSD = 10**12
"""What a job's proxy is told where the task has no money budget: a million dollars."""


def identity_of(context: Context, state: TaskState, key: str) -> Identity:
    """Whose container it is.

    Raises:
        UsageError: The host's label is none.
    """
    return Identity(
        run_id=state.run_id,
        key=key,
        task_id=state.task_id,
        purpose=state.purpose,
        home=mark_of(context.home),
        host=host_label(context.environment),
    )


def job_env(context: Context, config: Config) -> dict[str, str]:
    """Names and values of `[job] env`.

    Raises:
        Problems: A named variable is not set here.
    """
    missing = [name for name in config.job_env if name not in context.environment]
    if missing:
        line = config.lines.of("job", "env")
        raise Problems(
            [Problem(config.path, line, f"[job] env: {name} is not set here; set it") for name in missing]
        )
    return {name: context.environment[name] for name in config.job_env}


def setup_order(context: Context, state: TaskState, effect: SetUp, papers: Papers) -> SetupOrder:
    """The image of a base.

    Raises:
        Problems: A declared input matches no file.
    """
    return setup_order_at(context, state, papers, commit=effect.base, key=effect.key)


def digest_of_inputs(store: Store, config: Config, commit: str) -> str:
    """SHA-256 over what the cached set-up reads, as a commit has it.

    Raises:
        Problems: A declared input matches no file.
    """
    digest = store.inputs_digest(commit, config.inputs)
    if digest.unmatched:
        line = config.lines.of("setup", "inputs")
        names = ", ".join(digest.unmatched)
        raise Problems([Problem(config.path, line, f"[setup] inputs: no file matches {names}")])
    return digest.sha256


def setup_order_at(
    context: Context, state: TaskState, papers: Papers, *, commit: str, key: str
) -> SetupOrder:
    """The image of any commit with the inputs that it has, made under the key of the job that needs it.

    Raises:
        Problems: A declared input matches no file.
    """
    config = papers.config
    inputs_digest = digest_of_inputs(context.store, config, commit)
    packed = pack_for(context, commit, is_whole=config.limits.has_docker)
    return SetupOrder(
        identity=identity_of(context, state, key),
        base_image=config.image.base,
        dockerfile=papers.dockerfile,
        cached=config.cached,
        inputs_digest=inputs_digest,
        commit=commit,
        pack=packed.path,
        kept=packed.kept,
        folder=_folder(context, state) if config.cached else context.folder / "jobs" / "setup",
        limits=config.limits,
        env=job_env(context, config),
        egress=None if config.egress is None else config.egress.allow,
    )


def commands_order(context: Context, state: TaskState, effect: CommandsEffect, papers: Papers) -> JobOrder:
    """A baseline, check, comparison or gate job."""
    role = Role.GATE if isinstance(effect, Gate) else Role.CHECK
    commit = effect.commit
    if isinstance(effect, CompareTests):
        commit = with_base_tests(context, state.task_id, effect, papers.config)
    packed = pack_for(context, commit, is_whole=papers.config.limits.has_docker)
    return JobOrder(
        identity=identity_of(context, state, effect.key),
        role=role,
        image=effect.image,
        commit=commit,
        pack=packed.path,
        kept=packed.kept,
        folder=_folder(context, state),
        limits=_limits(papers.config, effect.deadline_ms),
        always=papers.config.always,
        commands=commands_of(effect, papers.task, papers.config),
        env=job_env(context, papers.config),
    )


def commands_of(effect: CommandsEffect, task: Task, config: Config) -> tuple[Command, ...]:
    """Which commands the effect runs, in order; a second run only those that failed."""
    match effect:
        case Baseline():
            commands = baseline_checks(task, config)
        case Gate():
            commands = gate_checks(task, config)
        case _:
            commands = fast_checks(task, config)
    return tuple(command for command in commands if not effect.only or command.name in effect.only)


def agent_order(
    context: Context, state: TaskState, effect: Implement | Review | Resolve, papers: Papers, prompt: bytes
) -> JobOrder:
    """The job of an agent; one that judges the coder's work takes no orders from it."""
    role, commit = ROLES[effect.kind], effect.start
    if isinstance(effect, Review | Resolve):
        commit = with_base_instructions(context, state.task_id, effect)
    config = papers.config
    work = AgentWork(
        runtime=effect.agent.runtime,
        model=effect.agent.model,
        prompt=prompt,
        line=command_line(role, config) if effect.agent.runtime is RuntimeName.COMMAND else None,
        review_path=review_path(papers.task, effect.round) if role is Role.REVIEWER else None,
        context_limit_tokens=config.agent.context_limit_tokens,
        gate_commands=tuple(command.run for command in gate_checks(papers.task, config)),
        provider=context.provider_for(effect.agent).name,
        nested=nested_instructions(context.store, commit),
    )
    packed = pack_for(context, commit, is_whole=config.limits.has_docker)
    return JobOrder(
        identity=identity_of(context, state, effect.key),
        role=role,
        image=effect.image,
        commit=commit,
        pack=packed.path,
        kept=packed.kept,
        folder=_folder(context, state),
        limits=_limits(config, effect.deadline_ms),
        always=config.always,
        agent=work,
        proxy=_proxy(context, effect, role, config),
        env=job_env(context, config),
    )


def review_path(task: Task, round_: int) -> str:
    """Where a reviewer writes, as a path in its tree."""
    return f".agents/reviews/{task.label}-round{round_}.md"


def uses_model(choice: AgentChoice) -> bool:
    """Whether the agent can call a model at all: a shell line does where a model is named for it."""
    return choice.model is not None


def asked_providers(context: Context, terms: Terms) -> tuple[Provider, ...]:
    """The real providers that jobs of these terms call, each once; none where a story answers."""
    if context.story is not None:
        return ()
    choices = (choice for choice in terms.agents if uses_model(choice))
    return tuple({provider.name: provider for provider in map(context.provider_for, choices)}.values())


def _proxy(context: Context, effect: AgentEffect, role: Role, config: Config) -> ProxyOrder | None:
    """What an agent's pod lets out: model calls, and the listed hosts where the repo says so."""
    egress = config.egress.allow if config.egress is not None and config.egress.agents else ()
    if not uses_model(effect.agent):
        return egress_only(egress) if egress else None
    provider = context.provider_for(effect.agent)
    budget = effect.budget_microusd
    return ProxyOrder(
        base_url=provider.base_url,
        secret=provider.secret,
        auth=provider.auth,
        protocol=provider.name,
        fallbacks=tuple(FallbackOrder(way.base_url, way.secret, way.auth) for way in provider.fallbacks),
        prices=provider.prices,
        budget_microusd=UNLIMITED_MICROUSD if budget is None else budget,
        story=context.story,
        story_role=role,
        story_round=effect.round,
        egress=egress,
    )


def _limits(config: Config, deadline_ms: int) -> Limits:
    return dataclasses.replace(config.limits, deadline_s=deadline_ms / 1000)


def _folder(context: Context, state: TaskState) -> Path:
    folder = state.attempt.folder if state.attempt else None
    if folder is None:
        raise ValueError("a job needs an attempt with a folder")
    path = context.folder / folder
    # Here, for whoever makes the job's own folder would make this one readable by all.
    path.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return path
