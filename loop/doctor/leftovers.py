"""What dead runs left: pods that nobody waits for, tasks whose loop is gone.

Talks to the engine; reads the home. Nothing is removed.
"""

from instrument.standing import find_standing
from jobs.objects import DockerObjects
from jobs.orphans import look_at_pods
from jobs.pod import OURS
from loop.doctor.finding import Finding, note, ok
from loop.doctor.surroundings import Surroundings

SHOWN = 3


def look_at_leftovers(surroundings: Surroundings) -> Finding:
    """What `python -m jobs gc` would remove, and tasks that were interrupted."""
    engine, home, now = surroundings.engine, surroundings.home, surroundings.now
    fates = look_at_pods(engine, home, now)
    pods = [fate.pod for fate in fates if not fate.is_kept]
    containers = sum(len(pod.containers) for pod in pods)
    volumes = [name for pod in pods for name in pod.volumes]
    volumes += DockerObjects(engine, image=str).stale(now)  # nothing is filled here
    networks = engine.networks({OURS: "1"})
    counts = {"container": containers, "volume": len(volumes), "network": len(networks)}
    said = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items() if n]
    mends = ["`python -m jobs gc` removes them"] if said else []
    interrupted = [each for each in find_standing(home) if each.how == "interrupted"]
    if interrupted:
        said.append(f"interrupted: {', '.join(each.task_id for each in interrupted[:SHOWN])}")
        mends.append(f"`{interrupted[0].command}` continues it")
    if not said:
        return ok("none")
    return note("; ".join(said), "; ".join(mends))
