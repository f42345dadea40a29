"""Somebody who signs certificates, made for one test with the `openssl` command.

Limits: for 127.0.0.1 alone; below a temporary folder.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

DAYS = ("-days", "2")
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Authority:
    """Who signs certificates of 127.0.0.1, and of those who call."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    def sign(self, name: str) -> tuple[Path, Path]:
        """A new certificate and its key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        names = self.folder / "names.ext"
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        asked = _openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", str(key))
        signer = ("-CA", str(self.certificate), "-CAkey", str(self.folder / "ca.key"), "-CAcreateserial")
        certificate.write_bytes(_openssl("x509", "-req", *signer, *DAYS, "-extfile", str(names), stdin=asked))
        return certificate, key


def make_authority(folder: Path) -> Authority:
    """One in a new folder; without the command the test is skipped."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command to make a certificate with")
    folder.mkdir(parents=True)
    own = ("-subj", "/CN=ours", "-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.pem"))
    _openssl("req", "-x509", *NEW_KEY, *DAYS, *own)
    return Authority(folder)


def _openssl(*words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *words], check=True, capture_output=True, input=stdin).stdout
