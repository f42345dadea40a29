"""What an image is made of, and the name that follows from it.

Pure: no I/O.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

KIND_LABEL = "factory.image"
FROM_LINE = re.compile(r"(?im)^([ \t]*FROM[ \t]+\S.*)$")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image: the same recipe gives the same tag, so it is built once."""

    kind: str
    """The tag's name part: agent, job, docker, python, sidecar, base."""
    dockerfile: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The build's context: relative paths to content; a path that ends with `/` is an empty folder."""
    args: Mapping[str, str] = field(default_factory=dict)
    """Build arguments that change the result; the images it starts from are among them."""
    parents: tuple[str, ...] = ()
    """Ids of the images that the arguments name: a tag can move."""

    @property
    def key(self) -> str:
        """Twelve hex digits of the hash of all of it."""
        digest = hashlib.sha256()
        parts = [self.kind.encode(), self.dockerfile.encode()]
        parts += [f"{name}={value}".encode() for name, value in sorted(self.args.items())]
        parts += [name.encode() + b"\0" + data for name, data in sorted(self.files.items())]
        parts += [parent.encode() for parent in self.parents]
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()[:12]

    @property
    def tag(self) -> str:
        """`factory-loop/<kind>:<key>`."""
        return f"factory-loop/{self.kind}:{self.key}"

    def context(self) -> io.BytesIO:
        """The build context as a tar archive; equal recipes give equal bytes."""
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as tar:
            for name, data in sorted({**self.files, "Dockerfile": self.dockerfile.encode()}.items()):
                entry = tarfile.TarInfo(name.rstrip("/"))
                entry.mode = 0o644
                if name.endswith("/"):
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
                    continue
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        target.seek(0)
        return target


def label_stages(dockerfile: str, kind: str) -> str:
    """A person's Dockerfile with our labels after each `FROM`.

    The builder's own containers inherit them, and what a broken build leaves can be found.
    """
    return FROM_LINE.sub(rf"\1\nLABEL factory-loop=1 {KIND_LABEL}={kind}", dockerfile)
