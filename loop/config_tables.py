"""The tables of `factory.toml` as models, one class a table.

Pure: no I/O.
"""

import re
from collections.abc import Callable
from email.utils import parseaddr
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from instrument.schema.base import Frozen
from instrument.schema.state import Caps
from instrument.schema.vocabulary import RuntimeName
from loop.globs import fault_of, fault_of_protection
from loop.taskkeys import CHECK_NAME, MODEL_ID

_SIZE = re.compile(r"([0-9]{1,6})([mg])")
_UNITS = {"m": 1024**2, "g": 1024**3}
SMALLEST_BYTES = 64 * 1024**2
KEY_VARIABLES = {"api_key": "ANTHROPIC_API_KEY", "bearer": "ANTHROPIC_AUTH_TOKEN"}


def _like(pattern: str | re.Pattern[str], sentence: str) -> AfterValidator:
    """Accept texts that match as a whole; `sentence` follows the key's name."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


def _unless(fault: Callable[[str], str | None]) -> AfterValidator:
    """Accept texts in which `fault` finds nothing."""

    def check(value: str) -> str:
        if sentence := fault(value):
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


def _branch_fault(value: str) -> str | None:
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}", value)
    odd = ".." in value or "//" in value or "/." in value or value.endswith(("/", ".", ".lock"))
    return None if plain and not odd else "must be the plain name of a branch, such as main"


def _path_fault(value: str) -> str | None:
    parts = value.split("/")
    if value.isprintable() and "\\" not in value and not {"", ".", ".."} & set(parts):
        return None
    return "must be a path from the root of the repository, without ./, .. or a slash in front"


def _url_fault(value: str) -> str | None:
    sentence = "must be an address such as https://api.anthropic.com, without user name, query or fragment"
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return sentence
    plain = value.isascii() and value.isprintable() and " " not in value
    extra = "@" in parts.netloc or "?" in value or "#" in value
    is_usable = plain and port_is_valid and parts.scheme in {"http", "https"} and parts.hostname and not extra
    return None if is_usable else sentence


def _author_fault(value: str) -> str | None:
    name, mail = parseaddr(value)
    is_usable = name and re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", mail) and value == f"{name} <{mail}>"
    return None if is_usable and value.isprintable() else "must look like Name <mail@example.org>"


def _line_fault(value: str) -> str | None:
    is_clean = all(c.isprintable() or c in "\n\t" for c in value)
    return None if is_clean and value.strip() else "must be a shell command"


def _size_bytes(value: str) -> str:
    if bytes_of(value) < SMALLEST_BYTES:
        raise ValueError('must be a size from "64m" up, such as "512m" or "4g"')
    return value


def bytes_of(size: str) -> int:
    """Read a size such as `4g`; 0 where it is none."""
    match = _SIZE.fullmatch(size)
    return int(match[1]) * _UNITS[match[2]] if match else 0


Name = Annotated[
    str,
    _like(
        r"[a-z0-9]+(?:[._-][a-z0-9]+){0,20}",
        "must be small letters and digits, parted by single -, _ or ., such as my-package",
    ),
    Field(max_length=50),
]
Line = Annotated[str, _unless(_line_fault), Field(max_length=10_000)]
CheckName = Annotated[
    str,
    _like(CHECK_NAME, "is no name for a check; use small letters, digits, - and _, beginning with no sign"),
]
Variable = Annotated[
    str, _like(r"[A-Za-z_][A-Za-z0-9_]{0,199}", "must be the name of an environment variable, such as CI")
]
Value = Annotated[str, _like(r"[^\x00]*", "holds a NUL character"), Field(max_length=10_000)]
Glob = Annotated[str, _unless(fault_of)]
RepoPath = Annotated[str, _unless(_path_fault)]
Model = Annotated[str, _like(MODEL_ID, "must be a model id as the provider writes it")]
Size = Annotated[str, AfterValidator(_size_bytes)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class RepoTable(Frozen):
    """`[repo]`: which repository this is."""

    name: Name
    branch: Annotated[str, _unless(_branch_fault)] | None = None
    """None: the checkout's default branch."""
    remote: (
        Annotated[str, _like(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "must be a remote's name, such as origin")]
        | None
    ) = None
    """Used only with `[merge] push`; none: `origin`, or the only one there is."""
    tasks: Annotated[int, Field(ge=1, le=256)] = 2
    """How many of its tasks may be under way at once on one host."""


class ImageTable(Frozen):
    """`[image]`: what jobs start from; neither: the default base."""

    base: (
        Annotated[
            str, _like(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,299}", "must be an image's name, such as debian:13")
        ]
        | None
    ) = None
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

    protected: tuple[Annotated[str, _unless(fault_of_protection)], ...] = ()
    """In addition to the protected ones of every repository."""
    generated: tuple[Glob, ...] = ()
    tests: tuple[Glob, ...] = ()
    """In addition to what the conventions of a language call a test."""


class CommandTable(Frozen):
    """`[agent.command]`: the shell lines of runtime `command`."""

    coder: Line | None = None
    reviewer: Line | None = None


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


class JobTable(Frozen):
    """`[job]`: names of the host's variables that every job gets; their values are masked in what is kept."""

    env: tuple[Variable, ...] = ()


class MergeTable(Frozen):
    """`[merge]`: what becomes of a gated commit."""

    push: bool = False
    auto: bool = False
    author: Annotated[str, _unless(_author_fault)] = "factory loop <factory@localhost>"


class PromptsTable(Frozen):
    """`[prompts]`: templates in the repository that replace the default ones."""

    coder: RepoPath | None = None
    reviewer: RepoPath | None = None


class ProviderTable(Frozen):
    """`[provider]`: who answers model calls."""

    name: Literal["anthropic"] = "anthropic"
    base_url: Annotated[str, _unless(_url_fault)] = "https://api.anthropic.com"
    auth: Literal["api_key", "bearer"] = "api_key"
    key_env: Variable | None = None

    @property
    def key_variable(self) -> str:
        """The host's variable that holds the key."""
        return self.key_env or KEY_VARIABLES[self.auth]


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
    job: JobTable = JobTable()
    merge: MergeTable = MergeTable()
    prompts: PromptsTable = PromptsTable()
    provider: ProviderTable = ProviderTable()
