from dataclasses import replace
from pathlib import Path

import pytest

from jobs.collect import LEDGER_CAP_BYTES, most_out_bytes
from jobs.order import Limits
from loop.doctor.host import look_at_disk, look_at_git
from support.repos import TOML

HUGE = TOML + '[limits]\ndisk = "999999g"\n'


def put_git(monkeypatch: pytest.MonkeyPatch, folder: Path, says: str | None) -> None:
    """A git of another version, or none, is first on PATH."""
    folder.mkdir()
    if says is not None:
        (folder / "git").write_text(f"#!/bin/sh\necho git version {says}\n")
        (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_an_old_git_is_found(office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put_git(monkeypatch, tmp_path / "bin", "2.20.1")
    assert office.look(look_at_git) == ("failed", "git 2.20.1 is too old", "install git 2.38 or newer")


def test_no_git_is_found(office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put_git(monkeypatch, tmp_path / "bin", None)
    assert office.look(look_at_git) == ("failed", "git is not installed", "install git 2.38 or newer")


def test_a_git_that_is_new_enough_is_named(office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put_git(monkeypatch, tmp_path / "bin", "2.47.0.windows.1")
    assert office.look(look_at_git) == ("ok", "2.47.0.windows.1 (2.38 or newer is needed)", "")


def test_a_disk_too_small_for_one_job_is_found(office):
    office.desk.commit({"factory.toml": HUGE})
    office.info = replace(office.info, root=str(office.desk.folder))
    state, found, mend = office.look(look_at_disk)
    assert state == "failed"
    assert f"free for the engine in {office.desk.folder}" in found
    assert mend == "one job may need 999999.0 GiB there: make room, or lower [limits]"


def test_a_disk_too_small_for_all_jobs_at_once_is_a_note(office):
    state, _, mend = office.look(look_at_disk, {"FACTORY_JOBS": "2"})
    assert state == "ok"
    office.desk.commit({"factory.toml": TOML + "[limits]\npatch_mb = 1024\n"})
    need_bytes = most_out_bytes(Limits(patch_bytes=1024**3)) + LEDGER_CAP_BYTES
    state, _, mend = office.look(look_at_disk, {"FACTORY_JOBS": "256"})
    assert (state, mend) == (
        "note",
        f"256 jobs at once (FACTORY_JOBS) may need {256 * need_bytes / 1024**3:.1f} GiB there",
    )


def test_an_engine_elsewhere_is_not_measured_here(office, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    office.desk.commit({"factory.toml": HUGE})
    office.info = replace(office.info, root=str(office.desk.folder))
    state, found, _ = office.look(look_at_disk)
    assert state == "ok"
    assert "the engine's disk is not this machine's" in found


def test_a_number_of_jobs_that_is_none_is_its_own_sentence(office):
    with pytest.raises(Exception, match="FACTORY_JOBS"):
        office.look(look_at_disk, {"FACTORY_JOBS": "many"})
