"""The command line of a program that does not print its version by itself.

Pure: no I/O.
"""

SCRIPT = 'cat "$0.version" 2>/dev/null; exec "$0" "$@"'
"""The image's build put the line into this file."""


def versioned(program: str, *arguments: str) -> tuple[str, ...]:
    """Start the program after a line `{"type": "factory.version", "version": …}`."""
    return ("/bin/sh", "-c", SCRIPT, f"/usr/local/bin/{program}", *arguments)
