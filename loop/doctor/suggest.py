"""`factory doctor --suggest`: a `factory.toml` out of what the repository's own files say.

Limits: reads what is committed on the default branch, writes nothing, runs nothing of it.
"""

import re
from pathlib import Path

from loop.config import parse_config
from loop.doctor.suggest_ci import read_ci
from loop.doctor.suggest_files import read_files
from loop.doctor.suggest_fit import fit
from loop.doctor.suggest_found import Fact, Files, Reader
from loop.doctor.suggest_languages import (
    read_cmake,
    read_elixir,
    read_go,
    read_java,
    read_node,
    read_php,
    read_ruby,
    read_rust,
)
from loop.doctor.suggest_plan import make_plan
from loop.doctor.suggest_precommit import read_precommit
from loop.doctor.suggest_python import read_python
from loop.doctor.suggest_targets import read_justfile, read_makefile, read_scripts
from loop.doctor.suggest_toml import render
from loop.git.checkout import default_branch, find_checkout

READERS: tuple[Reader, ...] = (
    read_ci,
    read_makefile,
    read_justfile,
    read_scripts,
    read_precommit,
    read_python,
    read_node,
    read_go,
    read_rust,
    read_ruby,
    read_java,
    read_php,
    read_elixir,
    read_cmake,
)
"""Each reads every file that it knows. The rank of what is found decides, then this order."""
MAX_NAME_CHARS = 50


def propose(repo: Path) -> str:
    """The text of a `factory.toml` for the repository at `repo`; `parse_config` accepts it.

    Where nothing is found it has no check, and its comments say what to write.

    Raises:
        GitError: There is no repository, or no commit on its default branch.
    """
    checkout = find_checkout(repo)
    branch = default_branch(checkout, None)
    return proposal(read_files(checkout, branch), name_of(checkout.root.name))


def proposal(files: Files, name: str) -> str:
    """The same out of the files' texts. Pure."""
    facts: list[Fact] = [fact for reader in READERS for fact in reader(files)]
    text = render(fit(make_plan(facts), files), name)
    parse_config(text.encode())  # what is printed holds; else it is a bug of ours, and said to be one
    return text


def name_of(folder: str) -> str:
    """A folder's name in the form that `[repo] name` takes."""
    words = re.findall(r"[a-z0-9]+", folder.removesuffix(".git").lower().encode("ascii", "ignore").decode())
    return "-".join(words[:20])[:MAX_NAME_CHARS].strip("-") or "repo"
