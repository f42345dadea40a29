"""Task files as their author has them now, committed or not, held against the base.

Limits: reads the working copy and the branch; writes a draft's text into our own repository.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from instrument.found import find_home
from jobs.ports import Jobs
from loop.git.checkout import default_remote, find_checkout
from loop.git.lock import repo_lock
from loop.git.store import open_store
from loop.home import make_home, make_private
from loop.problems import Problem, Problems
from loop.session import read_default, task_path_of
from loop.shell.base import fetch_base
from loop.shell.commits import LOCK_TIMEOUT_S
from loop.shell.context import Context
from loop.shell.orders import job_env
from loop.shell.papers import Papers, read_papers
from loop.taskfile import Task, task_number

FOLDER = "lint"


@dataclass(frozen=True, slots=True)
class Draft:
    """One task file, valid by itself and with the configuration of the base."""

    task_id: str
    path: str
    blob: str
    """Blob id of its text in our repository."""
    papers: Papers
    is_committed: bool
    """Whether the branch has the same text."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """Some tasks of one repo, and the commit that they would begin on."""

    context: Context
    """Its folder is `<home>/lint`: nothing here belongs to a task's own record."""
    base: str
    drafts: tuple[Draft, ...]


def open_drafts(
    tasks: Sequence[str], repo: Path, *, jobs: Jobs, environment: Mapping[str, str], now: datetime
) -> Drafts:
    """Read every task in its author's present words, and `factory.toml` from the base.

    Args:
        tasks: As typed; one named twice counts once.
        repo: A folder of the person's repository.
        jobs: Handed on in the context.
        environment: The host's.
        now: Stands still in the context.

    Raises:
        UsageError: A path lies outside the repository.
        Problems: Everything that is wrong with the files, at once.
        GitError: The repository cannot be used.
    """
    checkout = find_checkout(repo)
    config, branch = read_default(checkout)
    paths = dict.fromkeys(task_path_of(task, checkout) for task in tasks)
    home = make_home(find_home(environment))
    context = Context(
        home=home,
        folder=make_private(home / FOLDER),
        store=open_store(home, config.repo.name, checkout, branch),
        branch=branch,
        remote=default_remote(checkout, config.repo.remote) if config.merge.push else None,
        jobs=jobs,
        providers={},
        environment=environment,
        now=lambda: now,
    )
    base = fetch_base(context, config.repo.name)
    drafts: list[Draft] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            drafts.append(_read(context, config.repo.name, base, path))
        except Problems as error:
            problems += error.problems
    if problems:
        raise Problems(dict.fromkeys(problems))
    return Drafts(context, base, tuple(drafts))


def _read(context: Context, repo: str, base: str, path: str) -> Draft:
    number = task_number(path)
    if number is None:
        raise Problems([Problem(path, None, "a task file is named NNN-slug.md, such as 007-retry.md")])
    committed = context.store.blob_id(base, path)
    blob = _blob_of_draft(context, repo, path) or committed
    if blob is None:
        raise Problems([Problem(path, None, "is neither in the working copy nor on the branch; write it")])
    papers = read_papers(context, base, path, blob)
    if problems := tuple(_among_others(context, base, papers.task)):
        raise Problems(problems)
    job_env(context, papers.config)
    return Draft(f"{repo}-{number:03d}", path, blob, papers, is_committed=blob == committed)


def _blob_of_draft(context: Context, repo: str, path: str) -> str | None:
    """The id of the working copy's text, kept in our repository, as `read_papers` reads it from there."""
    file = context.store.checkout.root / path
    if not file.is_file():
        return None
    with repo_lock(context.home, repo, LOCK_TIMEOUT_S):
        end = context.store.git(["hash-object", "-w", "--stdin"], stdin=file.read_bytes())
    return end.out.decode().strip()


def _among_others(context: Context, base: str, task: Task) -> Iterator[Problem]:
    """What only the other task files show: a number taken twice, a dependency that is not there."""
    if task.status == "done":
        yield Problem(task.path, task.lines.get("status"), "the task is done already; nothing to lint")
    folder = PurePosixPath(task.path).parent
    present = context.store.checkout.root / folder
    names = {p.name for p in map(PurePosixPath, context.store.paths(base)) if p.parent == folder}
    names |= {entry.name for entry in present.iterdir()} if present.is_dir() else set()
    yield from among_others(task, names)


def among_others(task: Task, names: Collection[str]) -> Iterator[Problem]:
    """What the names of all files in its folder say against a task."""
    path = PurePosixPath(task.path)
    for name in sorted({*names} - {path.name}):
        if task_number(name) == task.number:
            yield Problem(task.path, None, f"{path.parent / name} has the same number; rename one of them")
    known = {task_number(name) for name in names}
    for number in task.depends:
        if number not in known:
            line = task.lines.get("depends")
            yield Problem(task.path, line, f"depends: there is no task {number:03d} beside it")


def context_of(drafts: Drafts, draft: Draft) -> Context:
    """The context of one draft, its folder made."""
    return replace(drafts.context, folder=make_private(drafts.context.folder / draft.task_id))
