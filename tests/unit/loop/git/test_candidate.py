import base64
import hashlib
import zlib
from pathlib import Path

import pytest

from loop.git.candidate import build_candidate
from loop.git.errors import AuthorError, EmptyChangeError, NestedRepoError, PatchIntegrityError
from support.gitkit import AUTHOR, WHEN, Captured, capture, make_repo
from support.gitworld import World, ref_of


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_case_01_new_files_arrive_whole(world: World) -> None:
    job = world.job()
    job.write({"src/new.py": b"new\n", "empty": b"", "nul.bin": b"a\0b\0\xff", "run.sh": b"#!/bin/sh\n"})
    (job.root / "run.sh").chmod(0o755)
    (job.root / "link").symlink_to("src/new.py")
    (job.root / "src/tool.sh").chmod(0o755)
    made = capture(job, world.base)

    candidate = world.candidate(made)

    assert candidate.tree == made.tree
    text = world.store.commit_text(candidate.commit)
    assert text.parents == (world.base,)
    assert text.author == AUTHOR
    modes = {entry.path: entry.mode for entry in world.store.entries(candidate.commit)}
    assert modes["empty"] == modes["nul.bin"] == modes["src/new.py"] == "100644"
    assert modes["run.sh"] == modes["src/tool.sh"] == "100755"
    assert modes["link"] == "120000"
    assert world.store.read_blob(candidate.commit, "nul.bin") == b"a\0b\0\xff"
    assert ref_of(world.store, "refs/factory/t/1") == candidate.commit


def test_case_01_a_mode_alone_is_a_change(world: World) -> None:
    job = world.job()
    (job.root / "src/tool.sh").chmod(0o755)
    made = capture(job, world.base)
    assert world.candidate(made).tree == made.tree


def test_case_02_the_agents_own_commits_do_not_travel(world: World) -> None:
    job = world.job()
    job.git("switch", "--quiet", "-c", "agents-branch")
    theirs = job.commit({"src/a.py": b"committed by the agent\n"}, "the agent's own")
    job.git("switch", "--quiet", "--detach")
    job.write({"README": b"left uncommitted\n"})

    candidate = world.candidate(capture(job, world.base))

    assert world.store.read_blob(candidate.commit, "src/a.py") == b"committed by the agent\n"
    assert world.store.read_blob(candidate.commit, "README") == b"left uncommitted\n"
    assert world.store.commit_text(candidate.commit).parents == (world.base,)
    assert world.store.git(["cat-file", "-e", theirs], check=False).code != 0
    assert world.person.ask("for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"


def test_case_05_an_empty_patch_is_never_applied(world: World) -> None:
    before = sorted(world.store.path.rglob("*"))
    with pytest.raises(EmptyChangeError) as raised:
        world.candidate(Captured(b"", world.store.tree_of(world.base)))
    assert raised.value.against_base is False
    assert sorted(world.store.path.rglob("*")) == before


def test_an_empty_patch_that_claims_a_tree_is_no_proof(world: World) -> None:
    with pytest.raises(PatchIntegrityError, match="empty"):
        world.candidate(Captured(b"", "1" * 40))


def test_a_later_round_goes_on_its_start_and_stays_one_commit(world: World) -> None:
    first = world.changed({"src/b.py": b"b\n"})
    job = world.job("job-2")
    job.git("fetch", "--quiet", str(world.store.path), "refs/factory/t/1")
    job.git("checkout", "--quiet", "--detach", first.commit)
    job.write({"src/c.py": b"c\n"})

    second = world.candidate(capture(job, first.commit), first.commit, "refs/factory/t/2")

    assert world.store.commit_text(second.commit).parents == (world.base,)
    assert {"src/b.py", "src/c.py"} <= set(world.store.paths(second.commit))
    assert ref_of(world.store, "refs/factory/t/1") == first.commit


def test_a_round_that_undoes_everything_is_empty_against_the_base(world: World) -> None:
    first = world.changed({"src/b.py": b"b\n"})
    job = world.job("job-2")
    job.git("fetch", "--quiet", str(world.store.path), "refs/factory/t/1")
    job.git("checkout", "--quiet", "--detach", first.commit)
    job.write({"src/b.py": None})
    with pytest.raises(EmptyChangeError) as raised:
        world.candidate(capture(job, first.commit), first.commit)
    assert raised.value.against_base is True


def test_the_same_work_gives_the_same_commit(world: World) -> None:
    job = world.job()
    job.write({"src/b.py": b"b\n"})
    made = capture(job, world.base)
    assert world.candidate(made) == world.candidate(made)


@pytest.mark.parametrize("fault", ["bytes", "length", "hash", "tree", "cut"])
def test_a_diff_that_does_not_prove_itself_is_refused(world: World, fault: str) -> None:
    job = world.job()
    job.write({"src/b.py": b"b\n", "src/a.py": b"other\n"})
    made = capture(job, world.base)
    diff = {"bytes": made.diff.replace(b"+b", b"+c"), "cut": made.diff[: len(made.diff) // 2]}.get(
        fault, made.diff
    )
    with pytest.raises(PatchIntegrityError):
        build_candidate(
            world.store,
            base=world.base,
            start=world.base,
            diff=diff,
            sha256="0" * 64 if fault == "hash" else sha256(diff),
            tree="2" * 40 if fault == "tree" else made.tree,
            message="m",
            author=AUTHOR,
            when_utc=WHEN,
            ref="refs/factory/t/1",
            length_bytes=1 if fault == "length" else len(diff),
        )
    assert ref_of(world.store, "refs/factory/t/1") is None


@pytest.mark.parametrize("path", ["../outside", ".git/hooks/post-checkout", "/etc/cron.d/x", "a/.GIT/config"])
def test_a_diff_cannot_name_a_place_outside_the_tree(world: World, path: str) -> None:
    head = f"diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n"
    diff = f"{head}@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(PatchIntegrityError):
        world.candidate(Captured(diff.encode(), "3" * 40))
    assert not (world.folder / "outside").exists()


def test_a_few_bytes_that_stand_for_gigabytes_are_refused_before_they_are_made(world: World) -> None:
    # A delta on README (8 bytes) whose header promises a result of 3 GiB.
    delta = bytes([8, 0x80, 0x80, 0x80, 0x80, 0x0C]) + b"\x01x"
    packed = zlib.compress(delta)
    line = bytes([ord("A") + len(packed) - 1]) + base64.b85encode(packed + b"\0" * (-len(packed) % 4))
    old = world.store.blob_id(world.base, "README")
    diff = (
        f"diff --git a/README b/README\nindex {old}..{'1' * 40} 100644\nGIT binary patch\n"
        f"delta {len(delta)}\n{line.decode()}\n\n"
    )
    with pytest.raises(PatchIntegrityError, match="allocate"):
        world.candidate(Captured(diff.encode(), "4" * 40))


def test_a_nested_repository_is_named(world: World) -> None:
    job = world.job()
    make_repo(job.root / "vendor/lib").commit({"x": b"x"})
    with pytest.raises(NestedRepoError) as raised:
        world.candidate(capture(job, world.base))
    assert raised.value.paths == ("vendor/lib",)


def test_attributes_in_the_tree_start_nothing_and_change_nothing(world: World) -> None:
    marker = world.folder / "ran"
    world.person.git("config", "filter.evil.clean", f"touch {marker}")
    world.person.git("config", "diff.evil.textconv", f"touch {marker}")
    attributes = b"* text eol=crlf filter=evil diff=evil merge=evil\n*.py working-tree-encoding=UTF-16\n"
    job = world.job()
    job.write({".gitattributes": attributes, "src/b.py": b"b\r\nc\n"})
    made = capture(job, world.base)
    # The capture's own handling of attributes is the supervisor's; here only its result travels.
    candidate = world.candidate(made)
    assert candidate.tree == made.tree
    assert not marker.exists()


def test_an_author_without_a_mail_address_is_one_sentence(world: World) -> None:
    job = world.job()
    job.write({"src/b.py": b"b\n"})
    made = capture(job, world.base)
    with pytest.raises(AuthorError, match=r"\[merge\] author"):
        build_candidate(
            world.store,
            base=world.base,
            start=world.base,
            diff=made.diff,
            sha256=made.sha256,
            tree=made.tree,
            message="m",
            author="nobody",
            when_utc=WHEN,
            ref="refs/factory/t/1",
        )


def test_no_index_is_left_behind(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    world.changed({"src/b.py": b"b\n"})
    assert list(scratch.iterdir()) == []
