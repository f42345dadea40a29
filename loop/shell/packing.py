"""What of a repository travels into a job, and what the engine keeps of it.

Limits: writes packs below the task's folder; asks the engine what it keeps.
"""

from dataclasses import dataclass
from pathlib import Path

from loop.shell.context import Context

LARGE_BYTES = 16 * 1024 * 1024
"""From here on the engine keeps it: below, a volume of its own costs more than the transfers."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A pack of a commit, without the history of the commit that the engine keeps (none: it is whole)."""

    path: Path
    kept: str | None


def pack_for(context: Context, commit: str, *, is_whole: bool = False) -> Packed:
    """Pack what a job on this commit lacks.

    Args:
        context: Of the task.
        commit: With its history.
        is_whole: Whether the job may see nothing that the engine keeps for others: who has a Docker daemon
            is root in the container, and to root a read-only mount is no wall.

    Raises:
        JobsError: No engine answers.
    """
    held = () if is_whole else context.jobs.objects.held()
    kept = next(filter(context.store.has_commit, held), None)
    name = f"{commit}.pack" if kept is None else f"{commit}-{kept}.pack"
    return Packed(context.store.write_pack(commit, packs_folder(context) / name, without=kept), kept)


def hold_if_large(context: Context, commit: str) -> None:
    """Let the engine keep the commit with its history, where much of it would travel with every job.

    Raises:
        JobsError: No engine answers.
    """
    packed = pack_for(context, commit)
    if packed.path.stat().st_size < LARGE_BYTES:
        return
    whole = context.store.write_pack(commit, packs_folder(context) / f"{commit}.pack")
    context.jobs.objects.hold(commit, whole, instead_of=packed.kept)


def packs_folder(context: Context) -> Path:
    """What travels into jobs; it can be made again at any time."""
    return context.folder / "packs"
