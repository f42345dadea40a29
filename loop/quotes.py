"""Whether a text quotes a line of code or of output.

Pure: no I/O.
"""

import re
from functools import lru_cache

MIN_PART_CHARS = 10
"""A shorter piece in the middle of something else is chance: `return`, `1 passed`."""
MIN_LINE_CHARS = 3
"""A shorter line, such as `)`, is never told from chance."""
_SPANS = (re.compile(r"[`\n]"), re.compile(r"[`\"'\n]"))


def bare(text: str | None) -> str:
    """Take the white space out, so that a quote is the same however it was wrapped."""
    return "".join((text or "").split())


def quotes(text: str | None, line: str) -> bool:
    """Whether `text` holds the line, white space aside, or a span of it is a good part of the line.

    Spans are the lines of `text` and what stands between its quotation marks; the sign that a line has
    in a diff may stand in front. A short line has to be a span by itself.
    """
    wanted = bare(line)
    if not text or len(wanted) < MIN_LINE_CHARS or not any(map(str.isalnum, wanted)):
        return False
    told, spans, parts = _read(text)
    if wanted in spans or (len(wanted) >= MIN_PART_CHARS and wanted in told):
        return True
    return any(part in wanted for part in parts)


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """The text, its spans, and those long enough to be looked for inside a line; all bare.

    Kept, for one text is held against every line that changed.
    """
    spans = {bare(span) for marks in _SPANS for span in marks.split(text)}
    spans |= {span[1:] for span in spans if span[:1] in ("+", "-")}
    parts = tuple(s for s in sorted(spans) if len(s) >= MIN_PART_CHARS and any(map(str.isalnum, s)))
    return bare(text), frozenset(spans), parts
