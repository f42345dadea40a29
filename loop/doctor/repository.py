"""The repo as a person wrote it: where it is, its branch, `factory.toml`, its task files.

Limits: reads the checkout; nothing is fetched but from it.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from instrument.schema.vocabulary import Role
from loop.config import FILE_NAME, parse_config
from loop.doctor.finding import Finding, failed, note, ok, skipped
from loop.doctor.surroundings import TASKS, Surroundings
from loop.drafts import among_others
from loop.git.checkout import committed_paths, read_committed
from loop.git.errors import CheckoutUnfitError, NoRepositoryError
from loop.problems import Problem, Problems
from loop.prompts.compose import check_template
from loop.taskfile import Task, parse_task, task_number
from loop.together import check_together

DIGITS = 12
SHOWN = 5


def look_at_repository(surroundings: Surroundings) -> Finding:
    """Whether there is a git repository that git trusts."""
    try:
        return ok(str(surroundings.checkout.root))
    except NoRepositoryError as error:
        return failed(" ".join(error.found.split()), error.mend)
    except CheckoutUnfitError as error:
        return failed(" ".join(str(error).split()), "name a folder of another repository with --repo")


def look_at_config(surroundings: Surroundings) -> Finding:
    """Whether the committed `factory.toml` holds, and the one in the working copy."""
    try:
        config, branch = surroundings.default
        problems = [*_unset(surroundings), *_named_files(surroundings)]
        draft = _draft(surroundings)
        if draft is not None:
            parse_config(draft)
    except Problems as error:
        problems = list(error.problems)
    if problems:
        return failed(_told(problems), "mend that and commit it; `factory doctor --suggest` proposes a file")
    said = f"{config.repo.name}: {_count(len(config.checks), 'check')}, runtime {config.agent.runtime}"
    if draft is not None:
        return note(f"{said}; the working copy has another text", f"a run reads what {branch} has: commit it")
    return ok(said)


def look_at_tasks(surroundings: Surroundings) -> Finding:
    """Whether every task file holds, as committed and as it lies in the working copy."""
    texts = _task_texts(surroundings)
    if not texts:
        return skipped("there is no task file yet", "`factory new SLUG` writes one")
    problems: dict[Problem, None] = {}
    tasks: dict[str, Task] = {}
    for path, data in texts:
        try:
            tasks[path] = parse_task(data, path)
            problems |= dict.fromkeys(_faults(tasks[path], {path for path, _ in texts}, surroundings))
        except Problems as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        return failed(_told(list(problems)), "mend that and commit it")
    ready = sum(task.status == "ready" for task in tasks.values())
    return ok(f"{ready} ready, {len(tasks) - ready} done")


def look_at_branch(surroundings: Surroundings) -> Finding:
    """Whether the default branch can be copied into a store of ours."""
    return ok(f"{surroundings.branch} at {surroundings.tip[:DIGITS]}")


def _unset(surroundings: Surroundings) -> Iterator[Problem]:
    config = surroundings.config
    for name in config.job_env:
        if name not in surroundings.environment:
            line = config.lines.of("job", "env")
            yield Problem(config.path, line, f"[job] env: {name} is not set here; set it")


def _named_files(surroundings: Surroundings) -> Iterator[Problem]:
    """What is wrong with the files that it names: a Dockerfile, templates of prompts."""
    config = surroundings.config
    templates = {"[prompts] coder": config.prompts.coder, "[prompts] reviewer": config.prompts.reviewer}
    named = {"[image] dockerfile": config.image.dockerfile, **templates}
    for key, path in named.items():
        if path is None:
            continue
        data = read_committed(surroundings.checkout, surroundings.branch, path)
        if data is None:
            yield Problem(config.path, None, f"{key}: {path} is not committed on {surroundings.branch}")
        elif key in templates:
            role = Role(key.rpartition(" ")[2])
            try:
                check_template(role, data.decode("utf-8", "replace"), path)
            except Problems as error:
                yield from error.problems


def _draft(surroundings: Surroundings) -> bytes | None:
    """The working copy's `factory.toml`, where it is another than the committed one."""
    committed = read_committed(surroundings.checkout, surroundings.branch, FILE_NAME)
    file = surroundings.checkout.root / FILE_NAME
    data = file.read_bytes() if file.is_file() and not surroundings.checkout.is_bare else committed
    return data if data != committed else None


def _task_texts(surroundings: Surroundings) -> list[tuple[str, bytes]]:
    """Every text of every task file, by path: the committed one, and the working copy's if it is another."""
    checkout, branch = surroundings.checkout, surroundings.branch
    texts = {
        (path, read_committed(checkout, branch, path) or b"")
        for path in committed_paths(checkout, branch, TASKS.rstrip("/"))
        if is_task(path)
    }
    folder = checkout.root / TASKS
    present = sorted(folder.iterdir()) if folder.is_dir() and not checkout.is_bare else []
    texts |= {
        (f"{TASKS}{file.name}", file.read_bytes())
        for file in present
        if is_task(file.name) and file.is_file()
    }
    return sorted(texts)


def is_task(path: str) -> bool:
    """Whether it is named as a task file."""
    return task_number(path) is not None


def _faults(task: Task, paths: Collection[str], surroundings: Surroundings) -> Iterator[Problem]:
    """What the configuration and its neighbours say against a ready task."""
    if task.status != "ready":
        return
    try:
        check_together(task, surroundings.config)
    except Problems as error:
        yield from error.problems
    yield from among_others(task, {PurePosixPath(path).name for path in paths})


def _told(problems: Sequence[Problem]) -> str:
    more = len(problems) - SHOWN
    said = "; ".join(str(problem) for problem in problems[:SHOWN])
    return f"{said}; and {more} more" if more > 0 else said


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
