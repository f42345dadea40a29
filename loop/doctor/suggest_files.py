"""The committed files of a repository that say how it is checked.

Limits: reads through git, so that no link is followed and no device opened; few files, of limited size.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from loop.doctor.suggest_found import Files
from loop.git.checkout import BRANCH, Checkout
from loop.git.process import run_git
from loop.git.profiles import SEALED

MAX_FILE_BYTES = 256 * 1024
MAX_FILES = 60
MAX_LISTING_BYTES = 4 * 1024 * 1024
FOLDERS = (".github/workflows/", ".forgejo/workflows/", ".gitea/workflows/", ".circleci/")
"""Beside the root: where CI files lie."""
READ = (
    *(
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "Rakefile",
        "CMakeLists.txt",
    ),
    *(
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
        "pytest.ini",
        "mypy.ini",
        "noxfile.py",
        "ruff.toml",
    ),
    *(
        "requirements*.txt",
        "package.json",
        "go.mod",
        "Cargo.toml",
        "Gemfile",
        "pom.xml",
        "composer.json",
        "mix.exs",
    ),
    *("build.gradle", "build.gradle.kts", ".python-version", ".nvmrc", ".node-version", ".ruby-version"),
    *(".pre-commit-config.yaml", ".gitlab-ci.yml", ".travis.yml"),
)
SEEN = (
    *("uv.lock", "poetry.lock", "pdm.lock", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "go.sum"),
    *(
        "Cargo.lock",
        "Gemfile.lock",
        "composer.lock",
        "mix.lock",
        "gradlew",
        "mvnw",
        "*.gemspec",
        "conftest.py",
    ),
    *(".rspec", "rustfmt.toml", ".rustfmt.toml", "tests", "test", "spec"),
)
"""Large, or of no use beyond that they are there; the last ones are folders."""
_PLAIN = re.compile(r"[A-Za-z0-9_.+@-]+(?:/[A-Za-z0-9_.+@-]+)*")
_ENTRY = re.compile(r"(\d+) (\w+) [0-9a-f]+ +(\d+|-)\t(.*)", re.DOTALL)


def read_files(checkout: Checkout, branch: str) -> Files:
    """Paths to texts, as committed on a local branch; what is only seen, or too large, has an empty one.

    Raises:
        GitError: The branch cannot be listed.
    """
    tree = f"{BRANCH}{branch}"
    files: dict[str, str] = {}
    for mode, size, path in (*_list(checkout, tree), *_list(checkout, tree, *FOLDERS)):
        name = path.rpartition("/")[2]
        is_ci = path.startswith(FOLDERS) and name.endswith((".yml", ".yaml"))
        is_read = (is_ci or _is_like(path, READ)) and mode.startswith("100")
        if not is_read and not _is_like(path, SEEN):
            continue
        if len(files) == MAX_FILES:
            break
        files[path] = _read(checkout, f"{tree}:{path}") if is_read and size <= MAX_FILE_BYTES else ""
    return files


def _list(checkout: Checkout, tree: str, *paths: str) -> Iterator[tuple[str, int, str]]:
    """Mode, size and path of the entries of the root, or of those of folders; odd paths are left out."""
    args = ["ls-tree", "-l", "-z", "--full-tree", tree, "--", *paths]
    out = run_git(args, profile=SEALED, git_dir=checkout.common_dir, max_out_bytes=MAX_LISTING_BYTES).out
    for entry in out.decode("utf-8", "replace").split("\0"):
        match = _ENTRY.fullmatch(entry)
        if match and _PLAIN.fullmatch(match[4]) and match[1] != "120000":
            yield match[1], 0 if match[3] == "-" else int(match[3]), match[4]


def _is_like(path: str, names: tuple[str, ...]) -> bool:
    return "/" not in path and any(fnmatchcase(path, name) for name in names)


def _read(checkout: Checkout, name: str) -> str:
    """One file; bytes that are no UTF-8 become marks, and its lines end in LF alone."""
    end = run_git(["cat-file", "blob", name], profile=SEALED, git_dir=checkout.common_dir)
    return end.out.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
