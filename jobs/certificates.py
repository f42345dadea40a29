"""The certificates that this machine trusts beyond the public ones, for image builds.

Reads the files that FACTORY_CA_BUNDLE or SSL_CERT_FILE name.
"""

import re
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import files
from pathlib import Path

import certifi

from jobs.errors import ImageUnfitError

BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def split_bundle(text: str) -> dict[bytes, str]:
    """The certificates of a PEM bundle: DER to PEM, in order; text around them is dropped."""
    found: dict[bytes, str] = {}
    for block in BLOCK.findall(text):
        try:
            found[ssl.PEM_cert_to_DER_cert(block)] = block + "\n"
        except ValueError:
            continue
    return found


def extra_certificates(environment: Mapping[str, str]) -> dict[str, bytes]:
    """Certificates to add to an image: file name to PEM text; empty where nothing is special.

    A bundle in the environment is mostly the distribution's own list. What `certifi` holds too is
    left out, so that an image's key depends on what is special here and on nothing else; but nothing
    is left out for a list that somebody has added to, as is done behind company gateways.

    Raises:
        ImageUnfitError: FACTORY_CA_BUNDLE names no readable bundle.
    """
    asked = environment.get("FACTORY_CA_BUNDLE")
    source = asked or environment.get("SSL_CERT_FILE")
    if not source:
        return {}
    try:
        bundle = split_bundle(Path(source).read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        if not asked:
            return {}
        raise ImageUnfitError(f"FACTORY_CA_BUNDLE names {source}, which cannot be read: {error}") from error
    if asked and not bundle:
        raise ImageUnfitError(f"FACTORY_CA_BUNDLE names {source}, which holds no PEM certificate.")
    public = _public_certificates()
    extra = [pem for der, pem in bundle.items() if der not in public]
    return {f"extra-{n:03d}.crt": pem.encode() for n, pem in enumerate(extra)}


def _public_certificates() -> dict[bytes, str]:
    """The list that `certifi` was shipped with; empty where its file is another one now."""
    data = Path(certifi.where()).read_bytes()
    digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
    shipped = (file.hash.value for file in files("certifi") or () if file.name == "cacert.pem" and file.hash)
    return split_bundle(data.decode()) if digest in shipped else {}
