"""A history that holds every kind of change, and a replay of it without a container.

Limits: real git, the supervisor's own code as the user who runs the test, below one folder.
"""

import dataclasses
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

from instrument.schema.job import Tree
from jobs.inside.places import Places, User
from loop.git.checkout import find_checkout
from loop.replay.history import History, read_history, write_feed
from loop.replay.inside import Lane
from loop.replay.place import Place
from loop.replay.proof import Prover, skip
from loop.replay.record import Line
from support.gitkit import Repo, make_repo
from support.trees import State, import_tree

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
PATCH = {"patch_bytes": 1 << 20, "patch_files": 100}
BASE: State = {
    b".gitignore": (FILE, b"*.log\n"),
    b"a.txt": (FILE, b"one\ntwo\n"),
    b"bin": (FILE, bytes(range(256)) * 8),
    b"deep/er/file": (FILE, b"deep\n"),
    b"go.sh": (PROGRAM, b"#!/bin/sh\n"),
    b"link": (LINK, b"a.txt"),
    b"no end": (FILE, b"no end"),
    b"li\nne": (FILE, b"x\n"),
    b"bad\xff": (FILE, b"y\n"),
    b'q"\\': (FILE, b""),
}
GONE = None
STEPS: tuple[tuple[str, dict[bytes, tuple[str, bytes] | None], str], ...] = (
    ("text and binary", {b"a.txt": (FILE, b"one\n2\n"), b"bin": (FILE, b"\0" * 5000)}, "travelled"),
    ("modes", {b"go.sh": (FILE, b"#!/bin/sh\n"), b"a.txt": (PROGRAM, b"one\n2\n")}, "travelled"),
    ("file to link, link to file", {b"a.txt": (LINK, b"bin"), b"link": (FILE, b"file\n")}, "travelled"),
    ("folder to file", {b"deep/er/file": GONE, b"deep": (FILE, b"flat\n")}, "travelled"),
    ("file to folder", {b"deep": GONE, b"deep/down/x": (LINK, b"../.."), b"new": (FILE, b"")}, "travelled"),
    (
        "odd names",
        {b"li\nne": (FILE, b"z\n"), b"bad\xff": GONE, b'q"\\': (FILE, b"q"), b" ": (FILE, b"")},
        "travelled",
    ),
    ("nothing", {}, "no_change"),
    (
        "attributes with the files they are about",
        {b".gitattributes": (FILE, b"* text=auto\n*.bat eol=crlf\nli* ident\n"), b"x.bat": (FILE, b"a\n")},
        "travelled",
    ),
    ("a file laid with CRLF", {b"x.bat": (FILE, b"a\nb\n")}, "travelled"),
    ("ident", {b"li\nne": (FILE, b"$Id$\n"), b"line": (FILE, b"$Id$\nmore\n")}, "travelled"),
    ("CRLF that git add would take away", {b"c.bat": (FILE, b"a\r\n")}, "unnormalised"),
    ("beside it", {b"new": (FILE, b"n\n")}, "travelled"),
    ("it is mended", {b"c.bat": (FILE, b"a\n")}, "same_bytes"),
    ("ignored, tracked all the same", {b"x.log": (FILE, b"log\n"), b"new": GONE}, "ignored_file"),
    ("its change", {b"x.log": (FILE, b"more\n")}, "travelled"),
    ("a submodule", {b"sub": (SUBMODULE, b"1" * 40)}, "nested_repo"),
    ("moved", {b"sub": (SUBMODULE, b"2" * 40), b"new": (FILE, b"again\n")}, "nested_repo"),
    ("beside it", {b"new": (FILE, b"n\n")}, "travelled"),
    ("removed", {b"sub": GONE}, "submodule_changed"),
    (
        "a filter with its first file",
        {b".gitattributes": (FILE, b"*.big filter=lfs diff=lfs -text\n"), b"a.big": (FILE, b"pointer 1\n")},
        "travelled",
    ),
    ("a file under it", {b"a.big": (FILE, b"pointer 2\n")}, "unsupported_filter"),
    ("removed again", {b"a.big": GONE}, "travelled"),
    ("too much", {b"huge": (FILE, random.Random(7).randbytes(1 << 21))}, "patch_too_large"),
    ("it goes", {b"huge": GONE}, "patch_too_large"),
    ("everything goes", dict.fromkeys((b"bin", b"link", b"go.sh"), GONE), "travelled"),
)
"""What each commit changes, and how it ends."""


def make_history(folder: Path) -> tuple[Repo, list[str]]:
    """A bare repository with `BASE`, each of `STEPS`, a merge and an odd tree; what each comes to."""
    repo = make_repo(folder, "--bare")
    state = dict(BASE)
    states, words = [dict(state)], ["root"]
    for _, changes, word in STEPS:
        for path, change in changes.items():
            if change is None:
                del state[path]
            else:
                state[path] = change
        states.append(dict(state))
        words.append(word)
    tip = commit_states(repo, states)
    side = commit_tree(repo, import_tree(repo, {**state, b"side": (FILE, b"s\n")}, "scratch"), tip)
    main = commit_tree(repo, import_tree(repo, {**state, b"main": (FILE, b"m\n")}, "scratch"), tip)
    both = {**state, b"side": (FILE, b"s\n"), b"main": (FILE, b"m\n")}
    merge = commit_tree(repo, import_tree(repo, both, "scratch"), main, side)
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"odd\n").decode().strip()
    odd = repo.git("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"100664 odd\0" + bytes.fromhex(blob))
    last = repo.ask("commit-tree", odd.decode().strip(), "-p", merge, "-m", "odd")
    repo.git("update-ref", "refs/heads/main", last)
    repo.git("update-ref", "-d", "refs/heads/scratch")
    return repo, [*words, "travelled", "travelled", "travelled", "odd_tree"]


def named_commits(repo: Repo) -> list[str]:
    """The commits of `make_history`, in the order of its words."""
    return repo.ask("rev-list", "--reverse", "--topo-order", "--first-parent", "main~3").split() + [
        repo.head(name) for name in ("main~1^2", "main~2", "main~1", "main")
    ]


def commit_states(repo: Repo, states: Sequence[State]) -> str:
    """One commit a state, each on the one before it; the last one, which is `main`."""
    tip: tuple[str, ...] = ()
    for state in states:
        tip = (commit_tree(repo, import_tree(repo, state, "scratch"), *tip),)
    repo.git("update-ref", "refs/heads/main", tip[0])
    return tip[0]


def commit_tree(repo: Repo, treeish: str, *parents: str) -> str:
    """The tree of a commit as a commit on other parents."""
    on = [word for parent in parents for word in ("-p", parent)]
    return repo.ask("commit-tree", f"{treeish}^{{tree}}", *on, "-m", "c")


def history_of(repo: Repo, *chosen: str) -> History:
    """The range of `main`, or another one."""
    return read_history(find_checkout(repo.root), chosen or ("refs/heads/main",))


def carry(repo: Repo, folder: Path, history: History) -> list[Line]:
    """Carry a whole history below a folder."""
    checkout = find_checkout(repo.root)
    places = Places(str(folder), User(os.geteuid(), os.getegid()))
    for path in (places.repo, places.hand, places.out):
        Path(path).mkdir(parents=True, exist_ok=True)
    feed = write_feed(checkout, history, folder / "feed.pack")
    lane = Lane({"pack": str(feed), **PATCH}, places)
    prover = Prover(Place(folder, "00000000").new_store(checkout, "store"), folder)
    prover.begin(history.steps)
    lines = []
    for step in history.steps:
        line = skip(step)
        if line is None:
            result = lane.carry({**dataclasses.asdict(step), "links": step.links})
            if "error" in result:
                line = prover.fail(step, result["error"])
            else:
                tree = Tree.model_validate_json(json.dumps(result["tree"]))
                diff = Path(places.out, "diff.patch").read_bytes() if tree.tree else b""
                line = prover.prove(step, tree, diff)
        lines.append(line)
    return lines


def words_of(lines: Sequence[Line]) -> list[str]:
    """What each came to, in one word."""
    return [line.reason or line.fate.value for line in lines]
