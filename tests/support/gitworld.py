"""One person's repository with its origin, our store and jobs' trees, for tests of loop/git.

Limits: below a temporary folder only.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from loop.git.candidate import Candidate, build_candidate
from loop.git.checkout import Checkout, default_branch, find_checkout
from loop.git.landing import Landing, make_landing
from loop.git.merge import MergeEnd, merge
from loop.git.store import Store, open_store
from support.gitkit import AUTHOR, TASK, TASK_TEXT, WHEN, Captured, Repo, capture, make_repo

BASE_FILES = {
    TASK: TASK_TEXT,
    "src/a.py": b"one\ntwo\nthree\nfour\nfive\n",
    "src/tool.sh": b"#!/bin/sh\n",
    "README": b"read me\n",
}


@dataclass(frozen=True)
class World:
    """A person's checkout with its bare origin, our store, and a folder for jobs."""

    folder: Path
    person: Repo
    origin: Repo
    home: Path
    store: Store
    base: str

    @property
    def checkout(self) -> Checkout:
        return self.store.checkout

    @property
    def store_repo(self) -> Repo:
        return Repo(self.store.path)

    def job(self, name: str = "job") -> Repo:
        """A job's tree at the base: a clone without history of its own making."""
        job = make_repo(self.folder / name)
        job.git("fetch", "--quiet", str(self.store.path), "refs/base/local")
        job.git("checkout", "--quiet", "--detach", self.base)
        return job

    def candidate(self, made: Captured, start: str | None = None, ref: str = "refs/factory/t/1") -> Candidate:
        return build_candidate(
            self.store,
            base=self.base,
            start=start or self.base,
            diff=made.diff,
            sha256=made.sha256,
            tree=made.tree,
            message="Retry\n\nTask: t\n",
            author=AUTHOR,
            when_utc=WHEN,
            ref=ref,
            length_bytes=len(made.diff),
        )

    def changed(self, files: dict[str, bytes | None]) -> Candidate:
        """A candidate whose job wrote these files."""
        job = self.job()
        job.write(files)
        return self.candidate(capture(job, self.base))

    def landing(self, candidate: Candidate, onto: str | None = None) -> Landing:
        return make_landing(
            self.store,
            onto=onto or self.base,
            candidate=candidate.commit,
            task_path=TASK,
            message="Retry\n\nbody\n\nTask: t\n",
            author=AUTHOR,
            when_utc=WHEN,
            ref="refs/factory/t/landing",
        )


def make_world(folder: Path) -> None:
    """Everything at one base commit, the local tip fetched."""
    origin = make_repo(folder / "origin.git", "--bare")
    person = make_repo(folder / "person")
    person.commit(BASE_FILES, "base")
    person.git("remote", "add", "origin", "../origin.git")
    person.git("push", "--quiet", "origin", "main")
    assert origin.head("main") == person.head()
    store_of(folder / "home", "person", person.root).fetch_tips("main", None)


def make_change(world: World) -> Landing:
    """A landing that changes a file and adds one."""
    return world.landing(world.changed({"src/b.py": b"b\n", "README": b"changed\n"}))


def land(
    world: World, landing: Landing, *, remote: str | None = "origin", onto: str = "", at: Path | None = None
) -> MergeEnd:
    """Merge it, as a run does."""
    checkout = find_checkout(at or world.person.root)
    onto = onto or world.base
    return merge(world.store, checkout, landing=landing.commit, onto=onto, branch="main", remote=remote)


def store_of(home: Path, name: str, start: Path, branch: str | None = None) -> Store:
    """The store of the repository that holds `start`, as a run opens it."""
    checkout = find_checkout(start)
    return open_store(home, name, checkout, default_branch(checkout, branch))


def ref_of(store: Store, name: str) -> str | None:
    """The commit that a full ref name points to."""
    end = store.git(["show-ref", "--verify", "--hash", name], check=False)
    return end.out.decode().strip() if end.code == 0 else None


def copy_world(template: Path, folder: Path) -> World:
    """A world of its own in `folder`: a copy costs a tenth of making one."""
    for name in ("origin.git", "person", "home"):
        shutil.copytree(template / name, folder / name)
    path = folder / "home/repos/person.git"
    note = path / "factory-origin.json"
    note.write_text(note.read_text().replace(str(template), str(folder)))
    person = Repo(folder / "person")
    git_dir = person.root / ".git"
    store = Store(path, Checkout(person.root, git_dir, git_dir, is_bare=False))
    base = (git_dir / "refs/heads/main").read_text().strip()
    return World(folder, person, Repo(folder / "origin.git"), folder / "home", store, base)
