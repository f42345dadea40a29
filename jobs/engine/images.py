"""Images of the engine, in typed verbs.

Talks to the Docker Engine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from jobs.classify import Meaning
from jobs.engine.client import SLOW_S, Api, mapped
from jobs.engine.containers import label_filters
from jobs.engine.states import ImageState, parse_image
from jobs.errors import EngineRefusedError, ImageUnfitError, ObjectAbsentError

KEPT = (Meaning.ABSENT, Meaning.IN_USE, Meaning.NAME_TAKEN)


class Images:
    """Of one engine. Not for several threads at once."""

    def __init__(self, quick: Api, slow: Api) -> None:
        self._api = quick
        self._slow = slow

    def inspect(self, reference: str) -> ImageState | None:
        """Look at a local image by id or tag; none where it does not exist."""
        with mapped(f"inspect image {reference}", ignore=(Meaning.ABSENT,)):
            raw: Any = self._api.inspect_image(reference)  # type: ignore[no-untyped-call]
            return parse_image(raw)
        return None

    def find(self, labels: Mapping[str, str]) -> tuple[ImageState, ...]:
        """All local images, tagged or not, that carry these labels; newest first."""
        with mapped("list images"):
            rows: Any = self._api.images(filters=label_filters(labels))
        return tuple(parse_image(row) for row in rows)

    def all(self) -> tuple[tuple[ImageState, ...], tuple[ImageState, ...]]:
        """Every image that the engine lists, ours or not, and the steps between that it does not list.

        Those are kept by some engines alone; what went meanwhile is left out.
        """
        listed = {row.id for row in self.find({})}
        with mapped("list images"):
            rows: Any = self._api.images(all=True)
        found = [self.inspect(name) for name in {row["Id"] for row in rows} | listed]
        states = [state for state in found if state is not None]
        return (
            tuple(state for state in states if state.id in listed),
            tuple(state for state in states if state.id not in listed),
        )

    def tag(self, image: str, tag: str) -> None:
        """Give an image one more tag, which is taken from another that has it."""
        repository, _, version = tag.rpartition(":")
        with mapped(f"tag image {image}"):
            self._api.tag(image, repository, version)

    def remove(self, reference: str, *, force: bool = False) -> bool:
        """Remove an image with its untagged parents; whether it went (in use or absent: no).

        Args:
            reference: Id or tag.
            force: Also where several tags name this id.
        """
        with mapped(f"remove image {reference}", ignore=KEPT):
            self._slow.remove_image(reference, force=force)
            return True
        return False

    def pull(self, reference: str) -> None:
        """Bring an image from its registry.

        Raises:
            ObjectAbsentError: The registry does not answer or does not have it.
        """
        repository, _, version = reference.rpartition(":")
        if not repository or "/" in version or "@" in reference:
            repository, version = reference, "" if "@" in reference else "latest"
        try:
            with mapped(f"pull {reference}"):
                self._slow.pull(repository, tag=version or None)
        except EngineRefusedError as error:
            raise ObjectAbsentError(f"Image {reference} cannot be pulled: {error}") from error

    def build(
        self,
        context: IO[bytes],
        tag: str,
        *,
        args: Mapping[str, str],
        network: str | None,
        log: Callable[[str], None],
    ) -> str:
        """Build an image from a tar archive that holds its `Dockerfile`, return its id.

        Raises:
            ImageUnfitError: A step failed; the text is the step's own error.
        """
        with mapped(f"build {tag}"):
            lines: Any = self._slow.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                buildargs=dict(args),
                network_mode=network,
                decode=True,
                timeout=SLOW_S,
            )
            fault = None
            # Read to the end whatever it says: an answer left half read keeps its connection.
            for line in lines:
                fault = fault or line.get("error")
                log(str(line.get("stream") or ""))
        if fault is not None:
            raise ImageUnfitError(str(fault).strip())
        built = self.inspect(tag)
        if built is None:
            raise EngineRefusedError(f"The Docker Engine built {tag} and does not have it.")
        return built.id

    def import_tar(self, tar: IO[bytes], tag: str, changes: Sequence[str]) -> None:
        """Make an image of a file system's tar archive."""
        repository, _, version = tag.rpartition(":")
        with mapped(f"import {tag}"):
            self._slow.import_image(tar, repository, version, changes=list(changes))
