"""What one job hands back: `job.json` of its supervisor, the agent's `result.json`, and their sum.

Pure: no I/O.
"""

from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt

from instrument.schema.base import Frozen
from instrument.schema.ledger import LedgerSummary
from instrument.schema.transcript import Transcript
from instrument.schema.vocabulary import AgentFault, Ended, Role, RuntimeName

AGENT_RUN_FILE = "agent-run.json"
"""In a job's `out/`, beside its `job.json`: an `AgentRun`, made on the host."""


class CommandEnd(Frozen):
    """How one command of a setup, check or gate job ended; in order of run."""

    name: str
    run: str
    exit_code: int | None
    """None where a signal ended it or it never started."""
    signal: int | None = None
    timed_out: bool = False
    duration_ms: NonNegativeInt = 0
    output: str
    """File below the job's folder with the end of stdout and stderr together, at most 64 KiB."""

    @property
    def has_passed(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.timed_out


class BigPath(Frozen):
    """A path of the tree with its size."""

    path: str
    size_bytes: NonNegativeInt


class Tree(Frozen):
    """The captured work tree of a coder or reviewer job, against its base commit."""

    base_commit: str
    base_tree: str
    tree: str | None
    """The tree id that the diff produces on the base; none where nothing was captured."""
    diff_bytes: NonNegativeInt = 0
    diff_sha256: str = ""
    changed_paths: NonNegativeInt = 0
    nested_repos: tuple[str, ...] = ()
    untracked: NonNegativeInt = 0
    """Count of files that the base does not have."""
    oversized: bool = False
    """The cap on files or bytes was passed; `biggest` and the totals say by what."""
    total_files: NonNegativeInt = 0
    total_bytes: NonNegativeInt = 0
    biggest: tuple[BigPath, ...] = ()
    special: tuple[str, ...] = ()
    """FIFOs, sockets and devices found; they are never captured."""
    unreadable: tuple[str, ...] = ()
    """Folders and names that cannot be looked at, or that git takes into no tree."""
    unencodable: tuple[str, ...] = ()
    """Files whose bytes are not in the encoding that the base's attributes name."""


class AgentNames(Frozen):
    """Who worked: what was asked for, and what was found."""

    runtime: RuntimeName
    version: str | None
    """As the program told it."""
    model_asked: str | None
    model_answered: str | None
    """The ledger's word, of the last call that was answered; without one, the program's own."""


class JobReport(Frozen):
    """`job.json`, written by the supervisor as root after everything of the agent has ended."""

    schema_version: Literal[1] = 1
    key: str
    role: Role
    ended: Ended
    exit_code: int | None
    signal: int | None
    started_utc: AwareDatetime
    duration_ms: NonNegativeInt
    """From the supervisor's start to its report."""
    agent_ms: NonNegativeInt = 0
    stalled_command: str | None = None
    """The shell command that the agent ran again and again without a change of the tree."""
    stalled_count: NonNegativeInt = 0
    pids_refused: NonNegativeInt = 0
    """Times that the limit on processes refused one (cgroup `pids.events`); 0 where it is not told."""
    oom_kills: NonNegativeInt = 0
    """Of the container's cgroup, children included."""
    peak_memory_bytes: NonNegativeInt | None = None
    cpu_ms: NonNegativeInt | None = None
    """Processor time of the container; none where it is not told."""
    peak_pids: NonNegativeInt | None = None
    """The most processes and threads at once in the container, the supervisor's own included: the
    kernel's count, else the most of some ten looks a second; none where neither is told."""
    survivors: NonNegativeInt = 0
    """Processes of the agent that had to be killed after it ended."""
    setup_failed: str | None = None
    """The `always` command that failed before the work began."""
    commands: tuple[CommandEnd, ...] = ()
    tree: Tree | None = None
    result_file: Literal["absent", "kept", "not_regular", "too_large"] = "absent"
    review_file: Literal["absent", "kept", "not_regular", "too_large"] = "absent"
    transcript_truncated: bool = False
    error: str | None = None
    """A failure of the supervisor itself, in one line."""
    agent: AgentNames | None = None
    """Added on the host, which alone has the ledger, as the job is collected; none for commands."""


class Decision(Frozen):
    """A reversible choice that the coder took by itself."""

    choice: str
    why: str
    undo: str


class AgentResult(Frozen):
    """`result.json`, which a coder may write; it may name an outcome, never overrule a fact."""

    outcome: Literal["done", "blocked", "no_change_needed"]
    summary: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    """Answers that would do for the question, where it has a natural set of them."""
    decisions: tuple[Decision, ...] = ()
    could_not_verify: tuple[str, ...] = ()


class AgentRun(Frozen):
    """What the runtime's adapter read from the agent's own output."""

    runtime: RuntimeName
    version: str | None = None
    model_asked: str | None = None
    model_answered: str | None = None
    finished: bool
    """Whether the agent's last message was there and said success."""
    error: str | None = None
    """The agent's own error text, at most 500 characters."""
    truncated: bool = False
    """The output ends in the middle of a line."""
    turns: NonNegativeInt | None = None
    fault: AgentFault | None = None
    """Why it did not finish; none where it did, or where the program does not say."""
    transcript: Transcript = Transcript()


class ContainerEnd(Frozen):
    """How the job's container ended, from the engine."""

    lost: bool = False
    """It was not there, or never ran: the machine lost it."""
    exit_code: int | None = None
    oom_killed: bool = False
    backstop: bool = False
    """The loop's own deadline ended it, the supervisor did not."""
    sidecar_lost: bool = False
    """The proxy beside it was gone before it ended."""
    sidecar_cut: bool = False
    """The proxy did not close its ledger: had the whole machine died, its last rows may be lacking."""
    started_utc: AwareDatetime | None = None
    finished_utc: AwareDatetime | None = None


class JobEnd(Frozen):
    """Everything that is known of one job after its collection."""

    key: str
    folder: str
    """Below the task's folder, such as `jobs/0002-coder-1`."""
    container: ContainerEnd
    report: JobReport | None = None
    """None where `job.json` is absent or unreadable: then nothing the job did is used."""
    report_error: str | None = None
    ledger: LedgerSummary = LedgerSummary()
    ledger_missing: bool = False
    """A sidecar ran and its ledger could not be read: the cost is a lower bound."""
    result: AgentResult | None = None
    result_error: str | None = None
    agent: AgentRun | None = None

    @property
    def duration_ms(self) -> int:
        """The job's run time for the time budget: the engine's clock, else the supervisor's."""
        end = self.container
        if end.started_utc and end.finished_utc:
            return max(0, round((end.finished_utc - end.started_utc).total_seconds() * 1000))
        return self.report.duration_ms if self.report else 0

    @property
    def is_lower_bound(self) -> bool:
        """Whether a part of this job's cost is not known."""
        return self.ledger_missing or self.container.sidecar_cut or self.ledger.is_lower_bound
