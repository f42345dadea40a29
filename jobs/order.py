"""What a caller orders of a job: values only.

Pure: no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from instrument.schema.prices import OwnPrice
from instrument.schema.vocabulary import ProviderName, Purpose, Role, RuntimeName

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose object it is: all of it goes into labels, `key` into the container's name too."""

    run_id: str
    key: str
    task_id: str
    purpose: Purpose
    home: str = ""
    """The mark of the home whose job slots it takes; empty: it takes none."""
    host: str = ""
    """The label of the host among those of that home; empty: the plain one."""


@dataclass(frozen=True, slots=True)
class Command:
    """One shell line run with `sh -c` (bash where the image has it) in the tree, as the agent's user."""

    name: str
    run: str
    timeout_s: float = 600
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """The fence: its numbers, and who holds it."""

    memory_bytes: int = 4096 * MIB
    cpus: float = 2.0
    pids: int = 1024
    disk_bytes: int = 8192 * MIB
    deadline_s: float = 1800
    """Counts from the container's start."""
    first_call_s: float = 120
    patch_bytes: int = 32 * MIB
    """What an agent may add or change in all, before its diff is `patch_too_large`."""
    patch_files: int = 5000
    same_command: int = 10
    """How often an agent may run one command without a change of the tree; 0: it is not looked at."""
    container_runtime: str | None = None
    """Such as `runsc`: of every job, of the set-up only with a daemon; none: the engine's default."""
    has_docker: bool = False
    """Whether every job, the set-up too, has a Docker daemon of its own; few runtimes can run one."""


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What an agent job adds to the tree."""

    runtime: RuntimeName
    model: str | None
    prompt: bytes
    line: str | None = None
    """The shell line of runtime `command`."""
    review_path: str | None = None
    """Where a reviewer writes, as a path in its tree; none for a coder."""
    context_limit_tokens: int = 100_000
    gate_commands: tuple[str, ...] = ()
    """The gate's shell lines: one that the agent runs counts as itself, whatever stands around it."""
    provider: ProviderName = ProviderName.ANTHROPIC
    """Whose the model is: what a program that speaks several protocols goes by."""
    nested: Mapping[str, str] = field(default_factory=dict)
    """Instruction files of the tree that are not at its top: path to text."""


@dataclass(frozen=True, slots=True)
class FallbackOrder:
    """A provider that is asked where the one before it cannot answer; see `ProxyOrder` for its fields."""

    base_url: str
    secret: str = field(repr=False)
    auth: str


@dataclass(frozen=True, slots=True)
class ProxyOrder:
    """What the sidecar is told by standard input; every `secret` lives in its memory only."""

    base_url: str
    """The upstream, such as `https://api.anthropic.com`; unused where a story answers."""
    secret: str = field(repr=False)
    auth: str = "api_key"
    """`api_key` (x-api-key) or `bearer` (Authorization)."""
    protocol: str = "anthropic"
    """`anthropic` or `openai`: what the agent and the upstream speak."""
    fallbacks: tuple[FallbackOrder, ...] = ()
    """Of the same protocol, in the order in which they are asked."""
    budget_microusd: int = 0
    """What is left for this job."""
    story: bytes | None = None
    """A scripted provider's story (YAML): it then answers in the sidecar instead of `base_url`."""
    story_role: str = ""
    story_round: int = 0
    prices: Mapping[str, OwnPrice] = field(default_factory=dict)
    """The person's, by model id; they go before the price data."""
    egress: tuple[str, ...] = ()
    """Hosts that the job may reach by a tunnel: `host`, `host:port` or `*.domain`."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key; may be empty."""
        secrets = (self.secret, *(fallback.secret for fallback in self.fallbacks))
        return tuple(secret for secret in secrets if secret)


def egress_only(hosts: tuple[str, ...]) -> ProxyOrder:
    """A proxy that lets out to hosts alone: it has no key, and without money it calls no model."""
    return ProxyOrder(base_url="https://localhost", secret="", egress=hosts)


@dataclass(frozen=True, slots=True)
class JobOrder:
    """One job, whole; two orders with one key are the same work."""

    identity: Identity
    role: Role
    image: str
    """Image id to start from (`sha256:…`), as `set_up` returned it."""
    commit: str
    """The commit whose tree is laid."""
    pack: Path
    """A git pack on the host that holds this commit with its history, less that of `kept`."""
    folder: Path
    """Where what comes out is kept: created 0700 if absent; holds `in/` and `out/` afterwards."""
    limits: Limits
    always: tuple[Command, ...] = ()
    """Set-up commands run on the actual tree before the work, in order; a failure is `setup_failed`."""
    commands: tuple[Command, ...] = ()
    """Of a check or gate job: all are run, in order, whatever the earlier ones gave."""
    agent: AgentWork | None = None
    proxy: ProxyOrder | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """`[job] env`: names and values; the values are masked wherever output is kept."""
    kept: str | None = None
    """A commit whose objects the engine keeps, as `Objects.held` names it; none: all are in the pack."""


@dataclass(frozen=True, slots=True)
class SetupOrder:
    """The image that every job of a base starts from."""

    identity: Identity
    base_image: str | None
    """`[image] base`: any Debian or Ubuntu image reference; none: the default."""
    dockerfile: str | None
    """`[image] dockerfile`: a path in the tree, given here as its text; none: not used."""
    cached: tuple[Command, ...]
    """Set-up commands whose effect is kept; empty: the job image itself is the answer."""
    inputs_digest: str
    """Hex digest of the content of the declared inputs at the commit."""
    commit: str
    pack: Path
    folder: Path
    limits: Limits
    env: Mapping[str, str] = field(default_factory=dict)
    egress: tuple[str, ...] | None = None
    """The only hosts that set-up commands may reach; none: all that the engine's default network does."""
    kept: str | None = None
    """See `JobOrder.kept`."""
