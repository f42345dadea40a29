"""What every `jobs.ports.Jobs` does, on the fake of the other tests and on the real engine.

The real one runs shell lines, the fake plays their effects; what is asked and answered is the same.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Ended, Purpose, Role, RuntimeName
from jobs.errors import EngineUnavailableError
from jobs.images import ImageShelf
from jobs.order import AgentWork, Command, Identity, JobOrder, SetupOrder
from jobs.ports import Jobs
from jobs.runner import DockerJobs
from support.fake_jobs import WORKED_ON, FakeJobs, Script, Turn
from support.gitkit import Repo, make_repo
from support.orders import make_order
from support.pods import write_pack
from support.repos import mode_of

SECRET = "a-value-that-is-masked"
CHECKS = (Command("unit", f"! grep BUG {WORKED_ON}"), Command("lint", "true"))
LINE = "echo new > c.txt; rm b.txt"
TURN = Turn({"c.txt": b"new\n", "b.txt": None})


@dataclass
class Bench:
    """One implementation with a repository and orders on it."""

    jobs: Jobs
    folder: Path
    image: str
    without_engine: Callable[[], Jobs]
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))

    def __post_init__(self) -> None:
        self.repo = make_repo(self.folder / "repo")
        self.commit = self.repo.commit({WORKED_ON: b"BUG\n", "b.txt": b"two\n"})
        self.pack = write_pack(self.repo, self.commit, self.folder / "tree.pack")

    def order(self, name: str, **changes: Any) -> JobOrder:
        values: dict[str, Any] = {
            "identity": Identity(self.run_id, f"demo-001-{name}", "demo-001", Purpose.DEMO),
            "image": self.image,
            "commit": self.commit,
            "pack": self.pack,
            "folder": self.folder / "jobs" / f"0001-{name}",
            "env": {"A_SECRET": SECRET},
        }
        return make_order(self.folder, **(values | changes))

    def check(self, name: str) -> JobOrder:
        return self.order(name, role=Role.CHECK, commands=CHECKS)

    def coder(self, name: str) -> JobOrder:
        work = AgentWork(RuntimeName.COMMAND, None, b"Write c.txt.\n", line=LINE)
        return self.order(name, role=Role.CODER, agent=work)


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "fake":
        script = Script(coder=[TURN], failing={"unit": b"BUG"}, output="BUG\n")
        gone = FakeJobs(tmp_path / "gone")
        gone.is_gone = True
        yield Bench(FakeJobs(tmp_path / "engine", script), tmp_path, "sha256:1", lambda: gone)
        return
    engine = request.getfixturevalue("engine")
    jobs = DockerJobs()
    made = Bench(jobs, tmp_path, ImageShelf(engine).job(), lambda: DockerJobs(connect=no_engine))
    request.getfixturevalue("runs").add(made.run_id)
    yield made
    jobs.reap(made.run_id, keep=None)
    jobs.close()


def no_engine() -> Any:
    raise EngineUnavailableError("no engine answers")


def is_lost(end: JobEnd) -> bool:
    return end.container.lost and end.report is None and end.duration_ms == 0 and not end.is_lower_bound


def test_every_command_is_run_in_order_whatever_the_earlier_ones_gave(bench: Bench):
    order = bench.check("check-1")
    end = bench.jobs.run(order, resumed=False)
    assert (end.key, end.folder) == (order.identity.key, "jobs/0001-check-1")
    assert end.report is not None
    assert (end.report.role, end.report.ended, end.report.tree) == (Role.CHECK, Ended.EXITED, None)
    assert [(c.name, c.exit_code, c.run) for c in end.report.commands] == [
        ("unit", 1, CHECKS[0].run),
        ("lint", 0, "true"),
    ]
    assert (order.folder / end.report.commands[0].output).read_text() == "BUG\n"
    assert (end.agent, end.result, end.ledger.calls) == (None, None, ())


def test_a_coders_diff_comes_with_its_proof_and_the_prompt_is_kept(bench: Bench):
    order = bench.coder("coder-1")
    end = bench.jobs.run(order, resumed=False)
    assert end.report is not None
    assert end.report.tree is not None
    tree = end.report.tree
    diff = (order.folder / "out/diff.patch").read_bytes()
    assert (len(diff), hashlib.sha256(diff).hexdigest()) == (tree.diff_bytes, tree.diff_sha256)
    assert (tree.base_commit, tree.changed_paths) == (bench.commit, 2)
    assert tree.base_tree == bench.repo.ask("rev-parse", "HEAD^{tree}")
    assert applied(bench.repo, diff) == tree.tree
    assert end.agent is not None
    assert end.agent.finished
    assert (order.folder / "in/prompt.md").read_bytes() == b"Write c.txt.\n"
    kept = [path for path in order.folder.rglob("*") if path.is_file()]
    assert {mode_of(path) for path in kept} == {0o600}
    assert not any(SECRET.encode() in path.read_bytes() for path in kept)


def applied(repo: Repo, diff: bytes) -> str:
    """The tree that the diff gives on the base."""
    repo.git("read-tree", "HEAD")
    repo.git("apply", "--cached", "--whitespace=nowarn", "-", stdin=diff)
    return repo.ask("write-tree")


def test_what_was_done_is_found_until_it_is_released(bench: Bench):
    order = bench.coder("coder-2")
    first = bench.jobs.run(order, resumed=False)
    assert bench.jobs.run(order, resumed=True) == first
    assert bench.jobs.run(order, resumed=False) == first
    for _ in range(2):
        bench.jobs.release(bench.run_id, order.identity.key)
    assert is_lost(bench.jobs.run(order, resumed=True))


def test_what_never_began_is_lost_and_is_not_begun(bench: Bench):
    order = bench.check("check-2")
    assert is_lost(bench.jobs.run(order, resumed=True))
    assert is_lost(bench.jobs.cancel(order))
    assert bench.jobs.reap(bench.run_id, keep=None) == 0
    bench.jobs.release(bench.run_id, order.identity.key)


def test_a_job_that_has_ended_is_collected_by_a_cancel_too(bench: Bench):
    order = bench.check("check-3")
    first = bench.jobs.run(order, resumed=False)
    assert bench.jobs.cancel(order).report == first.report


def test_the_reaper_takes_what_is_of_this_run_and_not_kept(bench: Bench):
    kept, left = bench.check("check-4"), bench.check("check-5")
    ends = [bench.jobs.run(order, resumed=False) for order in (kept, left)]
    assert bench.jobs.reap("ffffffff", keep=None) == 0
    assert bench.jobs.reap(bench.run_id, keep=kept.identity.key) == 1
    assert is_lost(bench.jobs.run(left, resumed=True))
    assert bench.jobs.run(kept, resumed=True) == ends[0]
    assert bench.jobs.reap(bench.run_id, keep=None) == 1


def test_one_content_is_one_image(bench: Bench):
    order = bench.check("setup-1")
    setup = SetupOrder(
        identity=order.identity,
        base_image=None,
        dockerfile=None,
        cached=(),
        inputs_digest="0" * 64,
        commit=bench.commit,
        pack=bench.pack,
        folder=order.folder,
        limits=order.limits,
    )
    image = bench.jobs.set_up(setup)
    assert image.startswith("sha256:")
    assert bench.jobs.set_up(setup) == image


def test_an_engine_that_is_gone_is_named_by_every_call(bench: Bench):
    jobs, order = bench.without_engine(), bench.check("check-6")
    for call in (
        lambda: jobs.run(order, resumed=False),
        lambda: jobs.run(order, resumed=True),
        lambda: jobs.cancel(order),
        lambda: jobs.release(bench.run_id, order.identity.key),
        lambda: jobs.reap(bench.run_id, keep=None),
    ):
        with pytest.raises(EngineUnavailableError):
            call()
