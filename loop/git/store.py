"""The bare repository of ours that every task of one repository works in.

Limits: only under the repository's lock; the person's checkout is read, never written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from instrument.schema.origin import ORIGIN_FILE, Origin
from loop.atomic import write_atomic
from loop.git import packs, reading, tips
from loop.git.bare import NO_BRANCH, init_bare
from loop.git.checkout import Checkout
from loop.git.errors import CheckoutUnfitError, GitCommandError, RepositoryMismatchError
from loop.git.inputs import InputsDigest, TreeEntry, digest_inputs
from loop.git.paths import decode_path, split_paths
from loop.git.process import GitEnd, require_git, run_git
from loop.git.profiles import SEALED

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
STALE_LOCK_S = 60
REF_PREFIX = "refs/"


@dataclass(frozen=True, slots=True)
class Store:
    """Reads and refs of one bare repository; commits are whole 40-digit ids."""

    path: Path
    checkout: Checkout

    @classmethod
    def alone(cls, path: Path) -> "Store":
        """Of a bare repository that is a copy of nobody's: it is its own checkout."""
        return cls(path, Checkout(path, path, path, is_bare=True))

    def git(self, args: Sequence[str], *, stdin: bytes = b"", check: bool = True) -> GitEnd:
        """Run git here, sealed."""
        return run_git(args, profile=SEALED, git_dir=self.path, stdin=stdin, check=check)

    def fetch_tips(self, branch: str, remote: str | None) -> tips.Tips:
        """Bring the branch's commits here, from the checkout and from the remote if one is named.

        Raises:
            BranchMissingError: The branch is not there.
            RemoteUnavailableError: The remote cannot be reached without a prompt.
            CheckoutUnfitError: The checkout is a shallow clone.
        """
        return tips.fetch_tips(self.path, self.checkout, branch, remote)

    def choose_base(self, found: tips.Tips, *, push: bool) -> str:
        """The commit a task starts from: the local tip, or with `push` the remote's.

        Raises:
            LocalAheadError: With `push`, the local branch has commits that the remote has not.
            RemoteMissingError: With `push`, no remote's tip was fetched.
        """
        return tips.choose_base(self.path, self.checkout, found, push=push)

    def read_blob(self, commit: str, path: str) -> bytes | None:
        """The bytes of the file at `path`, of a link its target; none where there is no such file."""
        oid = self.blob_id(commit, path)
        return None if oid is None else self.git(["cat-file", "blob", oid]).out

    def blob_id(self, commit: str, path: str) -> str | None:
        """The id of the file at `path`; none where there is no such file."""
        return reading.read_blob_id(self.path, commit, path)

    def paths(self, commit: str) -> tuple[str, ...]:
        """Every path of the commit's tree but folders, in git's order; git links too."""
        args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", reading.check_oid(commit)]
        return split_paths(self.git(args).out)

    def entries(self, commit: str) -> tuple[TreeEntry, ...]:
        """The same with mode and object id."""
        raw = self.git(["ls-tree", "-r", "-z", "--full-tree", reading.check_oid(commit)]).out
        found = []
        for record in filter(None, raw.split(b"\0")):
            head, _, path = record.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            found.append(TreeEntry(decode_path(path), mode, oid))
        return tuple(found)

    def parent_of(self, commit: str) -> str:
        """The commit's first parent.

        Raises:
            GitCommandError: It has none.
        """
        return self.git(["rev-parse", "--verify", f"{reading.check_oid(commit)}^"]).out.decode().strip()

    def commit_text(self, commit: str) -> reading.CommitText:
        """Tree, parents, message and author."""
        return reading.read_commit(self.path, commit)

    def tree_of(self, commit: str) -> str:
        """The commit's tree id."""
        return self.commit_text(commit).tree

    def subject(self, commit: str) -> str:
        """The first line of the commit's message."""
        return self.commit_text(commit).subject

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        """Whether `commit` is, or descends from, `ancestor`."""
        return tips.is_ancestor(self.path, ancestor, commit)

    def write_pack(self, commit: str, target: Path, *, without: str | None = None) -> Path:
        """Make `target` a pack with the commit and its history, less that of `without`."""
        leave_out = None if without is None else reading.check_oid(without)
        return packs.write_pack(self.path, reading.check_oid(commit), target, without=leave_out)

    def has_commit(self, commit: str) -> bool:
        """Whether the commit is here."""
        return not self.git(["cat-file", "-e", f"{reading.check_oid(commit)}^{{commit}}"], check=False).code

    def set_ref(self, ref: str, commit: str) -> None:
        """Point a full ref name such as `refs/factory/…` at the commit, so that it is kept."""
        assert ref.startswith(REF_PREFIX), ref
        self.git(["update-ref", ref, reading.check_oid(commit)])

    def delete_refs(self, prefix: str) -> int:
        """Forget every ref below `prefix` (whole path parts); return how many there were."""
        assert prefix.startswith(REF_PREFIX), prefix
        names = self.git(["for-each-ref", "--format=%(refname)", prefix.rstrip("/")]).out.splitlines()
        self.git(["update-ref", "--stdin", "-z"], stdin=b"".join(b"delete %s\0\0" % name for name in names))
        return len(names)

    def inputs_digest(self, commit: str, patterns: Sequence[str]) -> InputsDigest:
        """The digest of the commit's files that match the gitignore patterns."""
        return digest_inputs(self.entries(commit), patterns)


def open_store(home: Path, name: str, checkout: Checkout, branch: str) -> Store:
    """Open `<home>/repos/<name>.git`, made (0700) and tied to the checkout's history the first time.

    Args:
        home: The factory's home.
        name: `[repo] name`.
        checkout: The person's repository.
        branch: Its default branch.

    Raises:
        RepositoryMismatchError: The name belongs to a repository with another history.
        CheckoutUnfitError: The name cannot be a folder's, or the checkout cannot be used.
        GitMissingError: Git is missing or too old.
    """
    require_git()
    if NAME.fullmatch(name) is None or name.endswith((".git", ".lock")):
        raise CheckoutUnfitError(f"[repo] name is {name!r}: use letters, digits, '.', '_' and '-' only.")
    roots = _root_commits(checkout, branch)
    store = Store(home / "repos" / f"{name}.git", checkout)
    origin_file = store.path / ORIGIN_FILE
    if not origin_file.is_file():
        _create(store.path)
        origin = Origin(root_commit=roots[0], checkout=str(checkout.root))
        write_atomic(origin_file, origin.model_dump_json().encode())
    origin = Origin.model_validate_json(origin_file.read_bytes())
    if origin.root_commit not in roots:
        raise RepositoryMismatchError(name, Path(origin.checkout), checkout.root)
    tips.remove_stale_locks(store.path, STALE_LOCK_S)
    return store


def _create(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    init_bare(path, NO_BRANCH, "--shared=0600")


def _root_commits(checkout: Checkout, branch: str) -> tuple[str, ...]:
    """The commits without a parent that the branch reaches, the one of its first-parent line first."""
    wanted = ("--show-object-format", "--is-shallow-repository", f"refs/heads/{branch}")
    try:
        object_format, is_shallow, tip = _ask(checkout.common_dir, "rev-parse", *wanted)
        roots = _roots_of(checkout.common_dir, tip)
    except GitCommandError as error:
        raise CheckoutUnfitError(f"The history of {branch!r} cannot be read: {error.err.strip()}") from error
    if object_format != "sha1":
        raise CheckoutUnfitError(
            f"{checkout.root} uses SHA-256 object ids: only SHA-1 repositories work yet."
        )
    if is_shallow == "true":
        raise CheckoutUnfitError(f"{checkout.root} is a shallow clone: run `git fetch --unshallow` there.")
    return roots


@lru_cache(maxsize=64)
def _roots_of(git_dir: Path, tip: str) -> tuple[str, ...]:
    """As above; kept, since it walks the whole history, and a worker asks at every step of every task."""
    roots = ("rev-list", "--max-parents=0")
    every = _ask(git_dir, *roots, tip)
    first = _ask(git_dir, *roots, "--first-parent", tip) if len(every) > 1 else []
    return tuple(dict.fromkeys(first + every))


def _ask(git_dir: Path, *args: str) -> list[str]:
    return run_git(args, profile=SEALED, git_dir=git_dir).out.decode().split()
