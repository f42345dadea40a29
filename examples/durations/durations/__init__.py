"""Durations for people and in ISO 8601."""

from datetime import timedelta

from durations.errors import DurationError
from durations.human import parse_human
from durations.iso import format_iso, parse_iso
from durations.text import format_human

__all__ = ["DurationError", "format_human", "format_iso", "parse", "parse_human", "parse_iso"]


def parse(text: str) -> timedelta:
    """Read a duration in either form: what begins with P (after a sign) is ISO 8601."""
    if text.strip().lstrip("+-").upper().startswith("P"):
        return parse_iso(text)
    return parse_human(text)
