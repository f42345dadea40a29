"""The Docker Engine: what it is, which container runtimes it has, which of our images.

Talks to the engine; makes and changes nothing there.
"""

from jobs.errors import EngineRefusedError, EngineUnavailableError, ImageUnfitError
from jobs.pod import require_runtime
from loop.doctor.finding import Finding, failed, note, ok
from loop.doctor.surroundings import Surroundings
from loop.git.errors import GitError
from loop.problems import Problems

SLOW_STORAGE = ("vfs",)
"""Copies an image whole for each container."""
SANDBOXES = ("runsc", "sysbox-runc")
PLUMBING = "io.containerd."
BUILD = "`python -m jobs images` builds it, once, within minutes"


def look_at_engine(surroundings: Surroundings) -> Finding:
    """Whether one answers, and what it is."""
    try:
        info = surroundings.info
    except EngineUnavailableError as error:
        mend = "start Docker, or name its engine with DOCKER_HOST or `docker context use`"
        # The sentence ends with advice for who has no more to read.
        return failed(str(error).partition(";")[0].removesuffix("."), mend)
    said = f"{info.version}, storage {info.storage}, cgroup {info.cgroups or '?'}, {info.cpus} processors"
    if info.storage in SLOW_STORAGE:
        return note(said, "this storage driver copies whole images: each job starts slowly; use overlay2")
    return ok(said)


def look_at_runtimes(surroundings: Surroundings) -> Finding:
    """Whether the configured container runtime is registered, and which sandboxes are."""
    known = [name for name in surroundings.info.runtimes if not name.startswith(PLUMBING)]
    there = [name for name in SANDBOXES if name in known]
    said = f"{', '.join(known) or 'none by name'}; {_sandboxes(there)}"
    name = surroundings.config.limits.container_runtime
    if name is None:
        return ok(f"{said}; jobs take the engine's default")
    try:
        require_runtime(name, surroundings.info.runtimes)
    except EngineRefusedError:
        mend = "register it with the engine, or change [job] container_runtime"
        return failed(f"[job] container_runtime is {name}, the engine has {', '.join(known)}", mend)
    return ok(f"{said}; jobs take {name}")


def _sandboxes(there: list[str]) -> str:
    absent = [name for name in SANDBOXES if name not in there]
    return f"no {' and no '.join(absent)}" if absent else "both sandboxes are there"


def look_at_images(surroundings: Surroundings) -> Finding:
    """Whether every image is there from which this repo's jobs start."""
    shelf = surroundings.shelf
    try:
        agent, _ = shelf.agent()
        sidecar = surroundings.engine.images.inspect(shelf.sidecar())
    except ImageUnfitError as error:
        return failed(str(error), BUILD)
    try:
        is_set_up = surroundings.start_image is not None
    except ImageUnfitError as error:
        image = surroundings.config.image
        own = f"[image] {image.base or image.dockerfile}: " if image.base or image.dockerfile else ""
        by_a_run = f"the first run makes it, or {lint_command(surroundings)}"
        return failed(f"{own}{error}", by_a_run if own or surroundings.config.limits.has_docker else BUILD)
    tags = (agent, next(iter(sidecar.tags), "sidecar") if sidecar else "sidecar")
    said = ", ".join(tag.removeprefix("factory-loop/").replace(":", " ") for tag in tags)
    return ok(said if is_set_up else f"{said}; the set-up image is made by the first run")


def lint_command(surroundings: Surroundings) -> str:
    """What a person types to run set-up and checks without a model."""
    try:
        task = surroundings.ready[0].path if surroundings.ready else "TASK"
    except (GitError, Problems):
        task = "TASK"
    return f"`factory lint {task}`"
