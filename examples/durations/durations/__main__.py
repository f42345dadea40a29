"""Prints a duration in seconds, in ISO 8601 and for people."""

import sys
from datetime import timedelta
from typing import List

from durations import DurationError, format_human, format_iso, parse


def main(arguments: List[str]) -> int:
    """Read the arguments as one duration; exit code 2 says that it is none."""
    if not arguments:
        print("usage: python3 -m durations DURATION, such as 1h 30m", file=sys.stderr)
        return 2
    try:
        duration = parse(" ".join(arguments))
    except DurationError as error:
        print(f"durations: {error}", file=sys.stderr)
        return 2
    print(duration / timedelta(seconds=1), format_iso(duration), format_human(duration), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
