from datetime import UTC, datetime, timedelta

import pytest

from jobs.engine.states import ImageState
from jobs.errors import JobsError
from jobs.eviction import GIB, decide, image_cap_bytes, is_mark, mark_of, real_tags, used_utc
from jobs.pod import OURS
from jobs.recipe import KIND_LABEL

NOW = datetime(2026, 11, 30, 15, 20, tzinfo=UTC)


def image(name: str, layers: str, *, days: int, kind: str = "setup", tags: int = 1) -> ImageState:
    """An image of ten bytes a layer, made so many days ago; each letter of `layers` is a layer."""
    labels = {OURS: "1", KIND_LABEL: kind}
    names = (f"factory-loop/{kind}:{name}",) * tags
    return ImageState(name, names, labels, NOW - timedelta(days=days), 10 * len(layers), tuple(layers))


BASE = image("base", "a", days=90, kind="base")
OLD_JOB = image("old-job", "ab", days=80, kind="job")
OLD = image("old", "abc", days=70)
JOB = image("job", "ad", days=60, kind="job")
MIDDLE = image("middle", "ade", days=50)
NEW = image("new", "adf", days=40)
ALL = (NEW, MIDDLE, JOB, OLD, OLD_JOB, BASE)


def fates(cap: int, images=ALL, in_use=()) -> dict[str, str]:
    """Name to why it is kept; those that go are left out."""
    made = decide(images, (), cap_bytes=cap, now=NOW, in_use=in_use)
    return {fate.image.id: fate.why for fate in made if fate.is_kept}


def test_below_the_cap_nothing_goes() -> None:
    assert set(fates(60)) == {image.id for image in ALL}
    assert fates(60)["old"] == "there is room"


def test_the_least_recently_used_go_first_and_no_more_than_needed() -> None:
    assert "old" not in fates(59)
    assert set(fates(50)) == {"base", "old-job", "job", "middle", "new"}
    assert set(fates(40)) == {"base", "job", "middle", "new"}
    assert set(fates(30)) == {"base", "job", "new"}


def test_without_room_the_newest_of_each_kind_and_what_they_stand_on_stay() -> None:
    assert fates(0) == {
        "base": "the newest of its kind",
        "job": "the newest of its kind",
        "new": "the newest of its kind",
    }
    newer_job = image("newer-job", "ag", days=3, kind="job")
    assert fates(0, (*ALL, newer_job))["job"] == "others are built on it"


def test_what_a_container_uses_stays_and_the_next_one_goes() -> None:
    assert fates(40, in_use={"old"})["old"] == "a container uses it"
    assert set(fates(50, in_use={"old"})) == {"base", "old-job", "old", "job", "new"}


def test_what_was_used_within_a_day_stays() -> None:
    marked = ImageState(
        OLD.id,
        (*OLD.tags, mark_of(OLD.tags[0], NOW)),
        OLD.labels,
        OLD.created_utc,
        OLD.size_bytes,
        OLD.layers,
    )
    assert used_utc(marked) == NOW.replace(minute=0)
    assert real_tags(marked) == OLD.tags
    assert fates(0, (NEW, MIDDLE, JOB, marked, OLD_JOB, BASE))["old"] == "used within a day"


def test_a_use_makes_another_one_the_oldest() -> None:
    week_ago = NOW - timedelta(days=7)
    marked = ImageState(
        OLD.id, (*OLD.tags, mark_of(OLD.tags[0], week_ago)), OLD.labels, OLD.created_utc, 30, OLD.layers
    )
    assert set(fates(50, (NEW, MIDDLE, JOB, marked, OLD_JOB, BASE))) == {
        "base",
        "old-job",
        "old",
        "job",
        "new",
    }


def test_an_image_that_lost_its_tag_goes_though_it_is_the_newest() -> None:
    untagged = image("untagged", "adg", days=30, tags=0)
    kept = fates(0, (*ALL, untagged))
    assert "untagged" not in kept
    assert kept["new"] == "the newest of its kind"


def test_an_image_of_others_is_no_matter_but_holds_what_it_stands_on() -> None:
    persons = ImageState("persons", ("mine:1",), {OURS: "1"}, NOW - timedelta(days=9), 10**9, tuple("abcz"))
    kept = fates(60, (*ALL, persons))
    assert "persons" not in kept
    assert fates(0, (*ALL, persons))["old"] == "others are built on it"


def test_a_mark_tells_the_hour_and_which_image() -> None:
    mark = mark_of("factory-loop/setup:0a1b", NOW)
    assert mark == "factory-loop/used:setup-0a1b-2026113015"
    assert is_mark(mark)
    assert not is_mark("factory-loop/setup:0a1b")


def test_the_cap_is_a_whole_number_of_gigabytes() -> None:
    assert image_cap_bytes({}) == 20 * GIB
    assert image_cap_bytes({"FACTORY_IMAGE_CAP_GB": "3"}) == 3 * GIB
    with pytest.raises(JobsError, match="FACTORY_IMAGE_CAP_GB is '-1'"):
        image_cap_bytes({"FACTORY_IMAGE_CAP_GB": "-1"})
