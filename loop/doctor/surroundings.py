"""What the checks look at: one repo, one engine, the environment; each part is found when it is asked for.

Limits: reads; writes below `scratch` alone, which is the caller's to remove. A part that cannot be had
raises each time: a check that needs it stands behind the one that says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from instrument.found import find_home
from instrument.schema.state import Terms
from instrument.schema.vocabulary import ProviderName
from jobs.engine import Engine
from jobs.engine.states import EngineInfo
from jobs.images import ImageShelf
from jobs.progress import Progress
from jobs.runner import DockerJobs
from jobs.setup import setup_tag
from loop.config import Config
from loop.doctor.shelf import FoundShelf
from loop.git.bare import borrow_objects
from loop.git.checkout import Checkout, default_remote, find_checkout
from loop.git.store import Store, open_store
from loop.home import make_private
from loop.problems import Problems
from loop.session import read_default, read_providers
from loop.shell.context import Context, Provider
from loop.shell.orders import digest_of_inputs
from loop.taskfile import Task, parse_task, task_number
from loop.together import terms_for

TASKS = "tasks/"


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Fixed for one examination; no slots, since what was found once is kept."""

    repo: Path
    """A folder of the person's repository."""
    environment: Mapping[str, str]
    scratch: Path
    """An empty folder of this process: a store and jobs' folders go there, never into the home."""
    now: datetime
    on_progress: Callable[[Progress], None] = lambda _: None
    """Called about every two seconds while a job of this examination runs."""

    @cached_property
    def home(self) -> Path:
        """The factory's home; it need not exist."""
        return find_home(self.environment)

    @cached_property
    def checkout(self) -> Checkout:
        """The person's repository.

        Raises:
            CheckoutUnfitError: There is none.
        """
        return find_checkout(self.repo)

    @cached_property
    def default(self) -> tuple[Config, str]:
        """`factory.toml` as committed, and the default branch.

        Raises:
            Problems: There is none, or it is faulty.
            GitError: There is no such branch.
        """
        return read_default(self.checkout)

    @property
    def config(self) -> Config:
        """See `default`."""
        return self.default[0]

    @property
    def branch(self) -> str:
        """See `default`."""
        return self.default[1]

    @cached_property
    def remote(self) -> str | None:
        """Where landings are pushed; none: `[merge] push` is off, or there is no remote.

        Raises:
            RemoteMissingError: The configured one is not there.
        """
        return default_remote(self.checkout, self.config.repo.remote) if self.config.merge.push else None

    @cached_property
    def store(self) -> Store:
        """A store of this examination's own, which borrows the checkout's objects.

        Raises:
            GitError: The repository cannot be used.
        """
        store = open_store(
            make_private(self.scratch / "home"), self.config.repo.name, self.checkout, self.branch
        )
        borrow_objects(store.path, self.checkout.common_dir / "objects")
        return store

    @cached_property
    def tip(self) -> str:
        """The commit of the local default branch, fetched into the store.

        Raises:
            GitError: The repository cannot be used.
        """
        return self.store.fetch_tips(self.branch, None).local

    @cached_property
    def ready(self) -> tuple[Task, ...]:
        """The valid ready tasks of the branch, by path; may be empty."""
        paths = (path for path in self.store.paths(self.tip) if path.startswith(TASKS))
        found = []
        for path in sorted(path for path in paths if task_number(path) is not None):
            try:
                task = parse_task(self.store.read_blob(self.tip, path) or b"", path)
            except Problems:
                continue
            if task.status == "ready":
                found.append(task)
        return tuple(found)

    @property
    def terms(self) -> tuple[Terms, ...]:
        """What the ready tasks work by; where there is none, what one without wishes would."""
        plain = Task(path="", number=0, status="ready", title="", body="", text="", files=("**",))
        return tuple(terms_for(task, self.config) for task in self.ready or (plain,))

    @property
    def providers(self) -> Mapping[ProviderName, Provider]:
        """Every provider as the repo has it, with its keys."""
        return read_providers(self.config, self.environment)

    @cached_property
    def context(self) -> Context:
        """What the shell's own lookups take; no job is ever ordered with it."""
        return Context(
            home=self.scratch,
            folder=self.scratch,
            store=self.store,
            branch=self.branch,
            remote=None,
            jobs=self.jobs,
            providers=self.providers,
            environment=self.environment,
            now=lambda: self.now,
        )

    @cached_property
    def engine(self) -> Engine:
        """The Docker Engine.

        Raises:
            EngineUnavailableError: None answers.
        """
        return Engine.connect()

    @cached_property
    def info(self) -> EngineInfo:
        """What it says of itself."""
        return self.engine.info()

    @cached_property
    def shelf(self) -> ImageShelf:
        """The images that are there; none is built."""
        return FoundShelf(self.engine, locks=self.scratch / "locks", environment=self.environment)

    @cached_property
    def jobs(self) -> DockerJobs:
        """Runs the examination's own jobs."""
        return DockerJobs(
            connect=lambda: self.engine, locks=self.scratch / "locks", on_progress=self.on_progress
        )

    @cached_property
    def job_image(self) -> str:
        """Id of the image that the repo's jobs are made from, before its set-up.

        Raises:
            ImageUnfitError: It is not there.
        """
        config = self.config
        path = config.image.dockerfile
        data = None if path is None else self.store.read_blob(self.tip, path)
        dockerfile = None if data is None else data.decode("utf-8", "replace")
        return self.shelf.job(config.image.base, dockerfile, has_docker=config.limits.has_docker)

    @cached_property
    def start_image(self) -> str | None:
        """Id of the image that a job of the branch starts from; none: its set-up was not run yet.

        Raises:
            ImageUnfitError: What it is made from is not there.
            Problems: A declared input matches no file.
        """
        config = self.config
        if not config.cached:
            return self.job_image
        digest = digest_of_inputs(self.store, config, self.tip)
        found = self.engine.images.inspect(setup_tag(self.job_image, config.cached, digest))
        return found.id if found else None

    def close(self) -> None:
        """Give the engine's connections back; may be called twice."""
        if "engine" in self.__dict__:
            self.engine.close()
