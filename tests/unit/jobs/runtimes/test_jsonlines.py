from instrument.schema.transcript import MOST_ENTRIES, CallSeen, FileRead, Transcript
from jobs.runtimes.jsonlines import Notes, count, is_truncated, line_number, messages, text


def test_what_is_no_object_is_left_out_and_the_rest_is_read() -> None:
    stream = b'{"a": 1}\nno\n[1]\n\xff\n{"b": "' + b"x" * 3_000_000 + b'"}\n{"c": 3}'
    assert [list(message) for message in messages(stream)] == [["a"], ["b"], ["c"]]


def test_a_cut_line_is_told_from_a_whole_one_without_an_end() -> None:
    assert is_truncated(b'{"a": 1}\n{"b": "\xc3')
    assert not is_truncated(b'{"a": 1}\n{"b": 2}')
    assert not is_truncated(b'{"a": 1}\n')


def test_numbers_that_are_none_are_unknown() -> None:
    assert [count(value) for value in (0, 7, -1, True, 1.5, "7", None)] == [
        0,
        7,
        None,
        None,
        None,
        None,
        None,
    ]
    assert [line_number(value) for value in (0, 7)] == [None, 7]


def test_half_of_a_surrogate_pair_can_be_written() -> None:
    assert text("a\ud800b") == "a?b"
    assert text(3) is None


def test_a_list_that_does_not_end_is_capped() -> None:
    notes = Notes()
    for number in range(MOST_ENTRIES + 5):
        notes.call(CallSeen())
        notes.tool(number, "bash")
        notes.read("a")
        notes.error("no")
    told = notes.taken()
    lengths = {len(told.calls), len(told.tools), len(told.reads), len(told.errors)}
    assert lengths == {MOST_ENTRIES}


def test_a_part_of_a_file_is_told_by_its_lines() -> None:
    notes = Notes()
    notes.read("a", 10, 5)
    notes.read("b")
    notes.read(None)
    assert notes.taken() == Transcript(
        reads=(
            FileRead(path="a", first_line=10, last_line=14),
            FileRead(path="b", first_line=1, last_line=None),
        )
    )
