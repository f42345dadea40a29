"""Opens one task for one run: the repository, the papers, the lock, the state.

Limits: reads what a person wrote, makes folders; drives nothing.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from instrument.found import find_home
from instrument.schema.state import TaskState, Terms
from instrument.schema.vocabulary import ProviderName, Purpose
from jobs.ports import Jobs
from loop.config import FILE_NAME, Config, parse_config
from loop.errors import BusyError, UsageError
from loop.git.checkout import Checkout, default_branch, default_remote, find_checkout, read_committed
from loop.git.store import open_store
from loop.home import LOCK_FILE, make_home, task_folder
from loop.ownership import check_owner
from loop.problems import Problem, Problems
from loop.provider_tables import AnthropicTable, OpenaiTable
from loop.request import RunRequest
from loop.shell.base import fetch_base, ready_time
from loop.shell.context import Context, Provider
from loop.shell.orders import asked_providers, job_env
from loop.shell.papers import Papers, read_papers
from loop.taskfile import task_number

_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Session:
    """A task that this process holds."""

    context: Context
    task_id: str
    task_path: str
    repo: str
    config: Config
    """As committed on the default branch now."""

    @property
    def folder(self) -> Path:
        """The task's own."""
        return self.context.folder


@contextmanager
def open_session(
    request: RunRequest,
    *,
    jobs: Jobs,
    environment: Mapping[str, str],
    now: Callable[[], datetime],
    driver: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """Find the task and hold its lock for the block.

    Args:
        request: What the person asked for.
        jobs: Runs the jobs.
        environment: The host's.
        now: The clock.
        driver: Who asks, where that is one who carries tasks on over many processes.
        say: Told whom the request waits for, where it is one that waits.

    Raises:
        UsageError: There is no such repository or task.
        Problems: `factory.toml` is faulty.
        BusyError: Another loop holds the task, or another driver has it.
        GitError: The repository cannot be used.
    """
    session = find_session(request, jobs=jobs, environment=environment, now=now)
    # Before the lock, too: that another driver has the task says more than that somebody holds it.
    check_owner(session.folder, session.task_id, driver)
    with hold_lock(session.folder, session.task_id, say if request.wait else None):
        check_owner(session.folder, session.task_id, driver)
        yield session


def find_session(
    request: RunRequest, *, jobs: Jobs, environment: Mapping[str, str], now: Callable[[], datetime]
) -> Session:
    """Find the task without holding it: what it is called and where it lives.

    Raises:
        UsageError: There is no such repository or task.
        Problems: `factory.toml` is faulty.
        GitError: The repository cannot be used.
    """
    home = find_home(environment)
    checkout = find_checkout(request.repo)
    config, branch = read_default(checkout)
    task_path = task_path_of(request.task, checkout)
    number = task_number(task_path)
    if number is None:
        raise UsageError(f"{task_path}: a task file is named NNN-slug.md, such as 007-retry.md")
    task_id = f"{config.repo.name}-{number:03d}"
    # Before anything else is made in it, which would leave it open to all.
    make_home(home)
    store = open_store(home, config.repo.name, checkout, branch)
    remote = default_remote(checkout, config.repo.remote) if config.merge.push else None
    if config.merge.push and remote is None:
        raise UsageError("[merge] push is on, but the repository has no remote; add one, or set push = false")
    folder = task_folder(home, task_id)
    context = Context(
        home=home,
        folder=folder,
        store=store,
        branch=branch,
        remote=remote,
        jobs=jobs,
        providers=read_providers(config, environment),
        environment=environment,
        now=now,
        runtime=request.runtime,
        model=request.model,
        story=request.story,
        # What one measures there is the agents, not whoever would help them.
        has_ladder=request.purpose is not Purpose.BAKEOFF,
    )
    return Session(context, task_id, task_path, config.repo.name, config)


@contextmanager
def hold_lock(folder: Path, task_id: str, say_waiting: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold a task's lock.

    Args:
        folder: The task's.
        task_id: Its id.
        say_waiting: Told of whoever holds it, and then waited until it is free; none: nobody waits.

    Raises:
        BusyError: Another process holds it.
    """
    # `instrument status` holds a free lock for a moment: that is no other loop.
    lock = FileLock(folder / LOCK_FILE, timeout=_LOOK_S, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        line = f"{task_id}: another loop holds this task (task_locked)"
        if say_waiting is None:
            raise BusyError(f"{line}; wait for it, or let `factory run --wait` do so") from None
        say_waiting(line)
        lock.acquire(timeout=-1, poll_interval=_LOOK_S)
    try:
        yield
    finally:
        lock.release()


def read_default(checkout: Checkout) -> tuple[Config, str]:
    """The configuration as committed on the default branch, and the branch that it may name instead.

    Raises:
        Problems: There is none, or it is faulty.
        BranchMissingError: There is no such branch.
    """
    branch = default_branch(checkout, None)
    config = config_on(checkout, branch)
    return config, branch if config.repo.branch is None else default_branch(checkout, config.repo.branch)


def config_on(checkout: Checkout, branch: str) -> Config:
    """The configuration as committed on a local branch.

    Raises:
        Problems: There is none, or it is faulty.
    """
    data = read_committed(checkout, branch, FILE_NAME)
    if data is None:
        sentence = f"is not committed on {branch}; write it (see README), commit it, run again"
        raise Problems([Problem(FILE_NAME, None, sentence)])
    return parse_config(data)


def task_path_of(task: str, checkout: Checkout) -> str:
    """The path in the repository of a task as typed; it need not exist in the working copy.

    Raises:
        UsageError: It lies outside the repository.
    """
    typed = Path(task)
    candidates = (Path.cwd() / typed, checkout.root / typed)
    for candidate in candidates:
        path = Path(os.path.normpath(candidate))
        if path.is_relative_to(checkout.root) and (path.exists() or candidate is candidates[-1]):
            return str(PurePosixPath(path.relative_to(checkout.root)))
    raise UsageError(f"{task} is not in the repository {checkout.root}; name a file of its tasks folder")


def read_providers(config: Config, environment: Mapping[str, str]) -> dict[ProviderName, Provider]:
    """Every provider as the repo has it, with its keys from the host; one that is not set is empty."""
    return {name: _read_provider(name, config.provider.of(name), environment) for name in ProviderName}


def _read_provider(
    name: ProviderName, table: AnthropicTable | OpenaiTable, environment: Mapping[str, str]
) -> Provider:
    first, *others = (
        Provider(name, way.base_url, way.auth, environment.get(way.key_variable, ""), way.key_variable)
        for way in (table, *table.fallback)
    )
    return replace(first, prices=table.prices, fallbacks=tuple(others))


def new_state(session: Session, request: RunRequest, *, created_utc: datetime) -> TaskState:
    """The first state of a task, once everything a person wrote holds.

    Raises:
        UsageError: The task is not committed, not ready, or its number is taken twice.
        BusyError: A task that it depends on is not done.
        Problems: The task file, alone or with the configuration, is faulty.
    """
    context = session.context
    base = fetch_base(context, session.repo)
    blob = task_blob(session, base)
    papers = read_papers(context, base, session.task_path, blob)
    if papers.task.status != "ready":
        raise UsageError(f"{session.task_path}: the task is done already; nothing to do")
    siblings = _siblings(session, base)
    _check_number(session, siblings)
    _check_depends(session, base, papers, siblings)
    check_means(session, papers.config, papers.terms)
    return TaskState(
        run_id=secrets.token_hex(4),
        nonce=secrets.token_hex(16),
        task_id=session.task_id,
        purpose=request.purpose,
        created_utc=created_utc,
        repo=session.repo,
        task_path=session.task_path,
        task_blob=blob,
        terms=papers.terms,
        authorised=request.auto_merge or papers.config.merge.auto,
        asked_runtime=request.runtime,
        asked_model=request.model,
        ready_utc=ready_time(context, base, session.task_path),
    )


def task_blob(session: Session, commit: str) -> str:
    """The blob id of the task file on the branch.

    Raises:
        UsageError: It is not committed there.
    """
    blob = session.context.store.blob_id(commit, session.task_path)
    if blob is None:
        branch = session.context.branch
        where = f"{session.context.remote}/{branch}" if session.context.remote else branch
        raise UsageError(f"{session.task_path} is not committed on {where}; commit it there and run again")
    return blob


def _check_number(session: Session, siblings: list[str]) -> None:
    mine = PurePosixPath(session.task_path)
    twins = [path for path in siblings if task_number(path) == task_number(str(mine))]
    if len(twins) > 1:
        raise UsageError(f"two task files have one number: {', '.join(twins)}; rename one of them")


def _check_depends(session: Session, base: str, papers: Papers, siblings: list[str]) -> None:
    numbered = {task_number(path): path for path in siblings}
    unknown = [n for n in papers.task.depends if n not in numbered]
    if unknown:
        line = papers.task.lines.get("depends")
        names = ", ".join(f"{n:03d}" for n in unknown)
        raise Problems([Problem(session.task_path, line, f"depends: there is no task {names} on the branch")])
    waits = [numbered[n] for n in papers.task.depends if not _is_done(session, base, numbered[n])]
    if waits:
        raise BusyError(f"{session.task_id} waits for {', '.join(waits)}, which are not done on the branch")


def _siblings(session: Session, base: str) -> list[str]:
    folder = PurePosixPath(session.task_path).parent
    paths = session.context.store.paths(base)
    return [p for p in paths if PurePosixPath(p).parent == folder and task_number(p) is not None]


def _is_done(session: Session, base: str, path: str) -> bool:
    data = session.context.store.read_blob(base, path) or b""
    front = data.replace(b"\r\n", b"\n").split(b"\n---", 1)[0]
    return any(line.strip() == b"status: done" for line in front.split(b"\n"))


def check_means(session: Session, config: Config, terms: Terms) -> None:
    """What the host must have before anything is begun: variables, and a key for each provider.

    Raises:
        UsageError: A key is not set.
        Problems: A variable is not set.
    """
    job_env(session.context, config)
    for provider in asked_providers(session.context, terms):
        for way in provider.ways:
            if not way.secret:
                raise UsageError(f"{way.key_variable} is not set; set it to the provider's key")
