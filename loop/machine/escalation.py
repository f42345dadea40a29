"""`escalate_if`: what sends a stop straight to a person, whatever the ladder would do.

Each guard is narrow: it reads what the state holds and guesses at nothing. Pure: no I/O.
"""

from collections.abc import Callable
from itertools import combinations, permutations

from instrument.schema.state import Finding, TaskState
from instrument.schema.vocabulary import Escalation, Severity, StopReason

NEAR_LINES = 5
"""Must-fixes on one path that are no further apart are about one place."""
_AROUND = "`'\"()[]{}<>,;:"
_AFTER = _AROUND + ".!?/"
"""What stands around a name in a sentence, and behind it."""
_ABROAD = ("../", "git@", "ssh://", "git://")
"""How the name of something in another repository begins."""


def is_for_a_person(state: TaskState) -> bool:
    """Whether one of the guards that the task names holds."""
    ladder = state.terms.ladder
    return ladder is not None and any(GUARDS[each](state) for each in ladder.escalate_if)


def is_high_risk(state: TaskState) -> bool:
    """The task says `risk: high`."""
    return state.terms.ladder is not None and state.terms.ladder.risk_high


def is_across_repos(state: TaskState) -> bool:
    """The coder asks about another repository: its question names a path above this one, or a clone's URL.

    Only the first 300 characters of a question are looked at: a stop holds no more of it.
    """
    stop = state.stop
    if stop is None or stop.reason is not StopReason.BLOCKED:
        return False
    words = (word.strip(_AROUND) for line in (*stop.details, *stop.choices) for word in line.split())
    return any(word.startswith(_ABROAD) or _is_clone_url(word) for word in words)


def _is_clone_url(word: str) -> bool:
    return "://" in word and word.rstrip(_AFTER).endswith(".git")


def has_conflicting_reviews(state: TaskState) -> bool:
    """Reviews contradict each other.

    A candidate that one approved was sent back by a later one; or a must-fix was mended to a review's
    liking, and a later review has another must-fix on the same place.
    """
    marks = combinations(state.reviews, 2)
    if any(a.approved and not b.approved and a.commit == b.commit for a, b in marks):
        return True
    raised = [f for f in state.findings if f.severity is Severity.MUST_FIX and not f.closed]
    return any(_is_one_place(a, b) and a.round < _first_round(state, b) for a, b in permutations(raised, 2))


def _is_one_place(a: Finding, b: Finding) -> bool:
    is_placed = a.line is not None and b.line is not None and a.path == b.path
    return is_placed and abs((a.line or 0) - (b.line or 0)) <= NEAR_LINES


def _first_round(state: TaskState, finding: Finding) -> int:
    """The review that raised it first; 0 where that is not known."""
    number = int(finding.id.removeprefix("F"))
    return next((n for n, mark in enumerate(state.reviews, start=1) if mark.findings >= number), 0)


GUARDS: dict[Escalation, Callable[[TaskState], bool]] = {
    Escalation.RISK_HIGH: is_high_risk,
    Escalation.CROSS_REPO: is_across_repos,
    Escalation.CONFLICTING_REVIEWS: has_conflicting_reviews,
}
