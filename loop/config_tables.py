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
    """Begins every task id: `shop-007`."""
    branch: Branch | None = None
    """Where tasks start from and land; none: the checkout's default branch."""
    remote: RemoteName | None = None
    """Used only with `[merge] push`; none: `origin`, or the only one there is."""
    tasks: Annotated[int, Field(ge=1, le=256)] = 2
    """How many of its tasks may be under way at once on one host."""


class ImageTable(Frozen):
    """`[image]`: what jobs start from; neither: the default base."""

    base: ImageName | None = None
    """A Debian or Ubuntu image, best with its digest."""
    dockerfile: RepoPath | None = None
    """A committed Dockerfile instead of a base; it is built without files beside it."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.base and self.dockerfile:
            raise ValueError("takes base or dockerfile, not both")
        return self


class SetupTable(Frozen):
    """`[setup]`: commands before any work."""

    cached: tuple[Line, ...] = ()
    """Run once for one content of the inputs, and kept as an image; without inputs: as `always`."""
    inputs: tuple[Glob, ...] = ()
    """All that the cached commands read."""
    always: tuple[Line, ...] = ()
    """Run on the actual tree at the start of every job."""

    @model_validator(mode="after")
    def _inputs_serve(self) -> Self:
        if self.inputs and not self.cached:
            raise ValueError("has inputs without cached commands; they have no effect, take them out")
        return self


class CheckTable(Frozen):
    """`[checks.NAME]`: one check command."""

    run: Line
    """Exit code 0 passes."""
    timeout_s: Annotated[Number, Field(gt=0, le=86_400)] = 600
    """Seconds until it has failed."""
    env: dict[Variable, Value] = Field(default_factory=dict)
    """Variables of this command alone."""


class ChecksTable(Frozen):
    """`[checks]`: the commands by name, and which of them run when."""

    fast: tuple[str, ...] = ()
    """Names of those that run on the base and after every coder round."""
    gate: tuple[str, ...] = ()
    """Names of those that run on the very commit that lands."""
    commands: dict[CheckName, CheckTable] = Field(default_factory=dict)
    """Not a key of the file: the tables beside `fast` and `gate` are gathered here."""


class PathsTable(Frozen):
    """`[paths]`: paths with rules of their own."""

    protected: tuple[Protection, ...] = ()
    """What no task changes without its `allow:`, in addition to the protected paths of every repository."""
    generated: tuple[Glob, ...] = ()
    """Build products: any task may change them beside its `files:`, and reviewers need not read them."""
    tests: tuple[Glob, ...] = ()
    """In addition to what the conventions of a language call a test."""


class CommandTable(Frozen):
    """`[agent.command]`: the shell lines of runtime `command`."""

    coder: Line | None = None
    """Changes the tree that it starts in."""
    reviewer: Line | None = None
    """Leaves its verdict in the file `$FACTORY_REVIEW_FILE`."""
    resolver: Line | None = None
    """Leaves its answer to a stop in the file `$FACTORY_RESULT`; only with a ladder."""


class AgentTable(Frozen):
    """`[agent]`: who codes."""

    runtime: RuntimeName = RuntimeName.CLAUDE
    """Which agent program codes."""
    model: Model | None = None
    """Its id as the provider writes it; every runtime but `command` needs one."""
    context_limit_tokens: Annotated[int, Field(ge=1000, le=10_000_000)] = 100_000
    """How much of a conversation the agent keeps before it sums up."""
    command: CommandTable = CommandTable()


class ReviewerTable(Frozen):
    """`[reviewer]`: who reviews; what is not set follows the coder."""

    runtime: RuntimeName | None = None
    """Which agent program reviews; none: the coder's."""
    model: Model | None = None
    """None: the coder's."""


class LimitsTable(Frozen):
    """`[limits]`: the fence's numbers for every job."""

    memory: Size = "4g"
    """Above it a job ends as `memory_limit`."""
    cpus: Annotated[Number, Field(gt=0, le=1024)] = 2.0
    """Processors' worth of time."""
    pids: Annotated[int, Field(ge=16, le=1_000_000)] = 1024
    """Processes and threads at once."""
    disk: Size = "8g"
    """What a job may write."""
    job_min: Annotated[Number, Field(gt=0, le=1440)] = 30.0
    """Minutes of one job."""
    first_call_s: Annotated[Number, Field(gt=0, le=86_400)] = 120.0
    """Seconds in which an agent has to call its model for the first time."""
    patch_mb: Annotated[Number, Field(gt=0, le=1024)] = 32.0
    """Mebibytes that a job may change."""
    patch_files: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    """Files that a job may change."""
    same_command: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """How often an agent may run one command without changing a file; 0: as often as it likes."""


class CapsTable(Caps):
    """`[caps]`: how often something may happen before a person is asked."""

    review: Annotated[int, Field(ge=1)] = 4
    """Reviews."""


class EgressTable(Frozen):
    """`[egress]`: which hosts jobs may reach, by https alone."""

    allow: tuple[Host, ...]
    """What set-up commands reach, and nothing else; empty: nothing at all."""
    agents: bool = False
    """Whether coders and reviewers reach them, too."""


class JobTable(Frozen):
    """`[job]`: what every job gets."""

    env: tuple[Variable, ...] = ()
    """Names of the host's variables, no provider's key among them; values are masked in what is kept."""
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
    """Whether it goes to the remote, by plain fast-forward."""
    auto: bool = False
    """Whether it lands without asking, as with `--auto-merge`."""
    author: Author = "factory loop <factory@localhost>"
    """Of the commit that lands."""


class LadderCapsTable(Frozen):
    """`[ladder.caps]`: how often each step may act for one task in all."""

    machine: Annotated[int, Field(ge=1, le=100)] = 2
    """How often it looks again."""
    small: Annotated[int, Field(ge=1, le=100)] = 1
    """Questions to the small model."""
    strong: Annotated[int, Field(ge=1, le=100)] = 1
    """Questions to the strong one."""


class LadderTable(Frozen):
    """`[ladder]`: who meets a stop before a person does; the table's presence switches it on."""

    steps: tuple[LadderStep, ...] = tuple(LadderStep)
    """Who may act at all, in this order."""
    runtime: RuntimeName | None = None
    """Of both models; none: as the coder's."""
    small: Model | None = None
    """The model of that step, which needs one unless `[agent.command] resolver` answers."""
    strong: Model | None = None
    """The same."""
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
    """Of the coder's prompt; none: our own."""
    reviewer: RepoPath | None = None
    """Of the reviewer's."""


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
