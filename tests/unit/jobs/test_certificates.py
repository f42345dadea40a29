from pathlib import Path

import certifi
import pytest

from jobs.certificates import extra_certificates, split_bundle
from jobs.errors import ImageUnfitError

# A self-made block: only its encoding is looked at.
OWN = "-----BEGIN CERTIFICATE-----\nTm90IGEgcmVhbCBjZXJ0aWZpY2F0ZQ==\n-----END CERTIFICATE-----"


def test_nothing_asked_is_nothing_added() -> None:
    assert extra_certificates({}) == {}


def test_public_certificates_are_left_out_of_an_image(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text(
        Path(certifi.where()).read_text(encoding="utf-8") + f"\n# ours\n{OWN}\n", encoding="utf-8"
    )
    found = extra_certificates({"SSL_CERT_FILE": str(bundle)})
    assert [data.decode().strip() for data in found.values()] == [OWN]


def test_a_list_of_public_ones_that_somebody_has_added_to_leaves_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a company gateway the very certificate that a build needs is often put there."""
    changed = tmp_path / "cacert.pem"
    changed.write_text(Path(certifi.where()).read_text(encoding="utf-8") + f"\n{OWN}\n", encoding="utf-8")
    monkeypatch.setattr(certifi, "where", lambda: str(changed))
    bundle = tmp_path / "ca.pem"
    bundle.write_text(OWN, encoding="utf-8")
    found = extra_certificates({"FACTORY_CA_BUNDLE": str(bundle)})
    assert [data.decode().strip() for data in found.values()] == [OWN]


def test_the_bundle_named_for_the_factory_wins(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text(OWN, encoding="utf-8")
    found = extra_certificates({"FACTORY_CA_BUNDLE": str(bundle), "SSL_CERT_FILE": certifi.where()})
    assert len(found) == 1


def test_a_bundle_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ImageUnfitError, match=r"FACTORY_CA_BUNDLE names .*cannot be read"):
        extra_certificates({"FACTORY_CA_BUNDLE": str(tmp_path / "absent")})
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(ImageUnfitError, match="holds no PEM certificate"):
        extra_certificates({"FACTORY_CA_BUNDLE": str(empty)})
    assert extra_certificates({"SSL_CERT_FILE": str(tmp_path / "absent")}) == {}


def test_a_broken_block_is_no_certificate() -> None:
    assert split_bundle(OWN.replace("Tm90", "Tm9")) == {}
