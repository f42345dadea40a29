"""The task file and `factory.toml` in force, read from git and never from a job's tree.

Limits: reads the store, writes nothing.
"""

import difflib
from dataclasses import dataclass
from functools import lru_cache

from instrument.schema.state import TaskState, Terms
from instrument.schema.vocabulary import Role, RuntimeName
from loop.config import FILE_NAME, Config, parse_config
from loop.git.store import Store
from loop.problems import Problem, Problems
from loop.prompts.compose import check_template
from loop.shell.context import Context
from loop.taskfile import Task, parse_task
from loop.together import check_together, terms_for


@dataclass(frozen=True, slots=True)
class Papers:
    """One task's text and the configuration of one base commit."""

    task: Task
    config: Config
    templates: dict[Role, str]
    """Prompt templates of the repo's own, by role; a role without one is absent."""
    dockerfile: str | None
    terms: Terms


def read_papers(context: Context, commit: str, task_path: str, task_blob: str) -> Papers:
    """Read and hold against each other what a person wrote.

    Raises:
        Problems: Everything that is wrong, at once.
    """
    return _read(
        context.store,
        commit,
        task_path,
        task_blob,
        context.runtime,
        context.model,
        has_ladder=context.has_ladder,
    )


@lru_cache(maxsize=8)
def _read(
    store: Store,
    commit: str,
    task_path: str,
    task_blob: str,
    runtime: RuntimeName | None,
    model: str | None,
    *,
    has_ladder: bool,
) -> Papers:
    """The same, read once: neither a commit nor a blob ever changes, and every effect asks for them."""
    config = read_config(store, commit)
    task = parse_task(store.git(["cat-file", "blob", task_blob]).out, task_path)
    check_together(task, config, runtime=runtime, model=model, has_ladder=has_ladder)
    return Papers(
        task=task,
        config=config,
        templates=_templates(store, commit, config),
        dockerfile=_dockerfile(store, commit, config),
        terms=terms_for(task, config, runtime=runtime, model=model, has_ladder=has_ladder),
    )


def papers_of(context: Context, state: TaskState, commit: str) -> Papers:
    """The papers in force for a task, its configuration as of `commit`."""
    return read_papers(context, commit, state.task_path, state.task_blob)


def read_config(store: Store, commit: str) -> Config:
    """The configuration of a commit.

    Raises:
        Problems: There is none, or it is faulty.
    """
    data = store.read_blob(commit, FILE_NAME)
    if data is None:
        raise Problems([Problem(FILE_NAME, None, "is not committed on the branch; write it and commit it")])
    return parse_config(data)


def task_difference(context: Context, state: TaskState) -> str:
    """What the last edit of the task file changed, as a unified diff; empty where it was not edited."""
    if state.previous_task_blob is None:
        return ""
    old, new = (
        context.store.git(["cat-file", "blob", blob]).out.decode(errors="replace").splitlines(keepends=True)
        for blob in (state.previous_task_blob, state.task_blob)
    )
    return "".join(difflib.unified_diff(old, new, "task before", "task now"))


def _templates(store: Store, commit: str, config: Config) -> dict[Role, str]:
    named = {Role.CODER: config.prompts.coder, Role.REVIEWER: config.prompts.reviewer}
    templates: dict[Role, str] = {}
    for role, path in named.items():
        if path is not None:
            templates[role] = _text(store, commit, path, f"[prompts] {role}")
            check_template(role, templates[role], path)
    return templates


def _dockerfile(store: Store, commit: str, config: Config) -> str | None:
    path = config.image.dockerfile
    return None if path is None else _text(store, commit, path, "[image] dockerfile")


def _text(store: Store, commit: str, path: str, key: str) -> str:
    data = store.read_blob(commit, path)
    if data is None:
        raise Problems([Problem(FILE_NAME, None, f"{key}: {path} is not committed on the branch")])
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Problems([Problem(path, None, "the file is not UTF-8; save it as UTF-8")]) from None
