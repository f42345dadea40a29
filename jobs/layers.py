"""How much of the disk images take, what they share counted once.

Pure: no I/O. The engine's own figure of what an image shares does not say with which others, so no sum
can be made of it.
"""

from collections.abc import Iterable, Mapping, Sequence

from jobs.engine.states import ImageState
from jobs.pod import OURS

PREFIX = "factory-loop/"
"""Of every tag of ours."""
Pieces = Mapping[tuple[str, ...], int]
"""Runs of layers from the lowest on, each to the bytes that it adds to the next shorter one."""


class Shelf:
    """The images of one engine.

    Args:
        images: Every image that the engine lists.
        hidden: The steps between them that it does not list: they show what images share.
    """

    def __init__(self, images: Sequence[ImageState], hidden: Sequence[ImageState]) -> None:
        everything = (*images, *hidden)
        self._pieces = {image.id: _pieces(image, everything) for image in images}
        ours = [image for image in images if is_ours(image)]
        bases = (i for i in images if not is_ours(i) and not any(is_below(our, i) for our in ours))
        self._foreign = {layers for base in bases for layers in self._pieces[base.id]}

    def total_bytes(self, images: Iterable[ImageState]) -> int:
        """What those of ours among the images take together, without the bases that are not ours."""
        ours = filter(is_ours, images)
        merged = {layers: n for image in ours for layers, n in self._pieces[image.id].items()}
        return sum(n for layers, n in merged.items() if layers not in self._foreign)

    def own_bytes(self, image: ImageState) -> int:
        """What no other image has of it."""
        others = {layers for name, pieces in self._pieces.items() if name != image.id for layers in pieces}
        return sum(n for layers, n in self._pieces[image.id].items() if layers not in others)


def is_ours(image: ImageState) -> bool:
    """Whether we made it; one that a person made on top of ours, or named, is theirs."""
    return image.labels.get(OURS) == "1" and all(tag.startswith(PREFIX) for tag in image.tags)


def is_below(lower: ImageState, upper: ImageState) -> bool:
    """Whether `upper` begins with all layers of `lower`; of two equal ones the first made is below."""
    layers = lower.layers
    if lower.id == upper.id or not layers or upper.layers[: len(layers)] != layers:
        return False
    return len(layers) < len(upper.layers) or (lower.created_utc, lower.id) < (upper.created_utc, upper.id)


def _pieces(image: ImageState, everything: Iterable[ImageState]) -> Pieces:
    sizes = {other.layers: other.size_bytes for other in everything if is_below(other, image)}
    sizes[image.layers] = image.size_bytes
    pieces: dict[tuple[str, ...], int] = {}
    before = 0
    for layers in sorted(sizes, key=len):
        pieces[layers] = max(sizes[layers] - before, 0)
        before = sizes[layers]
    return pieces
