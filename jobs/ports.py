"""The seam to whoever runs jobs, in the caller's verbs."""

from pathlib import Path
from typing import Protocol

from instrument.schema.job import JobEnd
from jobs.order import JobOrder, SetupOrder


class Objects(Protocol):
    """Git objects that the engine keeps, so that a large repository travels to it once.

    Order of calls: `held`, `hold` where that is not enough, `held` again for each order.
    """

    def held(self) -> tuple[str, ...]:
        """Commits whose objects are there with their whole history, of any repo; may be empty.

        Raises:
            EngineUnavailableError: No engine answers.
        """
        ...

    def hold(self, commit: str, pack: Path, *, instead_of: str | None) -> None:
        """Keep a commit with its history; may be called twice.

        Args:
            commit: Its id.
            pack: The pack with all of it; its index lies beside it.
            instead_of: One that is held and need not be any more.

        Raises:
            EngineUnavailableError: No engine answers.
        """
        ...


class Jobs(Protocol):
    """Order of calls: `set_up`, then for each job `run`, save what it returned, `release`.

    Every method may be called again after a crash of the caller with the same arguments.
    """

    @property
    def objects(self) -> Objects:
        """What the engine keeps of repositories."""
        ...

    def set_up(self, order: SetupOrder) -> str:
        """Build or find the image that jobs of this base start from; return its id.

        Builds once for one content, under a lock: a second caller waits.

        Raises:
            ImageUnfitError: A build or a set-up command failed.
            EngineUnavailableError: No engine answers.
        """
        ...

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        """Do the job, or find what an earlier call did, and collect it.

        With `resumed`, an earlier process may have begun this very key: a running
        container is adopted, an exited one is collected, an absent or never started one
        gives `container.lost`. Nothing is removed: `release` does, once the end is saved.

        Raises:
            EngineUnavailableError: No engine answers, or it went away while waiting.
            ImageGoneError: The order's image was removed; `set_up` makes it again.
        """
        ...

    def cancel(self, order: JobOrder) -> JobEnd:
        """End the job's pod now (within 10 s) and collect its ledger; absent is no error."""
        ...

    def release(self, run_id: str, key: str) -> None:
        """Remove every container and volume of this run and key; absent is no error."""
        ...

    def reap(self, run_id: str, *, keep: str | None) -> int:
        """Remove what this run left behind under any other key; return how many objects went."""
        ...
