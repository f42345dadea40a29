"""What the supervisor captures of a tree, in a real container with a shell line as the agent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.engine import Engine
from support.gitkit import Repo, make_repo
from support.supervisor import Box, open_box, prove

pytestmark = pytest.mark.docker

FILES = {
    "README": b"read me\n",
    "src/a.py": b"one\ntwo\nthree\n",
    "src/b.py": b"b\n",
    "tool.sh": b"#!/bin/sh\necho tool\n",
    ".gitignore": b"*.log\nbuild/\n",
}


@pytest.fixture(scope="module")
def box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    with open_box(engine, runs) as opened:
        yield opened


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit({"old": b"history\n"}, "first")
    made.commit({**FILES, "old": None}, "second")
    return made


def test_case_01_new_files_arrive_whole(box: Box, repo: Repo, tmp_path: Path) -> None:
    done = box.run(
        repo,
        repo.head(),
        run=r"""
        printf 'new\n' > src/new.txt; : > empty; printf 'a\0b\0' > nul.bin
        printf '#!/bin/sh\n' > run.sh; chmod +x run.sh; ln -s src/a.py link; chmod +x tool.sh
        """,
    )
    tree = done.report.tree
    assert tree is not None
    assert done.report.error is None
    assert tree.changed_paths == 6
    assert tree.untracked == 5
    assert tree.tree == prove(repo, done, tmp_path)
    modes = repo.ask("diff-tree", "-r", "--no-renames", tree.base_tree, tree.tree)
    assert ":100644 100755" in modes
    assert ":000000 120000" in modes
    assert ":000000 100755" in modes


def test_case_02_the_agent_commits_its_own_work(box: Box, repo: Repo, tmp_path: Path) -> None:
    base = repo.head()
    done = box.run(
        repo,
        base,
        run="""set -e
        git log --oneline | grep -q first; git symbolic-ref HEAD
        echo x >> src/a.py; git commit -qam mine; git checkout -q --detach; echo y >> src/b.py
        """,
    )
    assert done.report.exit_code == 0, done.out["agent-stderr.txt"]
    assert done.report.tree is not None
    assert done.report.tree.base_commit == base
    assert done.report.tree.changed_paths == 2
    assert b"+x\n" in done.diff
    assert b"+y\n" in done.diff
    assert done.report.tree.tree == prove(repo, done, tmp_path)


def test_case_05_a_clean_exit_that_changed_nothing_is_an_empty_proven_diff(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), run="touch src/a.py; echo all done, tests pass")
    assert done.report.tree is not None
    assert done.report.tree.tree == done.report.tree.base_tree
    assert done.report.tree.changed_paths == 0
    assert done.diff == b""


def test_case_10_build_products_are_refused_by_size_before_they_are_read(box: Box, repo: Repo) -> None:
    done = box.run(
        repo,
        repo.head(),
        mem_limit="256m",
        run="""
        head -c 60000000 /dev/urandom > app.bin
        mkdir node_modules; cd node_modules; mkdir $(seq 200); for d in *; do (cd $d; touch $(seq 100)); done
        """,
    )
    tree = done.report.tree
    assert tree is not None
    assert tree.oversized
    assert tree.tree is None
    assert tree.total_files == 20_001
    assert tree.total_bytes == 60_000_000
    assert (tree.biggest[0].path, tree.biggest[0].size_bytes) == ("app.bin", 60_000_000)
    assert len(tree.biggest) == 3
    assert "diff.patch" not in done.out
    assert done.report.duration_ms - done.report.agent_ms < 5000
    assert done.report.oom_kills == 0


def test_case_10_an_ignore_rule_mends_it(box: Box, repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit({".gitignore": b"app.bin\nnode_modules/\n"})
    done = box.run(
        repo,
        commit,
        run="""
        head -c 60000000 /dev/zero > app.bin; mkdir node_modules && (cd node_modules && touch $(seq 6000))
        echo x > src/new
        """,
    )
    assert done.report.tree is not None
    assert done.report.tree.tree == prove(repo, done, tmp_path)
    assert done.report.tree.changed_paths == 1


def test_a_diff_that_grows_past_the_cap_is_not_kept(box: Box, repo: Repo) -> None:
    commit = repo.commit({"big.bin": bytes(300_000)})
    run = "head -c 300000 /dev/urandom > big.bin"
    done = box.run(repo, commit, run=run, patch_bytes=100_000)
    assert done.report.tree is not None
    assert done.report.tree.oversized
    assert done.report.tree.tree is None
    assert "diff.patch" not in done.out


@pytest.mark.parametrize(
    "harm",
    [
        "rm -rf .git",
        "rm -rf .git; echo 'gitdir: /job/git' > .git",
        "rm -rf .git; ln -s /job/git .git",
        "rm -rf .git; mkfifo .git",
        "git config core.fsmonitor 'touch /tmp/ran'; echo '*' > .git/info/exclude",
        "git config filter.x.clean 'tr a-z A-Z'; echo '* filter=x' > .git/info/attributes",
        "git config --global core.excludesFile /tmp/all; echo '*' > /tmp/all; git config core.autocrlf true",
    ],
)
def test_the_agents_own_repository_is_never_asked(box: Box, repo: Repo, tmp_path: Path, harm: str) -> None:
    done = box.run(repo, repo.head(), run=f"{harm}\nprintf 'a\\r\\nb\\n' > src/new; echo x >> src/a.py")
    assert done.report.error is None
    assert done.report.tree is not None
    assert done.report.tree.changed_paths == 2
    assert done.report.tree.tree == prove(repo, done, tmp_path)
    assert b"+a\r\n" in done.diff


@pytest.mark.parametrize(
    ("harm", "changed"),
    [
        ("rm .gitignore; mkfifo .gitignore; mkfifo src/.gitattributes; echo x > new", 2),
        ("rm src/a.py; mkfifo src/a.py", 1),
        ("rm -r src; echo file > src", 3),
        ("rm -r src; ln -s /etc src", 3),
        ("mv src moved; ln -s moved src", 5),
        ("rm tool.sh; mkdir tool.sh; echo x > tool.sh/x", 2),
        ("rm tool.sh; ln -s README tool.sh", 1),
        ("mkdir -m 0 shut; echo x > .gitignore; chmod 0 .gitignore src/a.py; chmod 0500 src", 1),
        ("echo '* text eol=crlf working-tree-encoding=UTF-16 ident' > .gitattributes; touch src/a.py", 1),
        ("printf '[submodule \"x\"\\n broken' > .gitmodules; echo x > new", 2),
        ("echo '[submodule \"x\"]\n path = src\n ignore = all\n' > .gitmodules; echo x >> src/a.py", 2),
        ("cd src; touch -- -rf ':(top)x' '\"q\"' $'line\\nbreak' $'bad\\377utf' 'back\\slash'", 6),
        ("for i in {1..400}; do mkdir 123456789; cd 123456789; done; echo deep > deep", 1),
        ("ln -s . loop; ln -s /job/order.json secret; ln -s nowhere dangling", 3),
        ("ln src/a.py hard; echo x >> hard", 2),
    ],
)  # fmt: skip
def test_a_hostile_tree_is_captured_whole(
    box: Box, repo: Repo, tmp_path: Path, harm: str, changed: int
) -> None:
    done = box.run(repo, repo.head(), run=harm)
    assert done.report.error is None
    tree = done.report.tree
    assert tree is not None
    assert tree.tree == prove(repo, done, tmp_path)
    assert tree.changed_paths == changed


def test_content_is_laid_and_captured_under_the_attributes_of_the_base(
    box: Box, repo: Repo, tmp_path: Path
) -> None:
    rules = b"*.txt text eol=crlf\n*.id ident\n*.wide working-tree-encoding=UTF-16LE\n"
    base = repo.commit({".gitattributes": rules, "a.txt": b"a\n", "a.id": b"$Id$\n", "a.wide": b"a\0\n\0"})
    done = box.run(
        repo,
        base,
        run=r"""set -e
        test -z "$(git status --porcelain)"
        grep -q $'\r' a.txt; grep -q 'Id: [0-9a-f]' a.id; test $(wc -c < a.wide) = 4
        echo '* -text -ident !working-tree-encoding' > .gitattributes; touch a.txt
        printf 'b\r\n' > b.txt; echo more >> a.id; printf 'b\0\n\0' >> a.wide; printf 'b\r\n' > b
        """,
    )
    assert done.report.exit_code == 0, done.out["agent-stderr.txt"]
    tree = done.report.tree
    assert tree is not None
    assert tree.tree == prove(repo, done, tmp_path)
    assert tree.changed_paths == 5
    held = {
        name: repo.git("cat-file", "blob", f"{tree.tree}:{name}") for name in ("b.txt", "a.id", "a.wide", "b")
    }
    assert held == {"b.txt": b"b\n", "a.id": b"$Id$\nmore\n", "a.wide": b"a\nb\n", "b": b"b\r\n"}


def test_a_file_that_is_not_in_its_encoding_is_named_and_no_diff_is_made(box: Box, repo: Repo) -> None:
    base = repo.commit({".gitattributes": b"*.wide working-tree-encoding=UTF-16\n"})
    done = box.run(repo, base, run="echo no mark > a.wide; echo b > b")
    assert done.report.error is None
    assert done.report.tree is not None
    assert done.report.tree.unencodable == ("a.wide",)
    assert done.report.tree.tree is None
    assert "diff.patch" not in done.out


def test_special_files_are_named_and_never_captured(box: Box, repo: Repo) -> None:
    done = box.run(
        repo,
        repo.head(),
        run="""
        mkfifo src/pipe; python3 -c 'import socket as s; s.socket(1).bind("sock")'
        mkdir -p shut/too; mkfifo shut/too/pipe; chmod 0 shut/too shut
        """,
    )
    assert done.report.error is None
    assert done.report.tree is not None
    assert done.report.tree.special == ("shut/too/pipe", "sock", "src/pipe")
    assert done.report.tree.changed_paths == 0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        ("git init -q sub; echo x > sub/x", ("sub",)),
        ("git init -q sub; cd sub; git commit -q --allow-empty -m x", ("sub",)),
        ("git init -q src", ("src",)),
        ("mkdir -p deep/er/.git", ("deep/er",)),
        ("mkdir -p new/.GIT; echo x > new/.GIT/config", ("new",)),
        ("mkdir sub; echo 'gitdir: /job/git' > sub/.git", ("sub",)),
    ],
)
def test_a_nested_repository_is_named_and_no_diff_is_made(
    box: Box, repo: Repo, make: str, named: tuple[str, ...]
) -> None:
    done = box.run(repo, repo.head(), run=make)
    assert done.report.tree is not None
    assert done.report.tree.nested_repos == named
    assert done.report.tree.tree is None
    assert "diff.patch" not in done.out


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (
            "for i in {1..450}; do mkdir 123456789; cd 123456789; done; echo deep > deep",
            "123456789/123456789/",
        ),
        ("ln -s /etc/passwd .gitmodules; echo x > new", ".gitmodules"),
    ],
)
def test_what_git_cannot_take_is_named_and_no_diff_is_made(
    box: Box, repo: Repo, make: str, named: str
) -> None:
    done = box.run(repo, repo.head(), run=make)
    assert done.report.error is None
    assert done.report.tree is not None
    assert done.report.tree.unreadable[0].startswith(named)
    assert done.report.tree.tree is None
    assert "diff.patch" not in done.out


def test_a_repository_in_an_ignored_folder_is_no_concern(box: Box, repo: Repo, tmp_path: Path) -> None:
    done = box.run(repo, repo.head(), run="mkdir build; git init -q build/dep; echo x > src/new")
    assert done.report.tree is not None
    assert done.report.tree.nested_repos == ()
    assert done.report.tree.tree == prove(repo, done, tmp_path)


def test_a_submodule_of_the_base_stays_as_it_is_until_it_is_filled(
    box: Box, repo: Repo, tmp_path: Path
) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},lib")
    repo.git("commit", "-qm", "a submodule")
    base = repo.head()
    calm = box.run(repo, base, run="ls -d lib; echo x > new")
    assert calm.report.tree is not None
    assert calm.report.tree.changed_paths == 1
    assert calm.report.tree.tree == prove(repo, calm, tmp_path)
    for fill in (
        "cd lib && git init -q && git commit -q --allow-empty -m x",
        "echo x > lib/x",
        "mkdir lib/x",
    ):
        filled = box.run(repo, base, run=fill)
        assert filled.report.tree is not None
        assert filled.report.tree.nested_repos == ("lib",)
        assert filled.report.tree.tree is None


def test_a_change_that_keeps_size_and_time_is_seen(box: Box, repo: Repo) -> None:
    run = "touch -r src/a.py /tmp/t; sed -i s/one/two/ src/a.py; touch -r /tmp/t src/a.py"
    done = box.run(repo, repo.head(), run=run)
    assert done.report.tree is not None
    assert done.report.tree.changed_paths == 1


def test_a_reviewers_file_is_no_part_of_its_tree(box: Box, repo: Repo) -> None:
    path = ".agents/reviews/007-round1.md"
    agent = {"argv": ["bash", "-c", 'echo fine > "$FACTORY_REVIEW_FILE"; echo x > probe'], "env": {}}
    done = box.run(repo, repo.head(), role="reviewer", agent={**agent, "stdin": "null", "review_path": path})
    assert done.report.review_file == "kept"
    assert done.out["review.md"] == b"fine\n"
    assert done.report.tree is not None
    assert done.report.tree.untracked == 1
    assert done.report.tree.changed_paths == 1
