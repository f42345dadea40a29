import pytest

from loop.git.candidate import Candidate
from loop.git.errors import MergeConflictError, NothingAheadError, TaskLineError
from loop.git.landing import mark_done, rebase_candidate
from support.gitkit import AUTHOR, TASK, TASK_TEXT, WHEN, Repo
from support.gitworld import World


def move_main(world: World, files: dict[str, bytes | None]) -> str:
    tip = world.person.commit(files, "someone else")
    world.store.fetch_tips("main", None)
    return tip


def leftovers(repo: Repo) -> set[str]:
    return {
        path.name
        for path in repo.root.rglob("*")
        if path.name.startswith(("rebase", "MERGE", "ORIG_HEAD", "AUTO"))
    }


def test_the_landing_is_the_accepted_tree_with_its_task_done(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    landing = world.landing(candidate)
    text = world.store.commit_text(landing.commit)
    assert text.parents == (world.base,)
    assert text.message == "Retry\n\nbody\n\nTask: t\n"
    assert world.store.read_blob(landing.commit, TASK) == TASK_TEXT.replace(b"ready", b"done")
    expected = set(world.store.entries(candidate.commit))
    assert {entry.path for entry in expected ^ set(world.store.entries(landing.commit))} == {TASK}


def test_case_16_a_moved_main_is_under_the_landing(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    tip = move_main(world, {"src/c.py": b"c\n"})
    landing = world.landing(candidate, tip)
    assert world.store.commit_text(landing.commit).parents == (tip,)
    assert {"src/b.py", "src/c.py"} <= set(world.store.paths(landing.commit))


def test_both_sides_of_one_file_are_merged(world: World) -> None:
    candidate = world.changed({"src/a.py": b"ONE\ntwo\nthree\nfour\nfive\n"})
    tip = move_main(world, {"src/a.py": b"one\ntwo\nthree\nfour\nFIVE\n"})
    landing = world.landing(candidate, tip)
    assert world.store.read_blob(landing.commit, "src/a.py") == b"ONE\ntwo\nthree\nfour\nFIVE\n"


def test_case_23_a_conflict_names_its_files_and_leaves_nothing(world: World) -> None:
    (world.folder / ".gitconfig").write_text("[rerere]\n\tenabled = true\n\tautoupdate = true\n")
    candidate = world.changed({"src/a.py": b"ours\n", "q\n'\xc3": b"new\n", "src/b.py": b"b\n"})
    tip = move_main(world, {"src/a.py": b"theirs\n", "q\n'\xc3": b"another\n"})

    for _ in range(2):
        with pytest.raises(MergeConflictError) as raised:
            world.landing(candidate, tip)
        assert set(raised.value.paths) == {"src/a.py", "q\n'\xc3"}
        assert str(raised.value).isprintable()

    assert leftovers(world.store_repo) == set()
    assert leftovers(world.person) <= {"ORIG_HEAD"}
    assert world.person.ask("symbolic-ref", "HEAD") == "refs/heads/main"
    again = move_main(world, {"src/a.py": b"one\ntwo\nthree\nfour\nfive\n", "q\n'\xc3": None})
    assert world.store.commit_text(world.landing(candidate, again).commit).parents == (again,)


def test_a_change_that_main_already_holds_is_nothing_ahead(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    tip = move_main(world, {"src/b.py": b"b\n", "src/c.py": b"c\n"})
    with pytest.raises(NothingAheadError):
        world.landing(candidate, tip)


def rebase(world: World, candidate: str, onto: str) -> Candidate:
    return rebase_candidate(
        world.store,
        onto=onto,
        candidate=candidate,
        message="m",
        author=AUTHOR,
        when_utc=WHEN,
        ref="refs/factory/t/rebased",
    )


def test_a_rebased_candidate_is_the_landing_with_its_task_still_ready(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    tip = move_main(world, {"src/c.py": b"c\n"})
    landing, rebased = world.landing(candidate, tip), rebase(world, candidate.commit, tip)
    assert world.store.commit_text(rebased.commit).parents == (tip,)
    assert world.store.read_blob(rebased.commit, TASK) == TASK_TEXT
    both = set(world.store.entries(landing.commit)) ^ set(world.store.entries(rebased.commit))
    assert {entry.path for entry in both} == {TASK}
    assert world.landing(rebased, tip).tree == landing.tree


def test_a_candidate_that_main_already_holds_is_not_rebased(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    with pytest.raises(NothingAheadError):
        rebase(world, candidate.commit, move_main(world, {"src/b.py": b"b\n"}))


def test_the_same_work_gives_the_same_landing(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    assert world.landing(candidate) == world.landing(candidate)


def test_a_task_that_is_gone_or_done_on_main_cannot_be_marked(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    done = move_main(world, {TASK: TASK_TEXT.replace(b"ready", b"done")})
    with pytest.raises(TaskLineError, match="no single line"):
        world.landing(candidate, done)
    gone = move_main(world, {TASK: None})
    with pytest.raises(TaskLineError, match="not there"):
        world.landing(candidate, gone)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\nstatus: ready\n---\n", b"---\nstatus: done\n---\n"),
        (
            b"---\r\nfiles: [a]\r\nstatus:  ready \r\n---\r\nx",
            b"---\r\nfiles: [a]\r\nstatus:  done \r\n---\r\nx",
        ),
        (b'---\nstatus: "ready" # go\n---\n\xff', b'---\nstatus: "done" # go\n---\n\xff'),
        (b"---\nstatus: 'ready'\n---\nstatus: ready\n", b"---\nstatus: 'done'\n---\nstatus: ready\n"),
        (b"---\nx:\n  status: ready\nstatus: ready\n---", b"---\nx:\n  status: ready\nstatus: done\n---"),
    ],
)
def test_exactly_the_status_line_changes(before: bytes, after: bytes) -> None:
    assert mark_done(before, TASK) == after


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"status: ready\n",
        b"---\nstatus: ready\n",
        b"---\nstatus: readying\n---\n",
        b"---\nstatus: \"ready'\n---\n",
        b"---\nstatus: ready\nstatus: ready\n---\n",
        b"---\nstatus: ready\nstatus: done\n---\n",
        b"---\nfiles: []\n---\nstatus: ready\n",
    ],
)
def test_a_file_without_exactly_one_such_line_is_refused(text: bytes) -> None:
    with pytest.raises(TaskLineError):
        mark_done(text, TASK)
