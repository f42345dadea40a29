"""What every `jobs.ports.Objects` does, on the fake of the other tests and on the real engine."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from instrument.schema.job import JobEnd
from instrument.schema.vocabulary import Purpose, Role, RuntimeName
from jobs.images import ImageShelf
from jobs.order import AgentWork, Command, Identity, JobOrder
from jobs.ports import Jobs
from jobs.runner import DockerJobs
from support.fake_jobs import WORKED_ON, FakeJobs, Script, Turn
from support.gitkit import Repo, make_repo
from support.orders import make_order

CHANGE = {"c.txt": b"new\n"}
LOOK = "git log --oneline | wc -l; ! touch /objects/pack/mine; cat src/a.py; git status --porcelain"


@dataclass
class Bench:
    """One implementation with two commits, the first of which it holds."""

    jobs: Jobs
    folder: Path
    image: str
    repo: Repo
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))

    def __post_init__(self) -> None:
        self.old = self.repo.commit({WORKED_ON: b"old\n", "b.txt": secrets.token_bytes(20)})
        self.new = self.repo.commit({WORKED_ON: b"new\n"})

    def pack(self, *commits: str) -> Path:
        """A pack of the commits without those that begin with `^`, and its index."""
        base = self.folder / "-".join(commits).replace("^", "no")
        lines = "".join(f"{commit}\n" for commit in commits).encode()
        name = self.repo.git("pack-objects", "--revs", "-q", str(base), stdin=lines).decode().strip()
        for suffix in (".pack", ".idx"):
            Path(f"{base}-{name}{suffix}").rename(f"{base}{suffix}")
        return base.with_suffix(".pack")

    def hold(self, commit: str, instead_of: str | None = None) -> None:
        self.jobs.objects.hold(commit, self.pack(commit), instead_of=instead_of)

    def run(self, name: str, commit: str, kept: str, *, is_coder: bool = False) -> tuple[JobOrder, JobEnd]:
        """A job whose pack lacks what is kept."""
        work = AgentWork(RuntimeName.COMMAND, None, b"Write c.txt.\n", line="echo new > c.txt")
        order = make_order(
            self.folder,
            identity=Identity(self.run_id, f"demo-001-{name}", "demo-001", Purpose.DEMO),
            role=Role.CODER if is_coder else Role.CHECK,
            agent=work if is_coder else None,
            commands=() if is_coder else (Command("look", LOOK),),
            image=self.image,
            commit=commit,
            pack=self.pack(commit, f"^{kept}"),
            kept=kept,
            folder=self.folder / "jobs" / f"0001-{name}-1",
        )
        end = self.jobs.run(order, resumed=False)
        self.jobs.release(self.run_id, order.identity.key)
        return order, end


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    repo = make_repo(tmp_path / "repo")
    if request.param == "fake":
        yield Bench(FakeJobs(tmp_path / "engine", Script(coder=[Turn(CHANGE)])), tmp_path, "sha256:1", repo)
        return
    engine = request.getfixturevalue("engine")
    jobs = DockerJobs(connect=lambda: engine)
    made = Bench(jobs, tmp_path, ImageShelf(engine).job(), repo)
    request.getfixturevalue("runs").add(made.run_id)
    yield made
    jobs.reap(made.run_id, keep=None)
    for commit in (made.old, made.new):
        for suffix in ("-held", ""):
            engine.volumes.remove(f"factory-objects-{commit}{suffix}")


def test_what_is_held_need_not_be_in_a_jobs_pack(bench: Bench):
    assert bench.old not in bench.jobs.objects.held()
    bench.hold(bench.old)
    bench.hold(bench.old)
    assert bench.jobs.objects.held().count(bench.old) == 1
    order, end = bench.run("coder-1", bench.new, bench.old, is_coder=True)
    assert end.report is not None
    assert end.report.error is None
    assert end.report.tree is not None
    assert end.report.tree.base_tree == bench.repo.ask("rev-parse", f"{bench.new}^{{tree}}")
    assert end.report.tree.changed_paths == 1
    assert b"+new" in (order.folder / "out" / "diff.patch").read_bytes()


def test_a_job_on_exactly_what_is_held_needs_nothing_more(bench: Bench):
    bench.hold(bench.new)
    _, end = bench.run("check-1", bench.old, bench.new)
    assert end.report is not None
    assert (end.report.error, [c.exit_code for c in end.report.commands]) == (None, [0])


def test_a_newer_commit_takes_the_place_of_an_older_one(bench: Bench):
    bench.hold(bench.old)
    bench.hold(bench.new, instead_of=bench.old)
    held = bench.jobs.objects.held()
    assert bench.new in held
    assert bench.old not in held


@pytest.mark.docker
@pytest.mark.parametrize("bench", ["docker"], indirect=True)
def test_a_job_can_read_the_objects_and_not_write_them(bench: Bench):
    bench.hold(bench.old)
    order, end = bench.run("check-1", bench.new, bench.old)
    assert end.report is not None
    text = (order.folder / end.report.commands[0].output).read_text()
    assert "Read-only file system" in text
    assert [line for line in text.splitlines() if "touch" not in line] == ["2", "new"]
