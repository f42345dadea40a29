from dataclasses import replace
from pathlib import Path

import pytest

from loop.doctor.engine import look_at_engine, look_at_runtimes
from loop.doctor.surroundings import Surroundings
from support.ends import START
from support.repos import TOML

RUNSC = TOML.replace("[job]\n", '[job]\ncontainer_runtime = "runsc"\n')


def test_no_engine_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    finding = look_at_engine(Surroundings(tmp_path, {}, tmp_path, START))
    assert finding.state == "failed"
    assert "nobody.sock" in finding.found or "Docker Engine" in finding.found
    assert finding.mend.startswith("start Docker, or name its engine with DOCKER_HOST")


def test_an_engine_is_described(office):
    assert office.look(look_at_engine) == ("ok", "20.10.24, storage overlay2, cgroup 2, 2 processors", "")


def test_a_storage_driver_that_copies_images_is_a_note(office):
    office.info = replace(office.info, storage="vfs")
    state, found, mend = office.look(look_at_engine)
    assert (state, "storage vfs" in found, mend.endswith("use overlay2")) == ("note", True, True)


def test_the_container_runtimes_are_told(office):
    assert office.look(look_at_runtimes) == (
        "ok",
        "runc, runsc; no sysbox-runc; jobs take the engine's default",
        "",
    )
    office.desk.commit({"factory.toml": RUNSC})
    assert office.look(look_at_runtimes)[1] == "runc, runsc; no sysbox-runc; jobs take runsc"


def test_a_configured_container_runtime_that_is_not_there_is_found(office):
    office.desk.commit({"factory.toml": RUNSC})
    office.info = replace(office.info, runtimes=("io.containerd.runc.v2", "runc"))
    assert office.look(look_at_runtimes) == (
        "failed",
        "[job] container_runtime is runsc, the engine has runc",
        "register it with the engine, or change [job] container_runtime",
    )
