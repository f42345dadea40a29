from pathlib import Path

from loop.replay.record import FILE, Fate, Line, Record

ONE = Line(commit="1" * 40, fate=Fate.TRAVELLED)
TWO = Line(commit="2" * 40, fate=Fate.STOPPED, reason="nested_repo", paths=("sub",))


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.add(ONE)
    record.add(TWO)

    assert list(Record(tmp_path).lines.values()) == [ONE, TWO]


def test_a_torn_end_is_cut_off_and_the_next_line_is_whole(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.add(ONE)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"commit": "22')

    again = Record(tmp_path)
    assert list(again.lines) == [ONE.commit]
    again.add(TWO)

    assert list(Record(tmp_path).lines.values()) == [ONE, TWO]
