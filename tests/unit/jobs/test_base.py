import platform
from datetime import UTC, datetime
from typing import IO

import pytest

from jobs.base import find_base, find_default_base
from jobs.engine.states import EngineInfo, ImageState
from jobs.errors import ImageUnfitError, ObjectAbsentError

INFO = EngineInfo(2, platform.machine(), datetime(2026, 1, 1, tzinfo=UTC))
OTHER = EngineInfo(2, "s390x", datetime(2026, 1, 1, tzinfo=UTC))


class FakeImages:
    def __init__(self, local: set[str], registry: set[str]) -> None:
        self.local, self.registry, self.pulled = local, registry, list[str]()

    def inspect(self, reference: str) -> ImageState | None:
        return ImageState(f"id-of-{reference}", (reference,), {}) if reference in self.local else None

    def pull(self, reference: str) -> None:
        self.pulled.append(reference)
        if reference not in self.registry:
            raise ObjectAbsentError(f"Image {reference} cannot be pulled: no such host")
        self.local.add(reference)

    def import_tar(self, tar: IO[bytes], tag: str, changes: list[str]) -> None:
        raise AssertionError((tar, tag, changes))


def default(images: FakeImages, info: EngineInfo = INFO) -> tuple[str, ImageState]:
    return find_default_base(images, info, reference="debian:x", suite="x", say=lambda _line: None)


def test_a_local_base_is_used_without_asking_a_registry() -> None:
    images = FakeImages({"factory-loop/base:x"}, set())
    assert default(images)[0] == "factory-loop/base:x"
    assert images.pulled == []


def test_the_default_base_is_pulled_where_a_registry_answers() -> None:
    images = FakeImages(set(), {"debian:x"})
    assert default(images) == ("debian:x", ImageState("id-of-debian:x", ("debian:x",), {}))


def test_without_a_registry_and_on_another_processor_the_sentence_says_what_to_do() -> None:
    with pytest.raises(ImageUnfitError, match="load debian:x into the engine, or run once as root"):
        default(FakeImages(set(), set()), OTHER)


def test_a_repos_own_base_is_local_or_pulled_or_refused_with_a_sentence() -> None:
    assert find_base(FakeImages({"mine:1"}, set()), "mine:1").id == "id-of-mine:1"
    assert find_base(FakeImages(set(), {"mine:1"}), "mine:1").id == "id-of-mine:1"
    with pytest.raises(ImageUnfitError, match=r"correct \[image\] base in factory.toml"):
        find_base(FakeImages(set(), set()), "mine:1")
