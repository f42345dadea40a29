"""Takes regular files out of a tar archive that a job wrote.

Writes below one folder of the host; whatever the archive says, nothing else is touched.
"""

import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ENTRIES_LIMIT = 5000
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was kept, and what was wrong with the rest; both may be empty."""

    names: tuple[str, ...]
    faults: tuple[str, ...]
    """One sentence each, at most ten."""


def unpack(tar: IO[bytes], target: Path, cap_of: Callable[[str], int | None]) -> Unpacked:
    """Write the known regular files of an archive of one folder below `target`, mode 0600.

    Args:
        tar: The archive; its entries begin with the folder's own name, which is dropped.
        target: Emptied first, so that a second collection leaves nothing of the first.
        cap_of: The most bytes for a name such as `job.json`; none where the name is not known.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700, parents=True)
    names: list[str] = []
    faults: list[str] = []
    try:
        with tarfile.open(fileobj=tar, mode="r|") as archive:
            for count, entry in enumerate(archive):
                if count > ENTRIES_LIMIT:
                    faults.append(f"There are more than {ENTRIES_LIMIT} entries.")
                    break
                name = entry.name.partition("/")[2]
                fault = f"{name!r} comes twice." if name in names else _fault(entry, name, cap_of)
                if fault is not None:
                    faults.append(fault)
                elif entry.isreg():
                    _write(archive, entry, target / name)
                    names.append(name)
    except (tarfile.TarError, EOFError, ValueError) as error:
        faults.append(f"The archive cannot be read to its end ({error}).")
    return Unpacked(tuple(names), tuple(faults[:10]))


def _fault(entry: tarfile.TarInfo, name: str, cap_of: Callable[[str], int | None]) -> str | None:
    if entry.isdir():
        return None
    shown = repr(name[:100])
    cap = cap_of(name)
    # The names are matched against a closed set: `..`, absolute names and NULs are in none of it.
    if cap is None:
        return f"{shown} is no file that a job hands back."
    if not entry.isreg() or entry.issparse():
        return f"{shown} is no regular file."
    if entry.size > cap:
        return f"{shown} has {entry.size} bytes, more than the {cap} allowed."
    return None


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    source = archive.extractfile(entry)
    if source is None:
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("xb") as file:
        path.chmod(0o600)
        shutil.copyfileobj(source, file, CHUNK_BYTES)


def read_one(tar: IO[bytes]) -> bytes:
    """The content of the first regular file of an archive; empty where there is none or it is torn."""
    try:
        with tarfile.open(fileobj=tar, mode="r|") as archive:
            entry = archive.next()
            source = archive.extractfile(entry) if entry is not None and entry.isreg() else None
            return source.read() if source is not None else b""
    except (tarfile.TarError, EOFError, ValueError):
        return b""
