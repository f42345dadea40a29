"""Every stop reason: who acts and how, and where a rerun or a ruling leads.

Pure: no I/O.
"""

from dataclasses import dataclass

from instrument.schema.vocabulary import Stage, StopReason


@dataclass(frozen=True, slots=True)
class StopRow:
    """How a stop is explained and continued."""

    sentence: str
    """Who should act, and how."""
    rerun: Stage | None = None
    """Where a bare rerun looks again; none: it prints the brief. `STOPPED` means where it stood."""
    ruling: Stage | None = None
    """Where a ruling leads; none: a ruling cannot help, it is exit 2."""
    edit: Stage | None = Stage.STOPPED
    """Where an edit of the task file leads; `STOPPED` means where it stood."""
    grants: tuple[str, ...] = ()
    """Counters of `--grant` that lift this stop."""
    granted: Stage | None = None
    """Where such a grant leads; `STOPPED` means where it stood."""
    allow: bool = False
    """Whether `--allow GLOB` lets the same diff be judged again."""
    choices: tuple[str, ...] = ()
    """Rulings that would do, offered as they stand; a person may write another."""


_AGAIN = Stage.STOPPED
_R, _S = StopReason, Stage

STOPS: dict[StopReason, StopRow] = {
    _R.READY_TO_MERGE: StopRow(
        "You: look at the candidate; run again with --auto-merge to merge it, or rule what must change.",
        ruling=_S.IMPLEMENT,
    ),
    _R.BASELINE_RED: StopRow(
        "You: mend the named checks on the branch, or name them in turns_green; run again.",
        rerun=_S.READY,
        edit=_S.READY,
    ),
    _R.BASELINE_GREEN: StopRow(
        "You: the checks that the task turns green pass already; commit a failing test, or drop turns_green.",
        rerun=_S.READY,
        edit=_S.READY,
    ),
    _R.NO_CHANGE: StopRow(
        "You: the coder changed nothing; read its last message, then rule what to do or edit the task.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.OUT_OF_SCOPE: StopRow(
        "You: --allow the paths (or widen `files:`) if they belong to it, or rule that they be left alone.",
        ruling=_S.IMPLEMENT,
        choices=("Leave the named paths as they are on the base.",),
        allow=True,
    ),
    _R.PROTECTED_PATH: StopRow(
        "You: --allow the paths (or add them to `allow:`) if they may change, or rule that they stay.",
        ruling=_S.IMPLEMENT,
        choices=("Leave the named paths as they are on the base.",),
        allow=True,
    ),
    _R.NESTED_REPO: StopRow(
        "You: the tree holds a repository of its own; rule how to do without, or ignore its folder.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.PATCH_TOO_LARGE: StopRow(
        "You: ignore the named build products on the branch, or raise [limits] patch_mb; then --restart.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.UNCAPTURABLE: StopRow(
        "You: git cannot take the named files, for their encoding or their name; rule what becomes of them.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.PATCH_INTEGRITY: StopRow(
        "Us: the diff does not give the tree it was captured from; nothing was applied. "
        "Please report it with the job's folder; a ruling begins another round.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.BAD_JOB_OUTPUT: StopRow(
        "You: the job handed back nothing usable; read its folder, then rule to begin another round.",
        ruling=_AGAIN,
    ),
    _R.CHECKS_EXHAUSTED: StopRow(
        "You: read the failed checks; grant more repairs, rule what to do for one more, or edit the task.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
        grants=("check",),
        granted=_S.IMPLEMENT,
    ),
    _R.REVIEW_EXHAUSTED: StopRow(
        "You: decide the open must-fixes: a ruling settles them and goes to one more review; or grant more.",
        ruling=_S.REVIEW,
        edit=_S.IMPLEMENT,
        grants=("review",),
        granted=_S.IMPLEMENT,
    ),
    _R.REVIEW_UNREADABLE: StopRow(
        "You: twice the review did not end with a usable `verdict` block; see its folder, rule to ask again.",
        ruling=_S.REVIEW,
        edit=_S.REVIEW,
    ),
    _R.GATE_EXHAUSTED: StopRow(
        "You: read the failed gate; grant more repairs, rule what to do for one more, or edit the task.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
        grants=("gate",),
        granted=_S.IMPLEMENT,
    ),
    _R.MERGE_CONFLICT: StopRow(
        "You: main and the task change the same lines; a ruling has the change made again on the new main.",
        ruling=_S.READY,
        choices=("Make the change again on what is there now.",),
        edit=_S.READY,
    ),
    _R.MAIN_MOVING: StopRow(
        "You: main moved at every try; run again when it is calmer.",
        rerun=_S.REBASE,
        edit=_S.REBASE,
        grants=("main_moved",),
        granted=_S.REBASE,
    ),
    _R.PUSH_REJECTED: StopRow(
        "You: the push or the local branch was refused as named; mend that and run again.",
        rerun=_AGAIN,
    ),
    _R.SPEND_BUDGET: StopRow(
        "You: grant usd, or raise budget_usd in the task file, commit it and run again.",
        grants=("usd",),
        granted=_AGAIN,
    ),
    _R.TIME_BUDGET: StopRow(
        "You: grant minutes, or raise budget_min in the task file, commit it and run again.",
        grants=("minutes",),
        granted=_AGAIN,
    ),
    _R.UNKNOWN_PRICE: StopRow(
        "You: give the named model a price in factory.toml (or an alias in proxy/aliases.toml), commit it, "
        "or choose another model; run again.",
        rerun=_AGAIN,
    ),
    _R.PROVIDER_RATE_LIMITED: StopRow(
        "You: wait until the provider's limit resets, then run again.", rerun=_AGAIN
    ),
    _R.PROVIDER_AUTH: StopRow("You: the provider refused the key; mend it and run again.", rerun=_AGAIN),
    _R.PROVIDER_UNAVAILABLE: StopRow("You: the provider did not answer; run again later.", rerun=_AGAIN),
    _R.AGENT_FAILED: StopRow(
        "You: the agent program ended without finishing; read its folder, then rule to try again.",
        ruling=_AGAIN,
    ),
    _R.AGENT_NO_FIRST_CALL: StopRow(
        "You: the agent called no model in time, twice, at no cost; see its folder, then run again.",
        rerun=_AGAIN,
    ),
    _R.JOB_TIMEOUT: StopRow(
        "You: a job passed its time limit; rule how to be quicker, or raise [limits] job_min and --restart.",
        ruling=_AGAIN,
    ),
    _R.MEMORY_LIMIT: StopRow(
        "You: the job ran out of memory; rule how to use less, or raise [limits] memory and --restart.",
        ruling=_AGAIN,
    ),
    _R.INTERRUPTED_TOO_OFTEN: StopRow(
        "You: the machine lost the job again and again; see why containers die, then run again.",
        rerun=_AGAIN,
        grants=("interruptions",),
        granted=_AGAIN,
    ),
    _R.RUNNER_UNAVAILABLE: StopRow("You: bring the Docker Engine back, then run again.", rerun=_AGAIN),
    _R.IMAGE_UNFIT: StopRow(
        "You: the image or a set-up command failed; mend factory.toml or the base image, then run again.",
        rerun=_AGAIN,
    ),
    _R.BLOCKED: StopRow(
        "You: the coder asks; answer with a ruling, or edit the task.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.TESTS_WEAKENED: StopRow(
        "You: the diff deletes or skips the named tests; rule that they stay, or allow it in the task "
        "(allow_weaker_tests).",
        ruling=_S.IMPLEMENT,
        choices=("Put the named tests back as they were and make them pass.",),
    ),
    _R.SECRET_FOUND: StopRow(
        "You: an added line looks like a secret, see path and line; nothing was committed. "
        "Revoke it if it is real, and rule what the coder should do instead; --allow it if it is none.",
        ruling=_S.IMPLEMENT,
        choices=("Take the value out; read it from the environment.",),
        edit=_S.IMPLEMENT,
        allow=True,
    ),
    _R.NO_PROGRESS: StopRow(
        "You: the agent ran one command again and again without changing a file; rule how to go on.",
        ruling=_AGAIN,
    ),
    _R.PIDS_LIMIT: StopRow(
        "You: the job ran out of processes; rule how to use fewer, or raise [limits] pids and --restart.",
        ruling=_AGAIN,
    ),
    _R.DISK_FULL: StopRow(
        "You: the job wrote more than it may; rule how to write less, or raise [limits] disk and --restart.",
        ruling=_AGAIN,
    ),
    _R.SUBMODULE_CHANGED: StopRow(
        "You: the diff changes a submodule, which cannot travel; rule that it stays, or change it yourself.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.UNSUPPORTED_FILTER: StopRow(
        "You: the named paths go through a filter (LFS, say), which does not run here; rule that they stay.",
        ruling=_S.IMPLEMENT,
        edit=_S.IMPLEMENT,
    ),
    _R.PARKED: StopRow(
        "You: the task is parked; answer what it waited for (ruling, grant, allow, edit) to take it up.",
        edit=None,
    ),
    _R.STATE_CORRUPT: StopRow(
        "You: state.json cannot be read; nothing was changed. Restore it, or begin again with --restart.",
        edit=None,
    ),
}
