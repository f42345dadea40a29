import pytest

from loop.git.paths import decode_path, encode_path, show_path, show_paths


@pytest.mark.parametrize("raw", [b"src/a.py", b"caf\xc3\xa9", b"caf\xe9", b"a\nb", b'q"\\', b"\xff\xfe"])
def test_every_byte_goes_there_and_back(raw: bytes) -> None:
    assert encode_path(decode_path(raw)) == raw


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"src/a b.py", "src/a b.py"),
        (b"caf\xc3\xa9", "caf\u00e9"),
        (b"caf\xe9", '"caf\\xe9"'),
        (b"a\nb", '"a\\nb"'),
        (b'q"\\', '"q\\"\\\\"'),
        (b"\x1b[31m", '"\\x1b[31m"'),
        ("a\u202eb".encode(), '"a\\u{202e}b"'),
        (b"a\\x0ab", '"a\\\\x0ab"'),
    ],
)
def test_a_path_is_shown_on_one_line_and_can_be_written(raw: bytes, shown: str) -> None:
    text = show_path(decode_path(raw))
    assert text == shown
    assert text.isprintable()
    text.encode()


def test_many_paths_are_counted() -> None:
    assert show_paths(tuple(f"p{n}" for n in range(25))).endswith("p19 and 5 more")
