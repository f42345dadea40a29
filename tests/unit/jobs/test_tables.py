from datetime import UTC, datetime

from jobs.engine.states import ImageState
from jobs.eviction import Fate
from jobs.orphans import FoundPod, PodFate
from jobs.tables import image_table, pod_table

USED = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)


def test_a_line_says_what_becomes_of_an_image_and_why() -> None:
    image = ImageState("sha256:1", ("factory-loop/setup:1",), {}, USED, 1_012_300_056)
    kept = Fate(image, 228_365_928, USED, is_kept=True, why="there is room")
    nameless = Fate(ImageState("sha256:0123456789abcdef", (), {}), 0, USED, is_kept=False, why="old")
    assert image_table([kept, nameless], "would go") == (
        "image                 MB    alone  last used                   why",
        "factory-loop/setup:1  1012  228    2026-11-30 15:00  kept      there is room",
        "0123456789ab          0     0      2026-11-30 15:00  would go  old",
    )


def test_without_pods_there_is_no_table_of_them() -> None:
    assert pod_table([], "removed") == ()
    pod = FoundPod("0a1b2c3d", "demo-001-check-1-99", "demo-001", (), ("v",), USED)
    assert pod_table([PodFate(pod, is_kept=False, why="its task has gone on")], "removed") == (
        "pod                           containers  volumes           why",
        "0a1b2c3d demo-001-check-1-99  0           1        removed  its task has gone on",
    )
