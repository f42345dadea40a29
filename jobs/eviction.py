"""Which images go where ours take too much disk: the least recently used first.

Pure: no I/O.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jobs.engine.states import ImageState
from jobs.errors import JobsError
from jobs.layers import PREFIX, Shelf, is_below, is_ours
from jobs.recipe import KIND_LABEL

GIB = 1024**3
CAP_VARIABLE = "FACTORY_IMAGE_CAP_GB"
DEFAULT_CAP_GB = 20
FRESH = timedelta(days=1)
"""A run that is under way used its image within this time, wherever it runs."""
MARK = re.compile(r"factory-loop/used:(?P<of>.+)-(?P<hour>[0-9]{10})")
HOUR = "%Y%m%d%H"
ROOM = "there is room"


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one image of ours, and why in a few words."""

    image: ImageState
    own_bytes: int
    """What no other image has of it."""
    used_utc: datetime
    """When it was last asked for, or made."""
    is_kept: bool
    why: str

    @property
    def name(self) -> str:
        """Its tag; the start of its id where it has none."""
        return next(iter(real_tags(self.image)), self.image.id.removeprefix("sha256:")[:12])


def image_cap_bytes(environment: Mapping[str, str]) -> int:
    """What all images of ours may take: `FACTORY_IMAGE_CAP_GB`, of 1024^3 bytes each, or 20.

    Raises:
        JobsError: The variable is no whole number.
    """
    text = environment.get(CAP_VARIABLE) or str(DEFAULT_CAP_GB)
    if not (text.isascii() and text.isdigit()):
        raise JobsError(f"{CAP_VARIABLE} is {text[:20]!r}; set it to a whole number of gigabytes.")
    return int(text) * GIB


def mark_of(tag: str, now: datetime) -> str:
    """A second tag that says when the image was used, to the hour.

    The engine holds it, so that every user and machine of one engine sees it.
    """
    return f"{PREFIX}used:{tag.removeprefix(PREFIX).replace(':', '-')}-{now.astimezone(UTC).strftime(HOUR)}"


def is_mark(tag: str) -> bool:
    """Whether a tag only says when its image was used."""
    return MARK.fullmatch(tag) is not None


def real_tags(image: ImageState) -> tuple[str, ...]:
    """The tags by which the image is found; may be empty."""
    return tuple(tag for tag in image.tags if not is_mark(tag))


def used_utc(image: ImageState) -> datetime:
    """The latest mark, or when it was made."""
    marks = [found["hour"] for found in map(MARK.fullmatch, image.tags) if found]
    times = [datetime.strptime(hour, HOUR).replace(tzinfo=UTC) for hour in marks]
    return max([*times, image.created_utc])


def decide(
    images: Sequence[ImageState],
    hidden: Sequence[ImageState],
    *,
    cap_bytes: int,
    now: datetime,
    in_use: Collection[str],
) -> tuple[Fate, ...]:
    """The fate of each image of ours, least recently used first.

    Args:
        images: Every image that the engine lists, ours or not.
        hidden: The steps between them that it does not list, as some engines keep; may be empty.
        cap_bytes: What ours may take together.
        now: The time.
        in_use: Ids of the images of all containers, running or not.
    """
    ours = sorted(filter(is_ours, images), key=used_utc)
    newest = _newest(ours)
    shelf = Shelf(images, hidden)
    left = {image.id: image for image in images}

    def why_kept(image: ImageState) -> str | None:
        if image.id in in_use:
            return "a container uses it"
        if now - used_utc(image) < FRESH:
            return "used within a day"
        if image.id in newest:
            return "the newest of its kind"
        if any(is_below(image, other) for other in left.values()):
            return "others are built on it"
        return None

    while shelf.total_bytes(left.values()) > cap_bytes:
        oldest = next((i for i in ours if i.id in left and why_kept(i) is None), None)
        if oldest is None:
            break
        del left[oldest.id]
    kept = {image.id: why_kept(image) or ROOM for image in ours if image.id in left}
    return tuple(
        Fate(
            image=image,
            own_bytes=shelf.own_bytes(image),
            used_utc=used_utc(image),
            is_kept=image.id in kept,
            why=kept.get(image.id, "not used for longest"),
        )
        for image in ours
    )


def _newest(ours: Sequence[ImageState]) -> set[str]:
    """Of each kind the one made last that can be found by its tag."""
    newest: dict[str, ImageState] = {}
    for image in sorted(filter(real_tags, ours), key=lambda image: image.created_utc):
        newest[image.labels.get(KIND_LABEL, "")] = image
    return {image.id for image in newest.values()}
