import json
from pathlib import Path

import pytest

from jobs.inside.output import Both, Head, Masker, Tail

SECRETS = ("abcdef", "cdefgh-longer", 'quo"te\nline', "x", "")


def masked(pieces: list[bytes], secrets: tuple[str, ...] = SECRETS) -> bytes:
    masker = Masker(secrets)
    return b"".join(masker.feed(piece) for piece in pieces) + masker.flush()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_a_secret_is_masked_wherever_the_pieces_are_cut(size: int) -> None:
    text = b"x abcdef, abcdefgh-longer! " + json.dumps(SECRETS[2]).encode() + SECRETS[2].encode() + b" abcde"
    pieces = [text[n : n + size] for n in range(0, len(text), size)]
    assert masked(pieces) == b'x ***, ***gh-longer! "***"*** abcde'


def test_two_sinks_get_the_same(tmp_path: Path) -> None:
    both = Both(*(Head(str(tmp_path / name), 100, Masker(())) for name in ("a", "b")))
    for piece in (b"one ", b"two"):
        both.write(piece)
    both.close()
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"one two"] * 2


def test_the_longer_of_two_secrets_wins() -> None:
    assert masked([b"ab", b"cd-tail"], ("abcd", "abcd-tail")) == b"***"


def test_short_values_are_left_alone() -> None:
    assert masked([b"1 is yes"], ("1", "yes")) == b"1 is yes"


def test_what_cannot_become_a_secret_is_let_out_at_once() -> None:
    masker = Masker(["abcdef"])
    assert masker.feed(b"0123456789") == b"01234"
    assert masker.flush() == b"56789"


def test_the_head_stops_at_its_cap_and_says_so(tmp_path: Path) -> None:
    head = Head(str(tmp_path / "t"), 10, Masker(()))
    for piece in (b"01234", b"56789", b"more"):
        assert not head.is_truncated
        head.write(piece)
    head.close()
    head.close()
    assert head.is_truncated
    assert (tmp_path / "t").read_bytes() == b"0123456789"


def test_the_tail_keeps_the_end_and_drops_what_comes_late(tmp_path: Path) -> None:
    tail = Tail(str(tmp_path / "c" / "t"), 8, Masker(["secret"]))
    for piece in (b"0123456789", b"sec", b"ret\n"):
        tail.write(piece)
    tail.close()
    tail.write(b"late")
    tail.close()
    assert (tmp_path / "c" / "t").read_bytes() == b"6789***\n"
