"""Folds a text into lines of a given width."""

from typing import List


def fold(text: str, width: int) -> List[str]:
    """Words on as few lines as hold them; a word longer than a line has one of its own."""
    lines: List[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) + 1 < width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
