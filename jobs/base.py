"""The default base image: pulled, or bootstrapped from Debian's packages where no registry answers.

Talks to the engine; bootstrapping starts `debootstrap`, `apt-get` and `tar` and needs root.
"""

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

from jobs.engine.states import EngineInfo, ImageState
from jobs.errors import ImageUnfitError, ObjectAbsentError
from jobs.recipe import KIND_LABEL

BOOTSTRAP_S = 1800
TAIL_LINES = 5


class BaseImages(Protocol):
    """The images of an engine, as far as a base needs them."""

    def inspect(self, reference: str) -> ImageState | None:
        """Look at a local image; none where it does not exist."""
        ...

    def pull(self, reference: str) -> None:
        """Bring it from its registry; ObjectAbsentError where that cannot be."""
        ...

    def import_tar(self, tar: IO[bytes], tag: str, changes: list[str]) -> None:
        """Make an image of a file system's tar archive."""
        ...


def bootstrapped_tag(suite: str) -> str:
    """The tag of our own base, such as `factory-loop/base:bookworm`."""
    return f"factory-loop/base:{suite}"


def find_base(images: BaseImages, reference: str) -> ImageState:
    """A repo's own base: local, else pulled.

    Raises:
        ImageUnfitError: It is not here and cannot be pulled.
    """
    found = images.inspect(reference)
    if found is not None:
        return found
    try:
        images.pull(reference)
    except ObjectAbsentError as error:
        raise ImageUnfitError(
            f"The base image {reference} is not on this engine and cannot be pulled; "
            f"correct [image] base in factory.toml, or load it: {error}"
        ) from error
    return find_pulled(images, reference)


def find_pulled(images: BaseImages, reference: str) -> ImageState:
    """The image just pulled.

    Raises:
        ImageUnfitError: The engine said that it pulled it and does not have it.
    """
    found = images.inspect(reference)
    if found is None:
        raise ImageUnfitError(f"The engine pulled {reference} and does not have it.")
    return found


def find_default_base(
    images: BaseImages, engine: EngineInfo, *, reference: str, suite: str, say: Callable[[str], None]
) -> tuple[str, ImageState]:
    """The default base's name and image: whichever is here, else pulled, else bootstrapped.

    Raises:
        ImageUnfitError: None of it works on this machine; the sentence says what to do.
    """
    own = bootstrapped_tag(suite)
    for name in (reference, own):
        found = images.inspect(name)
        if found is not None:
            return name, found
    try:
        images.pull(reference)
    except ObjectAbsentError as error:
        say(f"No registry gives {reference}; making a base from Debian's packages (a minute or two).")
        _check_bootstrap(engine, reference, str(error))
        _bootstrap(images, own, suite)
        return own, find_pulled(images, own)
    return reference, find_pulled(images, reference)


def _check_bootstrap(engine: EngineInfo, reference: str, why: str) -> None:
    """Say what is missing before anything is begun."""
    advice = f"load {reference} into the engine, or run once as root on Debian or Ubuntu"
    if os.geteuid() != 0:
        raise ImageUnfitError(f"{why}; a base can be bootstrapped only by root: {advice}.")
    if shutil.which("debootstrap") is None and shutil.which("apt-get") is None:
        raise ImageUnfitError(f"{why}; and debootstrap is not to be had here: {advice}.")
    if platform.machine() != engine.arch:
        raise ImageUnfitError(f"{why}; and the engine's processor ({engine.arch}) is another: {advice}.")


def _bootstrap(images: BaseImages, tag: str, suite: str) -> None:
    if shutil.which("debootstrap") is None:
        _command(["apt-get", "update"])
        _command(
            ["apt-get", "install", "-y", "--no-install-recommends", "debootstrap", "debian-archive-keyring"]
        )
    with tempfile.TemporaryDirectory(prefix="factory-base-", ignore_cleanup_errors=True) as folder:
        root = Path(folder, "root")
        _command(["debootstrap", "--variant=minbase", suite, str(root)])
        for leftover in (*root.glob("var/cache/apt/archives/*.deb"), *root.glob("var/lib/apt/lists/*_*")):
            leftover.unlink()
        archive = Path(folder, "root.tar")
        with tarfile.open(archive, "w") as tar:
            # Devices are the engine's to make, and what is mounted there is not the image's.
            tar.add(root, arcname=".", filter=_leave_out_devices)
        with archive.open("rb") as stream:
            images.import_tar(stream, tag, [f"LABEL factory-loop=1 {KIND_LABEL}=base", 'CMD ["/bin/bash"]'])


def _leave_out_devices(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    inside = entry.name.removeprefix("./")
    if inside.startswith(("dev/", "proc/", "sys/")) or not (
        entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()
    ):
        return None
    return entry


def _command(arguments: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=BOOTSTRAP_S,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImageUnfitError(f"`{' '.join(arguments[:2])}` did not work: {error}") from error
    if done.returncode:
        tail = (done.stdout + done.stderr).decode(errors="replace").splitlines()[-TAIL_LINES:]
        raise ImageUnfitError(f"`{' '.join(arguments[:2])}` failed: {' / '.join(tail)}")
