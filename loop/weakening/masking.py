"""Program text with its comments and the insides of its strings blanked, so that patterns see code alone.

Pure: no I/O. For languages that look like C; every character keeps its place.
"""

import re
from dataclasses import dataclass

_BLANK = re.compile(r"[^\n]")
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_CHAR = r"'(?:[^'\\\n]|\\.)*'?"
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_TEMPLATE = r"`(?:[^`\\]|\\.)*`?"
_REGEX = r"(?<=[(,=:\[!&|?{};\n])[ \t]*/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}/"
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_BRACKET = re.compile(r"[()\[\]{}]")

JAVASCRIPT = re.compile(rf"(?P<comment>{_COMMENT})|{_REGEX}|{_STRING}|{_CHAR}|{_TEMPLATE}", re.DOTALL)
GO = re.compile(rf"(?P<comment>{_COMMENT})|{_STRING}|`[^`]*`?|{_CHAR}", re.DOTALL)
RUST = re.compile(
    rf"""(?P<comment>{_COMMENT})|(?<!\w)b?r(?P<hashes>#*)"(?:.*?"(?P=hashes)|.*)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\\n]|\\.)'""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Masked:
    """A text of which patterns may be asked."""

    text: str
    """Without comments, strings as they are."""
    code: str
    """Without comments and without what stands in strings; their quotes stay."""
    ends: dict[int, int]
    """For the place of each opening bracket in `code`, that of the closing one."""

    def end_of(self, opening: int) -> int:
        """The place after what a bracket opens; the text's end where it is never closed."""
        return self.ends.get(opening, len(self.code) - 1) + 1


def mask(text: str, tokens: re.Pattern[str]) -> Masked:
    """Blank what `tokens` matches: its group `comment` everywhere, the insides of the rest in `code`."""
    plain, code, done = [], [], 0
    for match in tokens.finditer(text):
        between, token = text[done : match.start()], match[0]
        blank = _BLANK.sub(" ", token)
        is_comment = match["comment"] is not None
        plain += [between, blank if is_comment else token]
        code += [between, blank if is_comment or len(token) == 1 else token[0] + blank[1:-1] + token[-1]]
        done = match.end()
    tail = text[done:]
    masked = "".join([*code, tail])
    return Masked("".join([*plain, tail]), masked, _match_brackets(masked))


def _match_brackets(code: str) -> dict[int, int]:
    ends: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET.finditer(code):
        if match[0] in _PAIRS:
            opened.append(match.start())
        elif opened and _PAIRS[code[opened[-1]]] == match[0]:
            ends[opened.pop()] = match.start()
    return ends
