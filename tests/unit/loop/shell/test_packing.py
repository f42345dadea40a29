"""What of a small and of a large repository travels with each job."""

import json
import os

import pytest

from loop.shell import packing
from loop.shell.context import Context
from loop.shell.packing import hold_if_large, pack_for
from support.repos import TOML, Desk

BIG = os.urandom(256 * 1024)


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as large: random bytes of the real size would cost seconds a test."""
    monkeypatch.setattr(packing, "LARGE_BYTES", len(BIG))


def test_a_small_repository_travels_whole_with_every_job(context: Context, base: str):
    hold_if_large(context, base)
    assert context.jobs.objects.held() == ()
    packed = pack_for(context, base)
    assert (packed.kept, packed.path.name) == (None, f"{base}.pack")


def test_a_large_repository_is_kept_and_jobs_get_the_rest(context: Context, desk: Desk):
    large = desk.commit({"big": BIG})
    context.store.fetch_tips("main", "origin")
    hold_if_large(context, large)
    assert context.jobs.objects.held() == (large,)

    later = desk.commit({"src/a.py": b"later\n"})
    context.store.fetch_tips("main", "origin")
    hold_if_large(context, later)
    assert context.jobs.objects.held() == (large,)
    packed = pack_for(context, later)
    assert packed.kept == large
    assert packed.path.stat().st_size < 1000


def test_what_the_engine_keeps_of_another_repository_is_no_help(context: Context, desk: Desk, base: str):
    other = desk.folder / "of-another"
    foreign = "1" * 40
    packed = pack_for(context, base)
    other.write_bytes(packed.path.read_bytes())
    context.jobs.objects.hold(foreign, other, instead_of=None)
    assert pack_for(context, base).kept is None


def test_a_whole_task_on_a_large_repository_sends_it_once(desk: Desk):
    desk.commit({"big": BIG})
    desk.run(auto_merge=True)
    assert desk.state.merged is not None
    orders = [json.loads(path.read_text()) for path in desk.task_folder.glob("jobs/*/in/order.json")]
    assert len(orders) == 5
    assert {order["alternates"] for order in orders} == {"/objects"}


def test_who_has_a_daemon_of_its_own_sees_nothing_that_is_kept_for_others(desk: Desk):
    toml = TOML.replace("[job]", '[job]\ndocker = true\ncontainer_runtime = "sysbox-runc"')
    desk.commit({"big": BIG, "factory.toml": toml})
    desk.run(auto_merge=True)
    assert desk.state.merged is not None
    orders = [json.loads(path.read_text()) for path in desk.task_folder.glob("jobs/*/in/order.json")]
    assert [(order["alternates"], order["docker"]) for order in orders] == [(None, True)] * 5
