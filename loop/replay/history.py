"""Reads the commits of a range from a person's repository, and what of it travels.

Limits: writes only below the folders it is given; the person's repository is read, never written.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from loop.atomic import write_atomic
from loop.errors import UsageError
from loop.git.changes import GITLINK
from loop.git.checkout import Checkout
from loop.git.errors import CheckoutUnfitError, GitCommandError
from loop.git.paths import decode_path
from loop.git.process import run_git
from loop.git.profiles import SEALED
from loop.git.tips import FETCH

ATTRIBUTES = ".gitattributes"
PACK_TIMEOUT_S = 900
SHA1_DIGITS = 40
MOST_PACK_BYTES = 4 * 1024**3


class Change(NamedTuple):
    """One path as the newer side has it; its mode is `000000` where it is gone."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Step:
    """One commit to carry; `base` is its first parent."""

    n: int
    commit: str
    tree: str
    base: str | None
    """None of a root commit."""
    rules: str
    """Names the attributes of the base: two steps with one name lay their trees alike."""
    after: str
    """Names those of the commit."""
    changes: tuple[Change, ...]
    """From the base to the commit."""
    before: str | None
    """The commit of the step before this one; none of the first."""
    move: tuple[Change, ...]
    """From that commit to the base; empty where it is the base."""

    @property
    def links(self) -> tuple[str, ...]:
        """Submodules that the commit adds or moves."""
        return tuple(change.path for change in self.changes if change.mode == GITLINK)


@dataclass(frozen=True, slots=True)
class History:
    """The steps, each line of first parents in one piece; `edges` are the parents that lie outside."""

    steps: tuple[Step, ...]
    edges: tuple[str, ...]
    tip: str

    @property
    def name(self) -> str:
        """Another range has another name."""
        lines = "".join(f"{step.commit}\n" for step in self.steps)
        return hashlib.sha256(lines.encode()).hexdigest()[:12]


def read_history(checkout: Checkout, chosen: Sequence[str]) -> History:
    """The commits that `git rev-list` names with these arguments, such as `--max-count=200 HEAD`.

    Raises:
        UsageError: A revision does not exist, or there is no commit in the range.
        CheckoutUnfitError: The repository has other ids than SHA-1.
    """
    args = ["rev-list", "--topo-order", "--reverse", "--parents", *chosen, "--"]
    try:
        out = run_git(args, profile=SEALED, git_dir=checkout.git_dir).out.decode()
    except GitCommandError as error:
        words = " ".join(error.err.split())
        raise UsageError(f"The range cannot be read ({words}); name one that `git log` shows.") from error
    lines = [line.split() for line in out.splitlines()]
    if not lines:
        raise UsageError("There is no commit in the range; name one that `git log` shows.")
    if len(lines[0][0]) != SHA1_DIGITS:
        raise CheckoutUnfitError(
            f"{checkout.root} uses SHA-256 object ids: only SHA-1 repositories work yet."
        )
    inside = {line[0] for line in lines}
    edges = tuple(
        dict.fromkeys(parent for _, *parents in lines for parent in parents if parent not in inside)
    )
    return History(tuple(_steps(checkout, _by_lines(lines))), edges, lines[-1][0])


def _by_lines(lines: list[list[str]]) -> list[list[str]]:
    """Each line of first parents in one piece, the tip's first: a step beside it costs little.

    The tip's brings what was merged into it, so that every file travels in a diff at least once.
    """
    tails: dict[str, list[list[str]]] = {}
    pieces = []
    for line in lines:
        piece = tails.pop(line[1], None) if len(line) > 1 else None
        if piece is None:
            piece = []
            pieces.append(piece)
        piece.append(line)
        tails[line[0]] = piece
    last = tails[lines[-1][0]]
    return [*last, *(line for piece in pieces if piece is not last for line in piece)]


def _steps(checkout: Checkout, lines: list[list[str]]) -> Iterable[Step]:
    trees = _trees(checkout, dict.fromkeys(commit for line in lines for commit in line[:2]))
    carried = [(commit, parents[0]) for commit, *parents in lines if parents]
    befores = [None, *(commit for commit, _ in carried)]
    moves = [(before, base) for before, (_, base) in zip(befores, carried, strict=False) if before]
    wanted = [
        (trees[old], trees[new]) for old, new in (*moves, *((base, commit) for commit, base in carried))
    ]
    changes = read_changes(checkout.git_dir, wanted)
    rules: dict[str, str] = {}
    before = None
    for n, (commit, *parents) in enumerate(lines):
        base = parents[0] if parents else None
        if base is None:
            rules[commit] = _rules(checkout, commit)
            yield Step(n, commit, trees[commit], None, "", rules[commit], (), None, ())
            continue
        changed = changes[trees[base], trees[commit]]
        if base not in rules:
            rules[base] = _rules(checkout, base)
        is_ruled = any(change.path.rpartition("/")[2] == ATTRIBUTES for change in changed)
        rules[commit] = _rules(checkout, commit) if is_ruled else rules[base]
        move = changes[trees[before], trees[base]] if before else ()
        yield Step(n, commit, trees[commit], base, rules[base], rules[commit], changed, before, move)
        before = commit


def _trees(checkout: Checkout, commits: Iterable[str]) -> dict[str, str]:
    feed = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
    out = _ask(checkout.git_dir, ["cat-file", "--batch-check=%(objectname)"], feed).decode().split()
    return dict(zip(commits, out, strict=True))


def read_changes(
    git_dir: Path, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Change, ...]]:
    """Of each pair of trees the paths that differ, as the second one has them."""
    feed = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    args = [
        "diff-tree",
        "--stdin",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--ignore-submodules=none",
    ]
    found: dict[tuple[str, str], tuple[Change, ...]] = {}
    pair = ("", "")
    fields = iter(_ask(git_dir, args, feed).split(b"\0"))
    for field in fields:
        *heads, change = field.split(b"\n")
        for head in heads:
            old, new = head.decode().split()
            pair = (old, new)
            found[pair] = ()
        if change:
            _, mode, _, blob, _ = change.decode().split(" ")
            found[pair] += (Change(decode_path(next(fields)), mode, blob),)
    return found


def _ask(git_dir: Path, args: list[str], feed: bytes) -> bytes:
    return run_git(args, profile=SEALED, git_dir=git_dir, stdin=feed, timeout_s=PACK_TIMEOUT_S).out


def _rules(checkout: Checkout, commit: str) -> str:
    args = ["ls-tree", "-r", "-z", "--full-tree", commit]
    out = run_git(args, profile=SEALED, git_dir=checkout.git_dir).out
    ours = [line for line in out.split(b"\0") if decode_path(line).rpartition("/")[2].endswith(ATTRIBUTES)]
    return hashlib.sha256(b"\0".join(ours)).hexdigest()[:12]


def write_feed(checkout: Checkout, history: History, target: Path) -> Path:
    """Pack every tree of the range and of its edges, without what lies before them."""
    shallow = "".join(f"--shallow {edge}\n" for edge in history.edges)
    feed = f"{shallow}{history.tip}\n" + "".join(f"{edge}\n" for edge in history.edges)
    args = [
        "pack-objects",
        "--revs",
        "--stdout",
        "--quiet",
        "--delta-base-offset",
        "--threads=0",
        "--shallow",
    ]
    end = run_git(
        args,
        profile=SEALED,
        git_dir=checkout.git_dir,
        stdin=feed.encode(),
        timeout_s=PACK_TIMEOUT_S,
        max_out_bytes=MOST_PACK_BYTES,
    )
    write_atomic(target, end.out)
    return target


def fetch_alone(git_dir: Path, checkout: Checkout, commits: Iterable[str]) -> None:
    """Bring these commits, without their history, into a repository of ours."""
    wanted = [f"+{commit}:refs/replay/{commit}" for commit in commits]
    if wanted:
        run_git(
            [*FETCH, "--depth=1", str(checkout.common_dir), *wanted],
            profile=SEALED,
            git_dir=git_dir,
            timeout_s=PACK_TIMEOUT_S,
        )
