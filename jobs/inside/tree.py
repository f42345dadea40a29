"""Lays the commit's tree, with a repository for the agent and another one for the capture.

Files are laid as a checkout lays them under the commit's own `.gitattributes`; filters do not run.

Limits: runs before anything foreign does; everything in the tree is made by the agent's user.
"""

from __future__ import annotations

import os
import shutil
from typing import Iterable

from .attributes import UNFILTERED, flatten
from .leftovers import Leftovers
from .order import Order
from .places import Places
from .process import do_as
from .sealed import AGENT_CONFIG, CONFIG, Git, make_directory, write_attributes
from .settings import hide

BRANCH = "work"


def lay(order: Order, places: Places, left: Leftovers, until: float) -> None:
    """Make `/job/git` and the tree; afterwards the capture's index knows every file's state.

    Raises:
        GitError: The pack is damaged or does not hold the commit.
        ChildError: The tree cannot be written.
        OSError: A folder of ours cannot be written.
    """
    git = Git(places.git, places.repo, until)
    _take_pack(git, order)
    _make_agent_repository(order, places, left)
    lay_tree(order, places, left, until)


def lay_tree(order: Order, places: Places, left: Leftovers, until: float) -> None:
    """Make the tree out of what both repositories hold; the agent's begins with `PLAIN` attributes.

    Raises:
        GitError: They do not hold the commit.
        ChildError: The tree cannot be written.
    """
    git = Git(places.git, places.repo, until)
    agent_git = Git(places.agent_git, places.repo, until, places.user)
    agent_git.run("read-tree", order.commit)
    rules = flatten(_read_attributes(git, agent_git))
    write_attributes(git.git_dir, rules)
    if any(name != ".git" for name in os.listdir(places.repo)):
        _remove_stale(agent_git, places, left, _unlike_blobs(git, agent_git))
        # Finds the files that are as they should be: rewriting them all would copy them out of the image.
        # Still byte by byte: under other attributes an older commit's file could pass for a new one.
        agent_git.run("update-index", "-q", "--refresh", ok=(0, 1))
    do_as(places.user, lambda: write_attributes(places.agent_git, rules))
    agent_git.run("checkout-index", "--all", "--force", "--index", "--quiet")
    if order.agent and order.agent.hidden:
        hide(agent_git, places, order.agent.hidden)
    _take_index(places)
    do_as(places.user, lambda: write_attributes(places.agent_git, UNFILTERED))
    write_excludes(places, left)


def write_excludes(places: Places, left: Leftovers) -> None:
    """Let the capture's git pass by what set-up left."""
    with open(os.path.join(places.git, "info", "exclude"), "wb") as file:
        file.write(left.as_patterns())


def _take_pack(git: Git, order: Order) -> None:
    shutil.rmtree(git.git_dir, ignore_errors=True)
    make_directory(git.git_dir, CONFIG, order.commit + "\n")
    _name_alternates(git.git_dir, order)
    with open(order.pack, "rb") as pack:
        git.run("index-pack", "--stdin", stdin=pack.fileno())
    git.run("cat-file", "-e", order.commit + "^{tree}")


def _name_alternates(git_dir: str, order: Order) -> None:
    """Let git find what the engine keeps for many jobs; it is mounted read-only."""
    if order.alternates is not None:
        with open(os.path.join(git_dir, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
            file.write(order.alternates + "\n")


def _read_attributes(git: Git, agent_git: Git) -> dict[bytes, bytes]:
    """Every `.gitattributes` of the commit; one that is a link is none, in a work tree as here."""
    stages = agent_git.records("ls-files", "-z", "--stage", "--", ":(glob)**/.gitattributes")
    heads = [stage.partition(b"\t") for stage in stages]
    blobs = {path: head.split(b" ")[1].decode("ascii") for head, _, path in heads if head.startswith(b"100")}
    return {path: git.run("cat-file", "blob", blob) for path, blob in blobs.items()}


def _unlike_blobs(git: Git, agent_git: Git) -> frozenset[bytes]:
    """Files that a checkout does not write as their blobs are."""
    if not git.converts:
        return frozenset()
    asked = ("eol", "ident", "working-tree-encoding")
    paths = list(agent_git.records("ls-files", "-z"))
    fields = git.feed("check-attr", "-z", "--stdin", *asked, records=paths).split(b"\0")[:-1]
    as_they_are = (b"unspecified", b"unset", b"lf")
    return frozenset(path for path, value in zip(fields[0::3], fields[2::3]) if value not in as_they_are)  # noqa: B905 - no `strict` on Python 3.9


def _make_agent_repository(order: Order, places: Places, left: Leftovers) -> None:
    """A real repository on a branch: many tools give up on a detached HEAD.

    The pack goes over through descriptors opened by root: the agent's user cannot reach it.
    """
    packs = os.path.join(places.git, "objects", "pack")
    sources = {name: open(os.path.join(packs, name), "rb") for name in os.listdir(packs)}  # noqa: SIM115 - closed below

    def make() -> None:
        target = places.agent_git
        _remove(target)
        for name in os.listdir(places.hand):
            _remove(os.path.join(places.hand, name))
        make_directory(target, AGENT_CONFIG, f"ref: refs/heads/{BRANCH}\n")
        _name_alternates(target, order)
        with open(os.path.join(target, "refs", "heads", BRANCH), "w", encoding="ascii") as ref:
            ref.write(order.commit + "\n")
        with open(os.path.join(target, "info", "exclude"), "wb") as file:
            file.write(left.as_patterns())
        for name, source in sources.items():
            with open(os.path.join(target, "objects", "pack", name), "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)

    try:
        do_as(places.user, make)
    finally:
        for source in sources.values():
            source.close()


def _take_index(places: Places) -> None:
    """The state of every file as laid, so that the capture reads only what was touched since.

    It is ours: nothing foreign has run since git wrote it. The time goes with it: git reads a
    file again whose own time is not older than the index.
    """
    source, target = os.path.join(places.agent_git, "index"), os.path.join(places.git, "index")
    shutil.copyfile(source, target)
    stat = os.stat(source)
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _remove_stale(git: Git, places: Places, left: Leftovers, also: frozenset[bytes]) -> None:
    """Remove the files of an older commit's tree, which set-up ran on, and `also` these."""
    tracked = frozenset(git.records("ls-files", "-z")) - also
    stale = list(find_stale(os.fsencode(places.repo), tracked, left))

    def remove() -> None:
        for path, is_folder in stale:
            if not is_folder:
                os.unlink(path)
            elif not os.listdir(path):
                os.rmdir(path)

    if stale:
        do_as(places.user, remove)


def find_stale(repo: bytes, tracked: frozenset[bytes], left: Leftovers) -> Iterable[tuple[bytes, bool]]:
    """Files that are neither tracked nor left by set-up, then their folders, deepest first."""
    needed = {path[:end] for path in tracked for end in _slashes(path)}

    def below(folder: bytes) -> Iterable[tuple[bytes, bool]]:
        with os.scandir(os.path.join(repo, folder)) as entries:
            for entry in entries:
                path = os.path.join(folder, entry.name)
                if path == b".git" or path in left.paths:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from below(path)
                    if path not in needed and path not in tracked:
                        yield entry.path, True
                elif path not in tracked:
                    yield entry.path, False

    return below(b"")


def _slashes(path: bytes) -> Iterable[int]:
    end = path.find(b"/")
    while end != -1:
        yield end
        end = path.find(b"/", end + 1)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
