"""The real surroundings of a process that runs tasks: the engine that jobs run on, the clock.

Limits: makes them; the engine is not reached before something needs it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from jobs.runner import DockerJobs
from loop.progress import Progress
from loop.run import World
from loop.signals import Signals


def real_world(
    environment: Mapping[str, str], progress: Progress, signals: Signals
) -> tuple[DockerJobs, World]:
    """What runs jobs, which tells `progress` of them, and the world with it; the caller closes the jobs."""
    jobs = DockerJobs(
        say=progress.note,
        on_progress=lambda beat: progress.beats(beat.elapsed_s, beat.ledger, beat.doing),
    )
    world = World(
        jobs=jobs,
        environment=environment,
        signals=signals,
        progress=progress,
        now=lambda: datetime.now(UTC),
        load=jobs.load,
    )
    return jobs, world
