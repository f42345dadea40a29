"""From what a person typed to a bake-off on disk: everything is held valid before anything is spent.

Limits: reads the person's repository and the home; writes below `<home>/bakeoffs`.
"""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from loop.bakeoff.plan import Plan, Subject, digest_of, order_cells
from loop.bakeoff.result import Result, find_unfinished, save_result
from loop.bakeoff.scratch import commit_files, make_source
from loop.bakeoff.stories import digests_of, keep_stories, key_of
from loop.bakeoff.subjects import OpenRepo, check_depends, find_subjects, open_repo
from loop.bakeoff.variants import Variant, with_settings
from loop.config import FILE_NAME, Config, parse_config
from loop.errors import UsageError
from loop.git.store import Store
from loop.home import make_private
from loop.run import World
from loop.session import Session, check_means, read_providers
from loop.shell.base import unpriced_models
from loop.shell.papers import read_papers

FOLDER = "bakeoffs"
USUAL_REMOTE = "origin"


@dataclass(frozen=True, slots=True)
class Asked:
    """`factory bakeoff TASK… --with …`, parsed."""

    repo: Path
    tasks: tuple[str, ...]
    """As typed; each begins on the branch as it is now."""
    replayed: tuple[str, ...]
    """Tasks of the home, by id or path; each begins where it began."""
    variants: tuple[Variant, ...]
    repeats: int
    stories: Mapping[str, bytes]


def begin(asked: Asked, world: World) -> Path:
    """Find the unfinished bake-off that the same command began, or begin one; return its folder.

    Raises:
        UsageError, Problems, GitError: Something that was typed or written does not hold; nothing is spent.
    """
    repo = open_repo(asked.repo, world)
    subjects = find_subjects(asked.tasks, asked.replayed, repo)
    name = repo.config.repo.name
    digest = digest_of(name, subjects, asked.variants, asked.repeats, digests_of(asked.stories))
    bakeoffs = make_private(repo.home / FOLDER)
    if (found := find_unfinished(bakeoffs, digest)) is not None:
        return found
    _check_stories(asked, subjects)
    folder = make_private(bakeoffs / secrets.token_hex(4))
    try:
        plan = _plan(asked, repo, folder, subjects, digest, world.now())
        save_result(folder, Result(plan=plan))
    except BaseException:
        # Without a result nobody would find it again.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _plan(
    asked: Asked, repo: OpenRepo, folder: Path, subjects: tuple[Subject, ...], digest: str, now: datetime
) -> Plan:
    commits = {f"refs/bases/{n}": subject.base for n, subject in enumerate(subjects)}
    source = make_source(folder, repo.context.store, commits)
    starts = tuple(
        tuple(
            _start(repo, source, subject, variant, f"refs/starts/{n}-{m}")
            for m, variant in enumerate(asked.variants)
        )
        for n, subject in enumerate(subjects)
    )
    cells = list(zip(subjects, starts, strict=True))
    reviewers = [
        [_check(asked, repo, source, subject, variant, row[m]) for subject, row in cells]
        for m, variant in enumerate(asked.variants)
    ]
    return Plan(
        bakeoff_id=folder.name,
        digest=digest,
        created_utc=now,
        repo=repo.config.repo.name,
        branch=repo.context.branch,
        remote=_remote_name(repo.config),
        subjects=subjects,
        variants=asked.variants,
        starts=starts,
        reviewers=tuple("; ".join(dict.fromkeys(names)) for names in reviewers),
        repeats=asked.repeats,
        stories=keep_stories(folder, asked.stories),
        cells=order_cells(folder.name, len(subjects), len(asked.variants), asked.repeats),
    )


def _remote_name(config: Config) -> str | None:
    return (config.repo.remote or USUAL_REMOTE) if config.merge.push else None


def _start(repo: OpenRepo, source: Store, subject: Subject, variant: Variant, ref: str) -> str:
    """The commit that a cell begins on: the base, with the task's text and the variant's settings."""
    toml = source.read_blob(subject.base, FILE_NAME)
    if toml is None:
        raise UsageError(f"{FILE_NAME} is not committed at {subject.base}, where {subject.task_id} began")
    config = parse_config(toml)
    if config.repo.name != repo.config.repo.name:
        raise UsageError(
            f"{subject.task_id} began when [repo] name was {config.repo.name}; name another task"
        )
    files = {
        subject.path: repo.text(subject.blob),
        FILE_NAME: with_settings(toml, variant),
    }
    message = f"Set up a cell of a bake-off\n\nTask: {subject.task_id}\nWith: {variant.name}"
    return commit_files(source, subject.base, files, author=config.merge.author, ref=ref, message=message)


def _check_stories(asked: Asked, subjects: Sequence[Subject]) -> None:
    """See that scripted and paid cells are not mixed: their figures could not be compared."""
    if not asked.stories:
        return
    for subject in subjects:
        for variant in asked.variants:
            if key_of(asked.stories, subject.path, variant.runtime) is None:
                raise UsageError(f"--story: none serves {subject.task_id} with {variant.name}; name one more")


def _check(
    asked: Asked, repo: OpenRepo, source: Store, subject: Subject, variant: Variant, start: str
) -> str:
    """Hold a cell's papers against each other, as its run will, keys and prices too; name its reviewer."""
    story = asked.stories.get(key_of(asked.stories, subject.path, variant.runtime) or "")
    context = replace(repo.context, store=source, runtime=variant.runtime, model=variant.model, story=story)
    papers = read_papers(context, start, subject.path, subject.blob)
    context = replace(context, providers=read_providers(papers.config, context.environment))
    if unknown := unpriced_models(context, papers.terms):
        names = ", ".join(unknown)
        raise UsageError(
            f"--with {variant.name}: the price of {names} is not known; "
            "give it one in factory.toml, or name another model"
        )
    check_depends(source, start, subject, papers.task.depends)
    session = Session(context, subject.task_id, subject.path, repo.config.repo.name, papers.config)
    check_means(session, papers.config, papers.terms)
    reviewer = papers.terms.reviewer
    return " ".join(part for part in (reviewer.runtime.value, reviewer.model) if part)
