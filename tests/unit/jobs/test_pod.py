from dataclasses import asdict, replace
from pathlib import Path

import pytest

from instrument.schema.vocabulary import Purpose, Role
from jobs.errors import EngineRefusedError
from jobs.order import Identity, Limits, ProxyOrder
from jobs.pod import (
    DOCKER_CAPABILITIES,
    Mount,
    docker_volume,
    job_spec,
    ledger_volume,
    object_labels,
    pod_name,
    pod_volumes,
    require_runtime,
    select_labels,
    sidecar_name,
    sidecar_spec,
    socket_volume,
    work_volume,
)
from support.orders import make_order

PROXY = ProxyOrder("https://api.example.org", secret="sk-secret-value", budget_microusd=1)
IDENTITY = Identity("0a1b2c3d", "demo-001-check-3-99aabbcc", "demo-001", Purpose.TASK)


def test_the_name_holds_run_and_key() -> None:
    assert pod_name(IDENTITY) == "factory-0a1b2c3d-demo-001-check-3-99aabbcc"
    assert sidecar_name(IDENTITY) == "factory-0a1b2c3d-demo-001-check-3-99aabbcc-proxy"


def test_long_and_foreign_keys_get_short_distinct_names() -> None:
    long = [replace(IDENTITY, key="k" * 400 + end) for end in "ab"]
    names = {pod_name(identity) for identity in long}
    assert len(names) == 2
    assert all(len(ledger_volume(identity)) <= 255 for identity in long)
    assert pod_name(replace(IDENTITY, key="ü/x")) != pod_name(replace(IDENTITY, key="ä/x"))
    assert pod_name(replace(IDENTITY, key="ü/x")).isascii()


def test_objects_of_a_pod_are_found_by_run_and_key_alone() -> None:
    labels = object_labels(IDENTITY, Role.CHECK, "job")
    assert select_labels("0a1b2c3d", IDENTITY.key).items() <= labels.items()
    assert labels["factory.task"] == "demo-001"
    assert labels["factory.purpose"] == "task"
    assert labels["factory.role"] == "check"


def test_home_and_host_are_labels_only_where_they_are_set() -> None:
    assert not {"factory.home", "factory.host"} & set(object_labels(IDENTITY, Role.CHECK, "job"))
    labels = object_labels(replace(IDENTITY, home="aa", host="big"), Role.CHECK, "job")
    assert (labels["factory.home"], labels["factory.host"]) == ("aa", "big")


def test_the_jobs_container_is_fenced(tmp_path: Path) -> None:
    spec = job_spec(make_order(tmp_path, proxy=PROXY))
    assert spec.network == "none"
    assert set(spec.capabilities) == {"SETUID", "SETGID", "KILL", "DAC_READ_SEARCH"}
    assert [(m.target, m.read_only) for m in spec.mounts] == [("/run/factory", True)]
    assert not spec.stdin


def test_a_job_without_a_proxy_has_no_volume_and_no_way_out(tmp_path: Path) -> None:
    order = make_order(tmp_path, role=Role.CHECK)
    assert pod_volumes(order) == {}
    assert job_spec(order).mounts == ()
    assert job_spec(order).network == "none"


def test_the_setup_has_the_default_network_and_keeps_its_orders_out_of_the_commit(tmp_path: Path) -> None:
    order = make_order(tmp_path, role=Role.SETUP)
    spec = job_spec(order)
    assert spec.network is None
    assert [(m.volume, m.target) for m in spec.mounts] == [(work_volume(order.identity), "/job")]


def test_the_sidecar_has_nothing_but_its_two_volumes(tmp_path: Path) -> None:
    order = make_order(tmp_path, proxy=PROXY)
    spec = sidecar_spec(order, "sha256:1")
    assert spec.read_only
    assert spec.capabilities == ()
    assert [(m.volume, m.target, m.read_only) for m in spec.mounts] == [
        (socket_volume(order.identity), "/run/factory", False),
        (ledger_volume(order.identity), "/ledger", False),
    ]
    assert {m.volume for m in spec.mounts} == set(pod_volumes(order))


def test_no_spec_holds_the_key(tmp_path: Path) -> None:
    order = make_order(tmp_path, proxy=PROXY, env={"TOKEN": "env-secret-value"})
    text = repr((asdict(job_spec(order)), asdict(sidecar_spec(order, "sha256:1"))))
    assert "sk-secret-value" not in text
    assert "env-secret-value" not in text


def test_the_container_runtime_holds_every_job_but_the_set_up_and_never_the_sidecar(tmp_path: Path) -> None:
    limits = Limits(container_runtime="runsc")
    order = make_order(tmp_path, limits=limits, proxy=PROXY)
    assert job_spec(order).runtime == "runsc"
    assert sidecar_spec(order, "sha256:1").runtime is None
    assert job_spec(make_order(tmp_path, limits=limits, role=Role.SETUP)).runtime is None
    assert job_spec(make_order(tmp_path)).runtime is None


@pytest.mark.parametrize("role", list(Role))
def test_a_job_with_a_daemon_of_its_own_may_do_what_that_has_to(tmp_path: Path, role: Role) -> None:
    """The set-up too, which pulls what others load: it is the one with a network."""
    limits = Limits(container_runtime="sysbox-runc", has_docker=True)
    order = make_order(tmp_path, limits=limits, role=role)
    plain, spec = job_spec(make_order(tmp_path, role=role)), job_spec(order)
    assert spec.runtime == "sysbox-runc"
    assert set(spec.capabilities) - set(plain.capabilities) == set(DOCKER_CAPABILITIES)
    assert [m for m in spec.mounts if m not in plain.mounts] == [
        Mount(docker_volume(order.identity), "/var/lib/docker")
    ]
    assert spec.network == plain.network
    assert {m.volume for m in spec.mounts} == set(pod_volumes(order))


def test_a_runtime_that_the_engine_does_not_know_is_refused_with_those_that_it_does() -> None:
    require_runtime(None, ())
    require_runtime("runsc", ("runc", "runsc"))
    with pytest.raises(EngineRefusedError, match=r"sysbox-runc .*; it knows runc, runsc:"):
        require_runtime("sysbox-runc", ("runsc", "runc"))
