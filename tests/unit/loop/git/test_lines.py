from loop.git.changes import changed_lines
from loop.git.lines import WHOLE, LineChange, show_changes
from support.gitkit import capture
from support.gitworld import World

FIVE = b"one\ntwo\nthree\nfour\nfive\n"


def lines_of(world: World, files: dict[str, bytes | None]) -> dict[str, LineChange]:
    return dict(changed_lines(world.store, world.base, world.changed(files).commit))


EDITS: dict[str, tuple[bytes, set[int], tuple[str, ...]]] = {
    "changed": (FIVE.replace(b"three", b"THREE"), {3}, ("three", "THREE")),
    "added first": (FIVE.replace(b"one\n", b"zero\none\n"), {1}, ("zero",)),
    "added last": (FIVE + b"six\nseven", {6, 7}, ("six", "seven")),
    "removed": (FIVE.replace(b"three\n", b""), {2, 3}, ("three",)),
    "removed first": (FIVE.replace(b"one\n", b""), {1}, ("one",)),
    "looks like a hunk": (
        FIVE.replace(b"two\n", b"-- a\n++ b\n@@ -1 +9 @@\n"),
        {2, 3, 4},
        ("two", "-- a", "++ b", "@@ -1 +9 @@"),
    ),
    "looks like a head": (FIVE.replace(b"two\n", b"diff --git a b\n"), {2}, ("two", "diff --git a b")),
    "other bytes": (FIVE.replace(b"two", b"caf\xe9"), {2}, ("two", "caf\\xe9")),
    "no newline": (FIVE.replace(b"five\n", b"five"), {5}, ("five", "five")),
}


def test_the_lines_of_the_new_file_and_both_texts_are_told(world: World) -> None:
    old = world.person.commit(dict.fromkeys(EDITS, FIVE))
    new = world.person.commit({name: edit[0] for name, edit in EDITS.items()})
    world.store.fetch_tips("main", None)
    found = changed_lines(world.store, old, new)
    assert found == {
        name: LineChange(frozenset(numbers), texts) for name, (_, numbers, texts) in EDITS.items()
    }


def test_a_new_file_is_all_lines_and_a_removed_one_none(world: World) -> None:
    found = lines_of(world, {"new.py": b"a\nb\n", "empty": b"", "README": None})
    assert found == {
        "README": LineChange(frozenset({1}), ("read me",), whole=True),
        "empty": WHOLE,
        "new.py": LineChange(frozenset({1, 2}), ("a", "b"), whole=True),
    }


def test_a_file_cannot_hide_its_lines_behind_a_nul(world: World) -> None:
    hidden = FIVE.replace(b"two", b"import os #\0")
    assert lines_of(world, {"src/a.py": hidden}) == {"src/a.py": WHOLE}


def test_a_file_whose_kind_or_mode_changed_counts_whole_and_shifts_no_other(world: World) -> None:
    job = world.job()
    (job.root / "src/tool.sh").chmod(0o755)
    (job.root / "README").unlink()
    (job.root / "README").symlink_to("src/a.py")
    job.write({"src/a.py": FIVE.replace(b"two", b"2")})
    commit = world.candidate(capture(job, world.base)).commit

    found = changed_lines(world.store, world.base, commit)

    assert [path for path, change in found.items() if change.whole] == ["README", "src/tool.sh"]
    assert found["src/a.py"] == LineChange(frozenset({2}), ("two", "2"))


def test_attributes_of_the_change_hide_nothing(world: World) -> None:
    found = lines_of(world, {".gitattributes": b"*.py -diff binary\n", "src/a.py": FIVE + b"six\n"})
    assert found["src/a.py"] == LineChange(frozenset({6}), ("six",))


def test_beyond_the_bound_a_path_counts_whole_and_the_others_are_told(world: World) -> None:
    large = b"".join(b"line %d\n" % n for n in range(2000))
    commit = world.changed({"a": large, "src/a.py": FIVE + b"six\n"}).commit
    found = changed_lines(world.store, world.base, commit, max_bytes=2000)
    assert found == {"a": WHOLE, "src/a.py": LineChange(frozenset({6}), ("six",))}
    assert set(changed_lines(world.store, world.base, commit, max_bytes=10).values()) == {WHOLE}


def test_names_with_any_byte_are_keys_as_they_are(world: World) -> None:
    job = world.job()
    job.write({'new\nline "quoted"': b"x\n", ":(top)*": b"y\n"})
    (job.root / "caf\udce9").write_bytes(b"z\n")
    commit = world.candidate(capture(job, world.base)).commit
    for max_bytes in (8000, 500):
        found = changed_lines(world.store, world.base, commit, max_bytes=max_bytes)
        assert set(found) == {'new\nline "quoted"', ":(top)*", "caf\udce9"}


def test_nothing_changed_is_nothing(world: World) -> None:
    assert changed_lines(world.store, world.base, world.base) == {}


def test_changes_are_shown_as_a_person_writes_them() -> None:
    changes = {"src/a.py": LineChange(frozenset({3, 4, 5, 9})), "b\n": WHOLE}
    assert show_changes(changes) == ("src/a.py, lines 3-5, 9", '"b\\n", all of it')
