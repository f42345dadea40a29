"""Removes the images of ours that are past the cap.

Talks to the engine; what a container uses stays, whoever made it.
"""

from contextlib import suppress
from datetime import datetime

from jobs.engine import Engine
from jobs.errors import EngineRefusedError
from jobs.eviction import Fate, decide, is_mark, mark_of, real_tags


def mark_used(engine: Engine, image: str, now: datetime) -> None:
    """Note on the engine that the image of this id is used now; one without a tag is no image of ours."""
    found = engine.images.inspect(image)
    name = next(iter(real_tags(found)), None) if found else None
    if found is None or name is None or (mark := mark_of(name, now)) in found.tags:
        return
    engine.images.tag(image, mark)
    for old in filter(is_mark, found.tags):
        engine.images.remove(old)


def look_at_images(engine: Engine, *, cap_bytes: int, now: datetime) -> tuple[Fate, ...]:
    """What `make_room` would do; nothing is changed."""
    in_use = {container.image for container in engine.containers.find({})}
    images, hidden = engine.images.all()
    return decide(images, hidden, cap_bytes=cap_bytes, now=now, in_use=in_use)


def make_room(engine: Engine, *, cap_bytes: int, now: datetime) -> tuple[Fate, ...]:
    """Remove images of ours, the least recently used first, until the rest is within the cap.

    Returns:
        The fate of each; one that the engine did not give up is kept.
    """
    fates = look_at_images(engine, cap_bytes=cap_bytes, now=now)
    return tuple(fate if fate.is_kept else remove_image(engine, fate) for fate in fates)


def remove_image(engine: Engine, fate: Fate) -> Fate:
    """Remove one image that is to go; its fate is another where somebody took it meanwhile."""
    # Tag by tag, and never by force: whoever marks it as used at this moment keeps it.
    for name in sorted(fate.image.tags, key=is_mark, reverse=True) or [fate.image.id]:
        # A refusal is no error: whoever asked for room gets less of it.
        with suppress(EngineRefusedError):
            engine.images.remove(name)
    if engine.images.inspect(fate.image.id) is None:
        return fate
    return Fate(fate.image, fate.own_bytes, fate.used_utc, is_kept=True, why="the engine does not give it up")
