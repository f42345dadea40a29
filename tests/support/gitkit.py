"""Real repositories for tests, made by plain git with none of the machine's configuration.

Limits: below a temporary folder only.
"""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AUTHOR = "A Person <person@example.org>"
TASK = "tasks/007-retry.md"
TASK_TEXT = b"---\nstatus: ready\nfiles: [src/**]\n---\n# Retry\n"
CAPTURE = (
    *("diff", "--cached", "-O/dev/null", "--binary", "--full-index", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--ignore-submodules=none", "--submodule=short", "-U3"),
)
"""The capture's flags, as contracts.md has them."""
PLAIN_ATTRIBUTES = "* -text !eol !filter !ident !working-tree-encoding !diff\n"
"""In `info/attributes`: it overrules every file of a tree."""

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "T",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "T",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}


@dataclass(frozen=True)
class Repo:
    """One repository that a test drives as a person would."""

    root: Path

    def run(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git here, however it ends."""
        return subprocess.run(
            ["git", *args],
            cwd=self.root,
            input=stdin,
            env={**ENV, **(env or {})},
            capture_output=True,
            check=False,
        )

    def git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """The same; a failure fails the test with what git said."""
        done = self.run(*args, stdin=stdin, env=env)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def ask(self, *args: str) -> str:
        """The same, as one line of text."""
        return self.git(*args).decode().strip()

    def head(self, name: str = "HEAD") -> str:
        """The commit of a name."""
        return self.ask("rev-parse", name)

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Write files; None removes one."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def commit(self, files: Mapping[str, bytes | None], message: str = "a commit") -> str:
        """Write files and commit everything; return the commit."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.head()


def make_repo(root: Path, *args: str) -> Repo:
    """A new repository with branch `main`."""
    root.mkdir(parents=True, exist_ok=True)
    repo = Repo(root)
    repo.git("init", "--quiet", "--template=", "--initial-branch=main", *args)
    return repo


@dataclass(frozen=True)
class Captured:
    """What a job's capture hands back."""

    diff: bytes
    tree: str

    @property
    def sha256(self) -> str:
        """The proof of the bytes."""
        return hashlib.sha256(self.diff).hexdigest()


def capture(job: Repo, start: str) -> Captured:
    """The diff of a job's tree, by a git folder that the job never saw."""
    git_dir = job.root.parent / f"{job.root.name}-capture.git"
    if not git_dir.exists():
        make_repo(git_dir, "--bare")
        (git_dir / "info").mkdir()
        (git_dir / "info/attributes").write_text(PLAIN_ATTRIBUTES)
    Repo(git_dir).git("fetch", "--quiet", str(job.root), start)
    where = ("-c", "core.bare=false", f"--git-dir={git_dir}", f"--work-tree={job.root}")
    job.git(*where, "read-tree", start)
    job.git(*where, "add", "--all")
    return Captured(job.git(*where, *CAPTURE, start), job.ask(*where, "write-tree"))
