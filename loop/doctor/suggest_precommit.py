"""pre-commit's hooks as one check.

Pure: no I/O.
"""

from collections.abc import Iterator

from loop.doctor.suggest_found import Fact, Files, Found, Part, Rank
from loop.doctor.suggest_yaml import compose, items, table

FILE = ".pre-commit-config.yaml"


def read_precommit(files: Files) -> Iterator[Fact]:
    """All hooks over all files; none where the file lists none."""
    repos = table(compose(files.get(FILE, ""))).get("repos")
    if any(items(table(repo).get("hooks")) for repo in items(repos)):
        line = 1 + repos.start_mark.line if repos is not None else 1
        yield Found(Part.LINT, "pre-commit run --all-files", FILE, line, Rank.TARGET, (FILE,))
