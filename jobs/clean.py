"""Removes everything that carries our label from the engine.

Talks to the engine; touches nothing without the label.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.engine import Engine
from jobs.pod import OURS

ROUNDS = 10
"""Images go children first; each round frees the parents of what the last one removed."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts of what went, and of images that other containers still use."""

    containers: int
    volumes: int
    images: int
    images_kept: int


def remove_all(engine: Engine, also: Mapping[str, str] | None = None) -> Removed:
    """Remove our containers, volumes, then images, intermediate stages included.

    Args:
        engine: Where.
        also: Labels that an object must have besides ours; none: ours is enough.
    """
    ours = {OURS: "1", **(also or {})}
    containers = engine.containers.find(ours)
    for container in containers:
        engine.containers.remove(container.id)
    volumes = engine.volumes.find(ours)
    for name, _ in volumes:
        engine.volumes.remove(name)
    images = 0
    for _ in range(ROUNDS):
        gone = sum(engine.images.remove(image.id, force=True) for image in engine.images.find(ours))
        images += gone
        if not gone:
            break
    return Removed(len(containers), len(volumes), images, len(engine.images.find(ours)))
