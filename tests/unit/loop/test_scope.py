from dataclasses import dataclass

import pytest

from loop.config import PROTECTED
from loop.scope import Scope, judge_scope


@dataclass(frozen=True)
class Changed:
    path: str


def judge(*paths: str, allow: tuple[str, ...] = (), protected: tuple[str, ...] = PROTECTED) -> Scope:
    return judge_scope(
        [Changed(path) for path in paths],
        files=["src/**", "!src/gen/**"],
        allow=allow,
        protected=protected,
        generated=["*.lock", "CLAUDE.md"],
    )


def test_what_files_cover_is_in_scope() -> None:
    assert judge("src/a.py", "src/deep/b.py") == Scope((), ())


def test_every_other_path_is_out_in_the_order_given() -> None:
    assert judge("z.py", "src/a.py", "docs/x.md", "src/gen/y.py").out_of_scope == (
        "z.py",
        "docs/x.md",
        "src/gen/y.py",
    )


def test_both_sides_of_a_rename_count() -> None:
    assert judge("lib/old.py", "src/new.py").out_of_scope == ("lib/old.py",)


def test_a_generated_path_is_left_out_of_scope_not_of_protection() -> None:
    assert judge("poetry.lock", "CLAUDE.md") == Scope((), ("CLAUDE.md",))


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        ".GitHub/x",
        ".ci/run",
        "factory.toml",
        "Factory.TOML",
        "tasks/001-x.md",
        ".gitattributes",
        "src/.gitattributes",
        ".gitmodules",
        "claude.md",
        "src/AGENTS.md",
        ".claude",
        ".claude/settings.json",
        ".agents/reviews/x",
    ],
)
def test_protected_by_default_whatever_its_case_or_kind(path: str) -> None:
    assert judge(path) == Scope((), (path,))


@pytest.mark.parametrize("path", ["src/tasks/a.py", "src/.ci/x", "src/claude.mdx", "src/factory_toml"])
def test_a_folder_is_protected_at_the_root_only(path: str) -> None:
    assert judge(path) == Scope((), ())


def test_allow_lifts_exactly_what_it_names() -> None:
    assert judge("CLAUDE.md", "AGENTS.md", "claude.md", allow=("/CLAUDE.md",)) == Scope(
        (), ("AGENTS.md", "claude.md")
    )


def test_allow_gives_no_scope_beyond_protected_paths() -> None:
    assert judge("lib/x.py", allow=("lib/**",)).out_of_scope == ("lib/x.py",)


def test_own_protected_patterns_are_folded_too() -> None:
    own = ("Secrets/**/*.PEM", "/build/[a-c]*/")

    assert judge("secrets/a/B.pem", "build/Abc/x", "src/x", protected=own).protected == (
        "secrets/a/B.pem",
        "build/Abc/x",
    )
