"""What a task's time goes to.

Pure: no I/O.
"""

from enum import StrEnum, unique


@unique
class Part(StrEnum):
    """What a task's time goes to; in the order in which a report shows them."""

    NOT_BEGUN = "not_begun"
    """Ready, and no loop had taken it up."""
    WORKING = "working"
    CHECKING = "checking"
    """Baseline, checks, comparisons and the gate."""
    REVIEWING = "reviewing"
    SETTING_UP = "setting_up"
    LANDING = "landing"
    """Git and everything between two steps."""
    SLOT = "slot"
    """Behind as many jobs or tasks as may run at once."""
    TASK = "task"
    """Behind another task that may touch the same paths."""
    MAIN = "main"
    """Behind a red default branch."""
    HELD = "held"
    """Behind the owner's gate, or because somebody asked that it be held."""
    PERSON = "person"
    PROVIDER = "provider"
    INTERRUPTED = "interrupted"
    """No loop carried it on, and nobody was asked."""
