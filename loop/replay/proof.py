"""Takes what was captured of a commit the loop's own way to a commit, and compares.

Limits: writes into one repository of the replay's, which learns a commit's contents only from its diff.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from instrument.schema.job import Tree
from instrument.schema.vocabulary import StopReason
from loop.git.candidate import build_candidate
from loop.git.errors import (
    EmptyChangeError,
    FilterUnsupportedError,
    GitError,
    NestedRepoError,
    SubmoduleChangedError,
)
from loop.git.paths import show_path
from loop.git.store import Store
from loop.git.trees import Index
from loop.replay.explain import explain
from loop.replay.history import Step, fetch_alone
from loop.replay.reasons import ERROR, OnlyHere, stop_of
from loop.replay.record import MOST_PATHS, Fate, Line

AUTHOR = "factory replay <factory@localhost>"
WHEN = datetime(2000, 1, 1, tzinfo=UTC)
REF = "refs/factory/replay/last"


class Prover:
    """The commits as we made them, by the person's commit.

    The repository never holds a commit's objects before its diff made them: git takes a binary file that it
    has already from there, and leaves the diff unread.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._made: dict[str, str] = {}
        self._index = Index(store, store.path / "replay-index")
        self._index_at: str | None = None
        """The person's commit whose tree the index holds; none: nothing is believed of it."""

    def begin(self, steps: Sequence[Step]) -> None:
        """Bring the bases that none of these steps makes."""
        commits = {step.commit for step in steps}
        self._fetch({step.base for step in steps if step.base is not None} - commits)

    def _fetch(self, commits: Collection[str]) -> None:
        fetch_alone(self._store.path, self._store.checkout, commits)
        self._made.update({commit: commit for commit in commits})

    def prove(self, step: Step, tree: Tree, diff: bytes) -> Line:
        """What becomes of the commit, by the loop's own code."""
        if stop := stop_of(tree):
            return _line(step, Fate.STOPPED, *stop)
        if tree.tree is None:
            return self.fail(step, "the capture gave no tree", diff)
        try:
            base = self._base_of(step)
            if self._index_at != step.base:
                self._index.git(["read-tree", base])
            self._index_at = None
            made = build_candidate(
                self._store,
                base=base,
                start=base,
                diff=diff,
                sha256=tree.diff_sha256,
                tree=tree.tree,
                message=f"Replay {step.commit}",
                author=AUTHOR,
                when_utc=WHEN,
                ref=REF,
                length_bytes=tree.diff_bytes,
                index=self._index,
            )
            if made.tree == step.tree:
                self._made[step.commit] = made.commit
                self._index_at = step.commit
                return Line(commit=step.commit, fate=Fate.TRAVELLED)
            return self._differs(step, base, made.tree, diff)
        except NestedRepoError as error:
            return _line(step, Fate.STOPPED, StopReason.NESTED_REPO, _shown(error.paths))
        except SubmoduleChangedError as error:
            return _line(step, Fate.STOPPED, StopReason.SUBMODULE_CHANGED, _shown(error.paths))
        except FilterUnsupportedError as error:
            return _line(step, Fate.STOPPED, StopReason.UNSUPPORTED_FILTER, _shown(error.paths))
        except EmptyChangeError:
            return self._differs(step, base, tree.tree, diff)
        except GitError as error:
            return self.fail(step, str(error), diff)

    def fail(self, step: Step, why: str, diff: bytes = b"") -> Line:
        """The line of a commit that should have travelled and did not; its diff is kept."""
        if diff:
            kept = self._folder / f"mismatch-{step.commit}.patch"
            kept.touch(mode=0o600)
            kept.write_bytes(diff)
            why = f"{why}; see {kept}"
        return _line(step, Fate.MISMATCH, ERROR, (), why)

    def _base_of(self, step: Step) -> str:
        base = step.base
        assert base is not None, step
        if base not in self._made:
            self._fetch([base])
        return self._made[base]

    def _differs(self, step: Step, base: str, made: str, diff: bytes) -> Line:
        fetch_alone(self._store.path, self._store.checkout, [step.commit])
        found = explain(self._store, base=base, wanted=step.commit, made=made)
        if found.reason is not None:
            return _line(step, Fate.STOPPED, found.reason, _shown(found.paths))
        line = self.fail(step, f"the tree is {made} and should be {step.tree}", diff)
        return line.model_copy(update={"paths": _shown(found.paths)})


def skip(step: Step) -> Line | None:
    """The line of a commit for which there is nothing to write; none: it is to be carried."""
    if step.base is None:
        return Line(commit=step.commit, fate=Fate.SKIPPED, reason=OnlyHere.ROOT)
    if not step.changes:
        return Line(commit=step.commit, fate=Fate.SKIPPED, reason=OnlyHere.NO_CHANGE)
    return None


def _shown(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(show_path(path) for path in paths)[:MOST_PATHS]


def _line(
    step: Step, fate: Fate, reason: str, paths: tuple[str, ...] = (), detail: str | None = None
) -> Line:
    return Line(commit=step.commit, fate=fate, reason=str(reason), paths=paths[:MOST_PATHS], detail=detail)
