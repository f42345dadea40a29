"""The errors of this package; each text is one sentence for a person.

    GitError
    ├── GitMissingError          no git on PATH, or one that is too old
    ├── GitCommandError          git ended with a code that no one here expected
    ├── GitTimeoutError          git was ended at its deadline
    ├── GitOutputError           git printed more than the cap
    ├── CommitMissingError       an object that should be in our repository is not
    ├── RepositoryBusyError      another loop works on this repository
    ├── RemoteUnavailableError   the remote did not answer, or did not let us in
    ├── CheckoutUnfitError       the person changes something about their repository or configuration
    │   ├── NoRepositoryError
    │   ├── RepositoryMismatchError
    │   ├── LocalAheadError
    │   ├── BranchMissingError
    │   ├── RemoteMissingError
    │   └── AuthorError
    └── ChangeError              what a job or a task brought cannot go on: the caller's stop
        ├── PatchIntegrityError  `patch_integrity`
        ├── EmptyChangeError     `no_change`
        ├── NestedRepoError      `nested_repo`
        ├── SubmoduleChangedError `submodule_changed`
        ├── FilterUnsupportedError `unsupported_filter`
        ├── MergeConflictError   `merge_conflict`
        ├── NothingAheadError    `already_upstream`
        └── TaskLineError        the task file on the branch cannot be marked as done

Pure: no I/O.
"""

from pathlib import Path

from loop.git.paths import show_paths


class GitError(Exception):
    """Base of everything that this package raises."""


class GitMissingError(GitError):
    """No usable git on this machine."""

    def __init__(self, found: str | None, needed: str) -> None:
        what = "git is not installed" if found is None else f"git {found} is too old"
        super().__init__(f"{what}: install git {needed} or newer.")
        self.found = found
        self.needed = needed


class GitCommandError(GitError):
    """Git failed where it should not; `err` is the end of what it printed, credentials masked."""

    def __init__(self, command: str, code: int, err: str) -> None:
        super().__init__(f"git {command} failed with exit code {code}: {err.strip() or 'no message'}")
        self.command = command
        self.code = code
        self.err = err


class GitTimeoutError(GitError):
    """Git did not end in time and was ended."""

    def __init__(self, command: str, timeout_s: float) -> None:
        super().__init__(f"git {command} did not end within {timeout_s:g} s and was ended.")
        self.command = command
        self.timeout_s = timeout_s


class GitOutputError(GitError):
    """Git printed more than the caller is ready to hold in memory."""

    def __init__(self, command: str, limit_bytes: int) -> None:
        super().__init__(f"git {command} printed more than {limit_bytes} bytes and was ended.")
        self.command = command
        self.limit_bytes = limit_bytes


class CommitMissingError(GitError):
    """A commit, ref or path that was asked for is not in our repository."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not in the factory's copy of the repository.")
        self.name = name


class RepositoryBusyError(GitError):
    """The lock of a repository was not free in time."""

    def __init__(self, name: str, timeout_s: float) -> None:
        super().__init__(
            f"Another loop holds the repository {name!r} for more than {timeout_s:g} s: try again."
        )
        self.name = name


class RemoteUnavailableError(GitError):
    """A fetch or push came to no answer about the branch itself."""

    def __init__(self, remote: str, text: str) -> None:
        super().__init__(f"The remote {remote!r} cannot be used without a prompt: {text.strip()}")
        self.remote = remote
        self.text = text


class CheckoutUnfitError(GitError):
    """Something about the person's repository or configuration has to change first."""


class NoRepositoryError(CheckoutUnfitError):
    """A folder is in no repository that git can use, or trusts; `mend` is the sentence's second half."""

    def __init__(self, folder: Path, err: str) -> None:
        self.found = f"{folder} is in no git repository that can be used: {err.strip()}"
        self.mend = "name a folder of a git repository with --repo, or do as git says"
        super().__init__(f"{self.found}; {self.mend}")


class RepositoryMismatchError(CheckoutUnfitError):
    """One name stands for two repositories."""

    def __init__(self, name: str, known: Path, found: Path) -> None:
        super().__init__(
            f"The name {name!r} belongs to the repository at {known}, and {found} is another one: "
            f"give one of them another [repo] name in its factory.toml."
        )
        self.name = name
        self.known = known
        self.found = found


class LocalAheadError(CheckoutUnfitError):
    """The local branch has commits that the remote does not have."""

    def __init__(self, branch: str, *, diverged: bool) -> None:
        what, cure = ("and its remote have diverged", "rebase it on the remote's, then push")
        if not diverged:
            what, cure = ("is ahead of its remote", "push it")
        super().__init__(f"The local branch {branch!r} {what}: {cure}, or set [merge] push = false.")
        self.branch = branch
        self.diverged = diverged


class BranchMissingError(CheckoutUnfitError):
    """The default branch is not where it is needed, or cannot be told."""

    def __init__(self, branch: str | None, where: str) -> None:
        what = "no branch to work on was found" if branch is None else f"there is no branch {branch!r}"
        super().__init__(f"In {where} {what}: set [repo] branch in factory.toml, or create and push it.")
        self.branch = branch
        self.where = where


class RemoteMissingError(CheckoutUnfitError):
    """A remote is named that the checkout does not have."""

    def __init__(self, remote: str | None, where: Path) -> None:
        what = "there is no remote to push to" if remote is None else f"there is no remote {remote!r}"
        super().__init__(
            f"In {where} {what}: add it, or change [repo] remote or [merge] push in factory.toml."
        )
        self.remote = remote


class AuthorError(CheckoutUnfitError):
    """`[merge] author` is not a name with a mail address."""

    def __init__(self, text: str) -> None:
        super().__init__(f'[merge] author is {text!r}: write it as "Name <mail@example.org>".')
        self.text = text


class ChangeError(GitError):
    """A change that cannot go on as it is; each kind is a stop of its own."""


class PatchIntegrityError(ChangeError):
    """A diff is not what its proof says."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The job's diff does not prove itself: {reason}.")
        self.reason = reason


class EmptyChangeError(ChangeError):
    """The tree is the one it started from, or the base's."""

    def __init__(self, *, against_base: bool) -> None:
        super().__init__(
            f"Nothing differs from the {'base' if against_base else 'tree the round began with'}."
        )
        self.against_base = against_base


class NestedRepoError(ChangeError):
    """The change adds git links."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"The change adds a git repository inside the repository: {show_paths(paths)}.")
        self.paths = paths


class SubmoduleChangedError(ChangeError):
    """The change moves, removes or replaces git links that the base has."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"The change touches a submodule: {show_paths(paths)}.")
        self.paths = paths


class FilterUnsupportedError(ChangeError):
    """The change writes files that the base's attributes put under a content filter, such as LFS."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"A content filter such as LFS stands over changed files: {show_paths(paths)}.")
        self.paths = paths


class MergeConflictError(ChangeError):
    """The candidate and the branch change the same places."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"The change conflicts with the branch in: {show_paths(paths)}.")
        self.paths = paths


class NothingAheadError(ChangeError):
    """The branch already holds everything that the candidate brings."""

    def __init__(self) -> None:
        super().__init__("The branch already holds this change.")


class TaskLineError(ChangeError):
    """The task file has no single front-matter line `status: ready`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The task file {path} on the branch cannot be marked as done: {reason}.")
        self.path = path
        self.reason = reason
