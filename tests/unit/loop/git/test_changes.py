from loop.git.changes import changed_paths, review_diff
from support.gitkit import capture
from support.gitworld import World


def test_paths_with_any_byte_are_listed_with_kind_and_size(world: World) -> None:
    job = world.job()
    job.write({'new\nline "quoted"': b"12345", "README": None, "src/a.py": b"x" * 10})
    (job.root / "src/tool.sh").unlink()
    (job.root / "src/tool.sh").symlink_to("a.py")
    (job.root / "caf\udce9").write_bytes(b"latin")
    candidate = world.candidate(capture(job, world.base))

    found = {change.path: change for change in changed_paths(world.store, world.base, candidate.commit)}

    assert {(path, change.status, change.size_bytes) for path, change in found.items()} == {
        ("README", "D", 0),
        ("caf\udce9", "A", 5),
        ('new\nline "quoted"', "A", 5),
        ("src/a.py", "M", 10),
        ("src/tool.sh", "T", 4),
    }
    assert (found["src/tool.sh"].old_mode, found["src/tool.sh"].new_mode) == ("100644", "120000")
    assert world.store.read_blob(candidate.commit, "caf\udce9") == b"latin"


def test_a_renamed_file_is_its_two_paths(world: World) -> None:
    candidate = world.changed({"README": None, "docs/README": b"read me\n"})
    changes = changed_paths(world.store, world.base, candidate.commit)
    assert [(change.path, change.status) for change in changes] == [("README", "D"), ("docs/README", "A")]


def test_case_25_files_that_do_not_fit_are_left_out_whole_and_named(world: World) -> None:
    lines = b"".join(b"line %d\n" % n for n in range(2000))
    candidate = world.changed({"a-small": b"small\n", "b-large": lines, "c-small": b"also small\n"})

    review = review_diff(world.store, world.base, candidate.commit, 1000)

    assert [change.path for change in review.left_out] == ["b-large"]
    assert review.left_out[0].size_bytes == len(lines)
    assert "+small\n" in review.text
    assert "+also small\n" in review.text
    assert "b-large" not in review.text
    assert len(review.text.encode()) <= 1000


def test_everything_is_left_out_where_there_is_no_room(world: World) -> None:
    candidate = world.changed({"src/a.py": b"other\n"})
    review = review_diff(world.store, world.base, candidate.commit, 10)
    assert review.text == ""
    assert [change.path for change in review.left_out] == ["src/a.py"]


def test_named_paths_are_skipped_whatever_their_size(world: World) -> None:
    candidate = world.changed({"src/a.py": b"other\n", "lock": b"generated\n"})
    review = review_diff(world.store, world.base, candidate.commit, 10_000, skip={"lock"})
    assert [change.path for change in review.left_out] == ["lock"]


def test_attributes_cannot_hide_a_file_from_review(world: World) -> None:
    attributes = b"*.py -diff binary linguist-generated export-ignore\n"
    candidate = world.changed({".gitattributes": attributes, "src/evil.py": b"import os\0\xff\n"})
    text = review_diff(world.store, world.base, candidate.commit, 10_000).text
    assert "+import os\\x00\\xff\n" in text
    assert "Binary files" not in text


def test_a_file_that_became_a_folder_is_shown_once(world: World) -> None:
    job = world.job()
    job.write({"README": None})
    job.write({"README/inside": b"below\n"})
    candidate = world.candidate(capture(job, world.base))
    text = review_diff(world.store, world.base, candidate.commit, 10_000).text
    assert text.count("+below") == 1
    assert text.count("-read me") == 1


def test_a_pattern_in_a_name_is_only_a_name(world: World) -> None:
    candidate = world.changed({"b!": b"bang\n", "b*": b"star\n", ":(top)*": b"magic\n"})
    text = review_diff(world.store, world.base, candidate.commit, 10_000, skip={"b!"}).text
    assert text.count("diff --git") == 2
    assert "+star" in text
    assert "+magic" in text
