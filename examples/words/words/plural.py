"""Writes a noun in the plural."""


def plural(noun: str) -> str:
    """The plural of a regular English noun."""
    return noun + "s"
