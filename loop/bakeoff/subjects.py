"""The tasks of a bake-off: as they stand on the branch now, or as a finished one began.

Limits: reads the person's repository and the home; fetches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from instrument.found import find_home
from instrument.schema.state import TaskState
from loop.bakeoff.plan import Subject
from loop.config import Config
from loop.errors import UsageError
from loop.git.checkout import Checkout, default_remote, find_checkout
from loop.git.store import Store, open_store
from loop.home import make_home
from loop.run import World
from loop.session import read_default, read_providers, task_path_of
from loop.shell.base import fetch_base
from loop.shell.context import Context
from loop.store import StateCorruptError, load_state
from loop.taskfile import parse_task, task_number


@dataclass(frozen=True, slots=True)
class OpenRepo:
    """The person's repository, as a run opens it."""

    checkout: Checkout
    config: Config
    context: Context
    home: Path

    def text(self, blob: str) -> bytes:
        """The bytes of a task file in our copy of the repository."""
        return self.context.store.git(["cat-file", "blob", blob]).out


def open_repo(start: Path, world: World) -> OpenRepo:
    """Open the repository that holds the folder `start`.

    Raises:
        Problems: `factory.toml` is faulty.
        GitError: The repository cannot be used.
    """
    checkout = find_checkout(start)
    config, branch = read_default(checkout)
    home = make_home(find_home(world.environment))
    context = Context(
        home=home,
        folder=home,
        store=open_store(home, config.repo.name, checkout, branch),
        branch=branch,
        remote=default_remote(checkout, config.repo.remote) if config.merge.push else None,
        jobs=world.jobs,
        providers=read_providers(config, world.environment),
        environment=world.environment,
        now=world.now,
        has_ladder=False,
    )
    return OpenRepo(checkout, config, context, home)


def find_subjects(tasks: Sequence[str], replayed: Sequence[str], repo: OpenRepo) -> tuple[Subject, ...]:
    """Find every task that was named.

    Args:
        tasks: As typed; each begins on the branch as it is now.
        replayed: Tasks of the home, by id or path; each begins where it began.
        repo: The person's.

    Raises:
        UsageError: One is not there, not ready, or named twice.
        Problems: A task file is faulty.
    """
    subjects = []
    if tasks:
        base = fetch_base(repo.context, repo.config.repo.name)
        subjects += [_present(task, repo, base) for task in tasks]
    subjects += [_replayed(task, repo) for task in replayed]
    if len({subject.task_id for subject in subjects}) < len(subjects):
        raise UsageError("one task stands there twice; --repeat runs each more than once")
    return tuple(subjects)


def _present(task: str, repo: OpenRepo, base: str) -> Subject:
    path = task_path_of(task, repo.checkout)
    blob = repo.context.store.blob_id(base, path)
    if blob is None:
        raise UsageError(f"{path} is not committed on {repo.context.branch}; commit it there and run again")
    return _subject(repo, path, base, blob)


def _replayed(task: str, repo: OpenRepo) -> Subject:
    state = _finished(task, repo)
    if state.repo != repo.config.repo.name or state.base is None:
        raise UsageError(f"--from {task}: it never began on a base of {repo.config.repo.name}")
    return _subject(repo, state.task_path, state.base, state.task_blob)


def _finished(task: str, repo: OpenRepo) -> TaskState:
    folder = repo.home / "tasks" / task
    if not folder.is_dir():
        number = task_number(task_path_of(task, repo.checkout))
        folder = repo.home / "tasks" / f"{repo.config.repo.name}-{number or 0:03d}"
    try:
        state = load_state(folder)
    except StateCorruptError as error:
        raise UsageError(f"--from {task}: {error}; name another task") from error
    if state is None:
        raise UsageError(
            f"--from {task}: no such task ever ran under {repo.home}; `instrument report` has all"
        )
    if not state.stage.is_terminal:
        raise UsageError(f"--from {task}: it is still under way; let it end first")
    return state


def _subject(repo: OpenRepo, path: str, base: str, blob: str) -> Subject:
    number = task_number(path)
    if number is None:
        raise UsageError(f"{path}: a task file is named NNN-slug.md, such as 007-retry.md")
    task = parse_task(repo.text(blob), path)
    if task.status != "ready":
        raise UsageError(f"{path}: the task is done already; --from {path} does it again from where it began")
    return Subject(
        task_id=f"{repo.config.repo.name}-{number:03d}",
        path=path,
        base=base,
        blob=blob,
        budget_microusd=task.budget_microusd,
    )


def check_depends(source: Store, start: str, subject: Subject, depends: Sequence[int]) -> None:
    """See that what the task depends on is done where its cells begin: nobody would do it there.

    Raises:
        UsageError: It is not.
    """
    folder = PurePosixPath(subject.path).parent
    paths = [path for path in source.paths(start) if PurePosixPath(path).parent == folder]
    done = {
        task_number(path)
        for path in paths
        if task_number(path) in depends
        and parse_task(source.read_blob(start, path) or b"", path).status == "done"
    }
    if waits := [f"{number:03d}" for number in depends if number not in done]:
        names = ", ".join(waits)
        raise UsageError(
            f"{subject.path} depends on {names}, which is not done where it begins; do that first"
        )
