"""What `python -m jobs gc` shows: a table of images and one of pods.

Pure: no I/O.
"""

from collections.abc import Sequence

from jobs.eviction import Fate
from jobs.orphans import PodFate

MB = 1000**2
IMAGE_HEAD = ("image", "MB", "alone", "last used", "", "why")
POD_HEAD = ("pod", "containers", "volumes", "", "why")


def image_table(fates: Sequence[Fate], gone: str) -> tuple[str, ...]:
    """A line an image, least recently used first; `alone` is what no other image has of it.

    Args:
        fates: Of each image.
        gone: What is said of one that is not kept.
    """
    rows = [
        (
            fate.name,
            f"{fate.image.size_bytes / MB:.0f}",
            f"{fate.own_bytes / MB:.0f}",
            f"{fate.used_utc:%Y-%m-%d %H:%M}",
            "kept" if fate.is_kept else gone,
            fate.why,
        )
        for fate in fates
    ]
    return _lines(IMAGE_HEAD, rows)


def pod_table(fates: Sequence[PodFate], gone: str) -> tuple[str, ...]:
    """A line a pod; nothing at all where there is none."""
    rows = [
        (
            f"{fate.pod.run_id} {fate.pod.key}",
            str(len(fate.pod.containers)),
            str(len(fate.pod.volumes)),
            "kept" if fate.is_kept else gone,
            fate.why,
        )
        for fate in fates
    ]
    return _lines(POD_HEAD, rows) if rows else ()


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return tuple(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
