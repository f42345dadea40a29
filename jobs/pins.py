"""Which version of each agent program our images are made with.

Limits: reads `image/versions.toml` once; looks into no image.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from instrument.schema.vocabulary import RuntimeName


@cache
def pinned_versions() -> Mapping[RuntimeName, str]:
    """By runtime; a shell line has none."""
    text = resources.files("jobs.image").joinpath("versions.toml").read_text("utf-8")
    return {RuntimeName(name): str(entry["version"]) for name, entry in tomllib.loads(text)["agent"].items()}
