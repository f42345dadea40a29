"""The tables of `factory.toml` as models, one class a table.

Pure: no I/O.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from instrument.schema.base import Frozen
from instrument.schema.state import Caps
from instrument.schema.vocabulary import LadderStep, RuntimeName, StopReason
from loop.config_words import (
    Author,
    Branch,
    CheckName,
    ContainerRuntime,
    Glob,
    Host,
    ImageName,
    Line,
    Model,
    Name,
    Number,
    Protection,
    RemoteName,
    RepoPath,
    Size,
    Value,
    Variable,
)
from loop.machine.ladder import can_help
from loop.provider_tables import ProviderTable

DAEMON_RUNTIMES = "sysbox"
"""How the names of the container runtimes begin that can run a Docker daemon without rights on the host."""


class RepoTable(Frozen):
    """`[repo]`: which repository this is."""

    name: Name
    branch: Branch | None = None
    """None: the checkout's default branch."""
    remote: RemoteName | None = None
    """Used only with `[merge] push`; none: `origin`, or the only one there is."""
    tasks: Annotated[int, Field(ge=1, le=256)] = 2
    """How many of its tasks may be under way at once on one host."""


class ImageTable(Frozen):
    """`[image]`: what jobs start from; neither: the default base."""

    base: ImageName | None = None
    dockerfile: RepoPath | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.base and self.dockerfile:
            raise ValueError("takes base or dockerfile, not both")
        return self


class SetupTable(Frozen):
    """`[setup]`: commands before any work."""

    cached: tuple[Line, ...] = ()
    inputs: tuple[Glob, ...] = ()
    always: tuple[Line, ...] = ()

    @model_validator(mode="after")
    def _inputs_serve(self) -> Self:
        if self.inputs and not self.cached:
            raise ValueError("has inputs without cached commands; they have no effect, take them out")
        return self


class CheckTable(Frozen):
    """`[checks.NAME]`: one check command."""

    run: Line
    timeout_s: Annotated[Number, Field(gt=0, le=86_400)] = 600
    env: dict[Variable, Value] = Field(default_factory=dict)


class ChecksTable(Frozen):
    """`[checks]`: the commands by name, and which of them run when."""

    fast: tuple[str, ...] = ()
    gate: tuple[str, ...] = ()
    commands: dict[CheckName, CheckTable] = Field(default_factory=dict)
    """Not a key of the file: the tables beside `fast` and `gate` are gathered here."""


class PathsTable(Frozen):
    """`[paths]`: paths with rules of their own."""

    protected: tuple[Protection, ...] = ()
    """In addition to the protected ones of every repository."""
    generated: tuple[Glob, ...] = ()
    tests: tuple[Glob, ...] = ()
    """In addition to what the conventions of a language call a test."""


class CommandTable(Frozen):
    """`[agent.command]`: the shell lines of runtime `command`."""

    coder: Line | None = None
    reviewer: Line | None = None
    resolver: Line | None = None


class AgentTable(Frozen):
    """`[agent]`: who codes."""

    runtime: RuntimeName = RuntimeName.CLAUDE
    model: Model | None = None
    context_limit_tokens: Annotated[int, Field(ge=1000, le=10_000_000)] = 100_000
    command: CommandTable = CommandTable()


class ReviewerTable(Frozen):
    """`[reviewer]`: who reviews; what is not set follows the coder."""

    runtime: RuntimeName | None = None
    model: Model | None = None


class LimitsTable(Frozen):
    """`[limits]`: the fence's numbers for every job."""

    memory: Size = "4g"
    cpus: Annotated[Number, Field(gt=0, le=1024)] = 2.0
    pids: Annotated[int, Field(ge=16, le=1_000_000)] = 1024
    disk: Size = "8g"
    job_min: Annotated[Number, Field(gt=0, le=1440)] = 30.0
    first_call_s: Annotated[Number, Field(gt=0, le=86_400)] = 120.0
    patch_mb: Annotated[Number, Field(gt=0, le=1024)] = 32.0
    patch_files: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    same_command: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """0: an agent may run one command as often as it likes."""


class CapsTable(Caps):
    """`[caps]`: how often something may happen before a person is asked."""

    review: Annotated[int, Field(ge=1)] = 4


class EgressTable(Frozen):
    """`[egress]`: which hosts jobs may reach, by https alone."""

    allow: tuple[Host, ...]
    """Set-up commands reach nothing else; empty: nothing at all."""
    agents: bool = False
    """Whether coders and reviewers may, too."""


class JobTable(Frozen):
    """`[job]`: what every job gets."""

    env: tuple[Variable, ...] = ()
    """Names of the host's variables; their values are masked in what is kept."""
    container_runtime: ContainerRuntime | None = None
    """Of every job; of the set-up, which needs a network, only with `docker`. None: the engine's default."""
    docker: bool = False
    """Whether every job, the set-up too, has a Docker daemon of its own."""

    @model_validator(mode="after")
    def _daemon_can_run(self) -> Self:
        runtime = self.container_runtime
        if self.docker and not (runtime or "").startswith(DAEMON_RUNTIMES):
            has = f"with {runtime}" if runtime else "with the engine's default container runtime"
            raise ValueError(
                f"has docker = true, but {has} no job can run a daemon of its own; "
                'set container_runtime = "sysbox-runc", or take docker out'
            )
        return self


class MergeTable(Frozen):
    """`[merge]`: what becomes of a gated commit."""

    push: bool = False
    auto: bool = False
    author: Author = "factory loop <factory@localhost>"


class LadderCapsTable(Frozen):
    """`[ladder.caps]`: how often each step may act for one task in all."""

    machine: Annotated[int, Field(ge=1, le=100)] = 2
    small: Annotated[int, Field(ge=1, le=100)] = 1
    strong: Annotated[int, Field(ge=1, le=100)] = 1


class LadderTable(Frozen):
    """`[ladder]`: who meets a stop before a person does; the table's presence switches it on."""

    steps: tuple[LadderStep, ...] = tuple(LadderStep)
    runtime: RuntimeName | None = None
    """Of both models; none: as the coder's."""
    small: Model | None = None
    strong: Model | None = None
    caps: LadderCapsTable = LadderCapsTable()
    reasons: dict[StopReason, tuple[LadderStep, ...]] = Field(default_factory=dict)
    """The steps of single reasons, instead of their usual ones; empty: straight to a person."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Refuse what would have no effect, or another than it seems to."""
        if not self.steps:
            raise ValueError("has no steps; name some, or take the table out")
        order = list(LadderStep)
        rows = {"steps": self.steps} | {f"reasons.{reason}": row for reason, row in self.reasons.items()}
        for name, row in rows.items():
            if [step for step in order if step in row] != list(row):
                raise ValueError(f"{name} takes each of {', '.join(order)} at most once, in this order")
        for reason, row in self.reasons.items():
            for step in row:
                if step not in self.steps:
                    raise ValueError(f"reasons.{reason} names {step}, which is not among the steps")
                if not can_help(step, reason):
                    raise ValueError(f"reasons.{reason}: {step} cannot help there; take it out")
        for step in (LadderStep.SMALL, LadderStep.STRONG):
            if step not in self.steps and getattr(self, step) is not None:
                raise ValueError(f"has a model for {step}, which is not among the steps; take it out")
        return self


class PromptsTable(Frozen):
    """`[prompts]`: templates in the repository that replace the default ones."""

    coder: RepoPath | None = None
    reviewer: RepoPath | None = None


class FactoryToml(Frozen):
    """The whole file."""

    repo: RepoTable
    image: ImageTable = ImageTable()
    setup: SetupTable = SetupTable()
    checks: ChecksTable = ChecksTable()
    paths: PathsTable = PathsTable()
    agent: AgentTable = AgentTable()
    reviewer: ReviewerTable = ReviewerTable()
    limits: LimitsTable = LimitsTable()
    caps: CapsTable = CapsTable()
    egress: EgressTable | None = None
    """None: set-up commands have the engine's default network."""
    job: JobTable = JobTable()
    ladder: LadderTable | None = None
    """None: every stop waits for a person."""
    merge: MergeTable = MergeTable()
    prompts: PromptsTable = PromptsTable()
    provider: ProviderTable = ProviderTable()
