"""The images that pods are made of, where they are there already.

Talks to the engine; builds and pulls nothing.
"""

from jobs.base import bootstrapped_tag
from jobs.errors import ImageUnfitError
from jobs.images import ImageShelf
from jobs.recipe import Recipe


class ImageAbsentError(ImageUnfitError):
    """An image is not on the engine; a run would make it."""


class FoundShelf(ImageShelf):
    """`ImageShelf` that finds by the same names and makes nothing."""

    def base(self, reference: str | None, dockerfile: str | None = None) -> tuple[str, str]:
        """See `ImageShelf.base`.

        Raises:
            ImageAbsentError: It is not there.
        """
        if dockerfile is not None:
            return super().base(reference, dockerfile)
        default = self._versions["base"]
        names = (reference,) if reference else (default["image"], bootstrapped_tag(default["suite"]))
        for name in names:
            if found := self._engine.images.inspect(name):
                return name, found.id
        raise ImageAbsentError(f"the base image {names[0]} is not there")

    def build(self, recipe: Recipe) -> str:
        """Find the recipe's image.

        Raises:
            ImageAbsentError: It is not there.
        """
        found = self._engine.images.inspect(recipe.tag)
        if found is None:
            raise ImageAbsentError(f"the {recipe.kind} image is not built ({recipe.tag})")
        return found.id
