"""Paths of a tree between git's bytes and our text.

UTF-8 with surrogateescape both ways, whatever the locale: nothing is lost. Pure: no I/O.
"""

SHOWN = 20
DELETE = 0x7F
SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def decode_path(raw: bytes) -> str:
    """The path as text; bytes that are no UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    """The bytes that git knows the path by."""
    return path.encode("utf-8", "surrogateescape")


def split_paths(raw: bytes) -> tuple[str, ...]:
    """The paths of a `-z` output, in its order."""
    return tuple(decode_path(part) for part in raw.split(b"\0") if part)


def show_path(path: str) -> str:
    r"""The path on one line and writable anywhere: quoted with `\n`, `\xff` only where it must be."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    shown = []
    for char in path:
        code = ord(char)
        if char in SHORT:
            shown.append(SHORT[char])
        elif "\udc80" <= char <= "\udcff":
            shown.append(f"\\x{code - 0xDC00:02x}")
        elif not char.isprintable():
            shown.append(f"\\x{code:02x}" if code <= DELETE else f"\\u{{{code:x}}}")
        else:
            shown.append(char)
    return '"' + "".join(shown) + '"'


def show_paths(paths: tuple[str, ...]) -> str:
    """Some paths in one line, the first 20 of them, with the count of the rest."""
    shown = ", ".join(show_path(path) for path in paths[:SHOWN])
    rest = len(paths) - SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
