"""What CI runs: the jobs of GitHub, Forgejo and Gitea, GitLab, CircleCI and Travis files.

Pure: no I/O. What a job builds goes before its tests; what only CI can do is left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import yaml

from loop.doctor.suggest_found import Fact, Files, Found, Note, Part, Rank
from loop.doctor.suggest_words import is_silent, is_system, is_usable, part_of, system_packages
from loop.doctor.suggest_yaml import compose, items, lines, table, word

_WORKFLOWS = (".github/workflows/", ".forgejo/workflows/", ".gitea/workflows/")
_EVENTS = {"push", "pull_request", "workflow_call"}
_GITLAB_WORDS = {
    "default",
    "include",
    "stages",
    "variables",
    "workflow",
    "cache",
    "image",
    "services",
    "pages",
}
_TRAVIS_STEPS = ("before_install", "install", "before_script", "script")
_FOREIGN = ("windows", "macos")


@dataclass(frozen=True, slots=True)
class Step:
    """One script of a job."""

    script: yaml.Node | None
    folder: str = ""
    env: Mapping[str, yaml.Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a file, its steps in order."""

    file: str
    name: str
    steps: tuple[Step, ...]
    services: tuple[str, ...] = ()
    """Databases and the like that run beside it."""


def _workflow_jobs(file: str, root: yaml.Node | None) -> Iterator[Job]:
    top = table(root)
    events = {word(item) for item in items(top.get("on"))} | set(table(top.get("on")))
    push = table(table(top.get("on")).get("push"))
    is_for_tags = "tags" in push and "branches" not in push and "pull_request" not in events
    if not events & _EVENTS or is_for_tags:
        return
    for name, node in table(top.get("jobs")).items():
        job = table(node)
        folder = word(table(table(job.get("defaults")).get("run")).get("working-directory"))
        if not word(job.get("runs-on")).startswith(_FOREIGN):
            services = tuple(table(job.get("services")))
            yield Job(file, name, tuple(_workflow_steps(job, folder)), services)


def _workflow_steps(job: Mapping[str, yaml.Node], folder: str) -> Iterator[Step]:
    for item in items(job.get("steps")):
        step = table(item)
        is_ours = word(step.get("shell")) not in {"pwsh", "powershell", "cmd", "python"}
        if is_ours and "secrets." not in word(step.get("if")):
            place = word(step.get("working-directory")) or folder
            yield Step(step.get("run"), place, table(step.get("env")))


def _gitlab_jobs(file: str, root: yaml.Node | None) -> Iterator[Job]:
    top = table(root)
    common = top.get("before_script") or table(top.get("default")).get("before_script")
    for name, node in top.items():
        job = table(node)
        if "script" in job and name not in _GITLAB_WORDS and not name.startswith("."):
            before = items(job.get("before_script") or common)
            steps = tuple(Step(line) for line in (*before, *items(job["script"])))
            yield Job(file, name, steps, tuple(word(n) for n in items(job.get("services")) if word(n)))


def _circle_jobs(file: str, root: yaml.Node | None) -> Iterator[Job]:
    for name, node in table(table(root).get("jobs")).items():
        steps = []
        for item in items(table(node).get("steps")):
            run = table(item).get("run")
            inner = table(run)
            folder = word(inner.get("working_directory"))
            steps.append(
                Step(inner.get("command") if inner else run, folder, table(inner.get("environment")))
            )
        yield Job(file, name, tuple(steps))


def _travis_jobs(file: str, root: yaml.Node | None) -> Iterator[Job]:
    top = table(root)
    yield Job(file, "travis", tuple(Step(line) for key in _TRAVIS_STEPS for line in items(top.get(key))))


def read_ci(files: Files) -> Iterator[Fact]:
    """Every job's commands, the set-up of the first one that tests, and what pip brings for the others."""
    jobs = [list(_facts(job)) for job in _jobs(files)]
    useful = [facts for facts in jobs if _parts(facts) - {Part.SETUP}]
    tested = (facts for facts in useful if _parts(facts) & {Part.TEST, Part.WHOLE})
    main = next(tested, next(iter(useful), []))
    known: set[str] = set()
    for facts in useful:
        checks = {fact.run for fact in facts if isinstance(fact, Found) and fact.part is not Part.SETUP}
        is_variant = facts is not main and checks <= known
        known |= checks
        for fact in facts:
            if not isinstance(fact, Found) or fact.part is not Part.SETUP or facts is main:
                yield fact
            elif "pip" in fact.run and not is_variant:
                yield replace(fact, rank=Rank.NEEDED)


def _parts(facts: list[Fact]) -> set[Part]:
    return {fact.part for fact in facts if isinstance(fact, Found)}


def _jobs(files: Files) -> Iterator[Job]:
    for file, text in files.items():
        if file.startswith(_WORKFLOWS):
            yield from _workflow_jobs(file, compose(text))
        elif file == ".gitlab-ci.yml":
            yield from _gitlab_jobs(file, compose(text))
        elif file.startswith(".circleci/"):
            yield from _circle_jobs(file, compose(text))
        elif file == ".travis.yml":
            yield from _travis_jobs(file, compose(text))


def _facts(job: Job) -> Iterator[Fact]:
    """A job's commands; what it builds goes before each of its tests."""
    built: list[str] = []
    checks = 0
    for step in job.steps:
        for _, line in lines(step.script):
            if names := " ".join(system_packages(line)):
                yield Note(f"{job.file}: job {job.name} installs {names}; your [image] needs them")
        for number, run in _commands(step):
            part = part_of(run)
            if part is Part.BUILD:
                built.append(run)
            elif part is not None:
                checks += part is not Part.SETUP
                whole = " && ".join([*built, run]) if part is Part.TEST else run
                yield Found(part, whole, job.file, number, Rank.CI)
    if checks and job.services:
        said = " ".join(name for name in job.services if name.isprintable())[:200]
        yield Note(f"{job.file}: job {job.name} runs beside {said}, which a job here has not")


def _commands(step: Step) -> list[tuple[int, str]]:
    """The usable commands of a script: each of its lines, or all in one where they hang together."""
    if any("${{" in word(value) for value in step.env.values()) or "${{" in step.folder:
        return []
    script = [(n, line) for n, line in lines(step.script) if not (is_silent(line) or is_system(line))]
    before = f"cd {step.folder} && " if step.folder.strip("./") else ""
    if not all(is_usable(before + line) for _, line in script):
        return []
    if script and any(part_of(line) is None for _, line in script):
        joined = before + " && ".join(line for _, line in script)
        return [(script[0][0], joined)] if is_usable(joined) else []
    return [(n, before + line) for n, line in script]
