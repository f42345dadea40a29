"""The folder of one replay: who holds it, what an earlier one left, and which run its containers carry.

Limits: writes below `<home>/replay`; a killed replay's containers are removed by the next one here.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from instrument.found import find_home
from loop.atomic import write_atomic
from loop.errors import BusyError
from loop.git.bare import init_bare
from loop.git.checkout import Checkout
from loop.git.process import require_git
from loop.git.store import Store
from loop.home import make_private
from loop.leases import try_lease

RUN_ID_FILE = "run-id"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one range of one repository is replayed, in one mode."""

    folder: Path
    run_id: str

    def new_store(self, checkout: Checkout, name: str) -> Store:
        """An empty repository of ours; what an earlier one of this name held goes."""
        path = self.folder / f"{name}.git"
        shutil.rmtree(path, ignore_errors=True)
        init_bare(path)
        store = Store(path, checkout)
        # A rerun makes it anew, so that nothing in it has to outlive a crash.
        store.git(["config", "core.fsync", "none"])
        return store

    def clear(self) -> None:
        """Remove what is of no use once every commit was carried; the record and the evidence stay."""
        for entry in self.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name.endswith((".pack", ".idx")):
                entry.unlink()


@contextmanager
def open_place(
    environment: Mapping[str, str], name: str, *, restart: bool, reap: Callable[[str], object]
) -> Iterator[Place]:
    """Hold the folder of this name.

    Args:
        environment: The host's.
        name: Of repository, range and mode.
        restart: Whether everything in it goes first.
        reap: Removes whatever a run of this id left on the engine.

    Raises:
        BusyError: Another process holds it.
    """
    require_git()
    folder = make_private(find_home(environment) / "replay" / name)
    lease = try_lease(folder.with_name(f"{name}.lock"))
    if lease is None:
        raise BusyError("Another replay of this range is running; wait for it.")
    with lease:
        run_id_file = folder / RUN_ID_FILE
        with suppress(FileNotFoundError, UnicodeDecodeError):
            reap(run_id_file.read_text(encoding="ascii"))
        if restart:
            shutil.rmtree(folder)
            make_private(folder)
        run_id = secrets.token_hex(4)
        write_atomic(run_id_file, run_id.encode())
        try:
            yield Place(folder, run_id)
        finally:
            reap(run_id)
