"""`factory bakeoff --replay-reviews ID --with …`: another reviewer over the diffs that were reviewed.

It gets the task and the diff; not the coder's words, the table of checks or what was said before.
Limits: writes `reviews/<digest>.json` below the bake-off's folder; a review that ended is not run again.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from instrument.schema.job import JobEnd
from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import EffectKind, Outcome
from jobs.errors import JobsError
from loop.bakeoff.aside import Again, Aside, Cancelled, open_aside
from loop.bakeoff.drive import hold, name_of
from loop.bakeoff.plan import Reviewed, Says
from loop.bakeoff.progress import BakeoffProgress
from loop.bakeoff.replay import Replay, Second, load_replay, save_replay
from loop.bakeoff.result import CellResult, Result, load_result
from loop.bakeoff.stories import key_of
from loop.bakeoff.variants import Variant
from loop.errors import UsageError
from loop.home import make_private
from loop.machine.effects import Review
from loop.machine.facts import ReviewFacts
from loop.machine.judge import judge, must_fixes
from loop.machine.keys import effect_key, review_token
from loop.run import World
from loop.session import Session, check_means
from loop.shell.base import unpriced_models
from loop.shell.orders import asked_providers

FOLDER = "reviews"
DIGITS = 8
JOB_FOLDER = "jobs/0001-reviewer-1"
_SAYS: dict[Outcome, Says] = {
    Outcome.REVIEW_APPROVED: "approve",
    Outcome.MUST_FIX_FOUND: "changes",
    Outcome.MUST_FIX_FOUND_TOO_OFTEN: "changes",
}
_AGAIN = (
    *(Outcome.PROVIDER_LIMITED, Outcome.PROVIDER_DENIED, Outcome.PROVIDER_FAILED, Outcome.JOB_INTERRUPTED),
    Outcome.PRICE_UNKNOWN,
)
"""They say nothing of the reviewer: the same command asks again."""


@dataclass(frozen=True, slots=True)
class _Work:
    folder: Path
    file: Path
    result: Result
    world: World
    variant: Variant
    stories: dict[str, bytes]


def replay_reviews(
    folder: Path,
    variant: Variant,
    world: World,
    progress: BakeoffProgress,
    *,
    stories: dict[str, bytes],
    budget_microusd: int | None,
) -> Replay:
    """Have every reviewed diff of a bake-off reviewed by this variant.

    Args:
        folder: The bake-off's.
        variant: A runtime and a model; it has no settings.
        world: The surroundings.
        progress: Is told of each.
        stories: A scripted provider's; empty: the real one answers.
        budget_microusd: A review is not begun once so much is spent; none: no limit.

    Raises:
        BusyError: Another process works on this bake-off.
        UsageError: There is nothing to review, or the reviewer cannot be asked.
        Interrupted: A signal ended it; the same command continues.
    """
    if variant.settings:
        raise UsageError("--replay-reviews takes --with RUNTIME:MODEL, without settings")
    result = load_result(folder)
    if not any(found.reviews for found in result.cells):
        raise UsageError(f"bake-off {folder.name} has no reviewed diff; name another")
    digest = hashlib.sha256(variant.name.encode()).hexdigest()[:DIGITS]
    work = _Work(folder, make_private(folder / FOLDER) / f"{digest}.json", result, world, variant, stories)
    with hold(folder):
        try:
            return _replay(work, progress, budget_microusd)
        finally:
            progress.close()


def _replay(work: _Work, progress: BakeoffProgress, budget_microusd: int | None) -> Replay:
    replay = load_replay(work.file, work.folder.name, work.variant.name)
    with suppress(JobsError):
        work.world.jobs.reap(replay.run_id, keep=replay.begun or None)
    ended = {(review.n, review.round) for review in replay.reviews}
    asked = [(found, reviewed) for found in work.result.cells for reviewed in found.reviews]
    for number, (found, reviewed) in enumerate(asked, start=1):
        if (found.cell.n, reviewed.round) in ended:
            continue
        left = None if budget_microusd is None else budget_microusd - replay.spent_microusd
        if left is not None and left <= 0:
            raise UsageError("the budget is spent: run the same command with a higher --budget-usd")
        name = f"{name_of(work.result.plan, found.cell)}, round {reviewed.round}"
        progress.cell(f"[{number}/{len(asked)}] {name}")
        replay = _one(work, replay, found, reviewed, left)
        last = replay.reviews[-1]
        progress.note(f"[{number}/{len(asked)}] {name}: {last.first}, now {last.second or last.outcome}")
    return replay


def _one(
    work: _Work, replay: Replay, found: CellResult, reviewed: Reviewed, left_microusd: int | None
) -> Replay:
    """One review, saved; one that was under way is found again by its key."""
    aside = _open(work, replay, found, reviewed)
    effect = _effect(aside, work.variant, left_microusd)
    is_begun = replay.begun == effect.key
    if not is_begun:
        replay = replay.model_copy(update={"begun": effect.key})
        save_replay(work.file, replay)
    try:
        facts = aside.perform(effect, JOB_FOLDER, resumed=is_begun)
        if isinstance(facts, ReviewFacts) and facts.end.container.lost:
            replay = _with_lost(work, replay, facts.end)
            aside.release(effect.key)
            facts = aside.perform(effect, JOB_FOLDER)
    except Cancelled as cancelled:
        _with_lost(work, replay, cancelled.end)
        raise
    assert isinstance(facts, ReviewFacts), facts
    outcome = judge(aside.begun(effect, JOB_FOLDER), facts)
    if outcome in _AGAIN:
        _with_lost(work, replay, facts.end)
        aside.release(effect.key)
        raise UsageError(f"the review ended with {outcome}, which says nothing of the reviewer; run it again")
    second = Second(
        n=found.cell.n,
        round=reviewed.round,
        name=name_of(work.result.plan, found.cell),
        first=reviewed.says,
        second=_SAYS.get(outcome),
        outcome=outcome,
        first_must_fixes=reviewed.must_fixes,
        must_fixes=len(must_fixes(facts.findings)),
        cost_microusd=facts.end.ledger.cost_microusd + replay.lost_microusd,
        lower_bound=facts.end.is_lower_bound or replay.lost_is_lower_bound,
    )
    fresh = {"begun": "", "lost_microusd": 0, "lost_is_lower_bound": False}
    replay = replay.model_copy(update={**fresh, "reviews": (*replay.reviews, second)})
    save_replay(work.file, replay)
    aside.release(effect.key)
    return replay


def _with_lost(work: _Work, replay: Replay, end: JobEnd | None) -> Replay:
    """Keep what an attempt had cost that came to nothing; its key begins anew."""
    cost = end.ledger.cost_microusd if end else 0
    is_lower_bound = replay.lost_is_lower_bound or end is None or end.is_lower_bound
    update = {"lost_microusd": replay.lost_microusd + cost, "lost_is_lower_bound": is_lower_bound}
    replay = replay.model_copy(update=update)
    save_replay(work.file, replay)
    return replay


def _open(work: _Work, replay: Replay, found: CellResult, reviewed: Reviewed) -> Aside:
    subject = work.result.plan.subjects[found.cell.subject]
    story: bytes | None = None
    if work.stories:
        key = key_of(work.stories, subject.path, work.variant.runtime)
        if key is None:
            raise UsageError(
                f"--story: none serves {subject.task_id} with {work.variant.name}; name one more"
            )
        story = work.stories[key]
    below = f"{FOLDER}/{work.file.stem}/{found.cell.n:04d}-{reviewed.round}"
    again = Again(work.folder, work.result.plan, work.world, replay.run_id, replay.nonce)
    aside = open_aside(again, below, found, reviewed.diff, variant=work.variant, story=story)
    _check(aside, work.variant)
    return aside


def _check(aside: Aside, variant: Variant) -> None:
    """Price, key and, before the first paid call, the canary."""
    choice = _choice(aside, variant)
    terms = aside.papers.terms.model_copy(update={"coder": choice, "reviewer": choice})
    if unknown := unpriced_models(aside.context, terms):
        raise UsageError(f"--with {variant.name}: the price of {unknown[0]} is not known; name another model")
    state = aside.state
    session = Session(aside.context, state.task_id, state.task_path, state.repo, aside.papers.config)
    check_means(session, aside.papers.config, terms)
    if asked_providers(aside.context, terms):
        aside.world.before_paid()


def _choice(aside: Aside, variant: Variant) -> AgentChoice:
    return AgentChoice(runtime=variant.runtime, model=variant.model or aside.papers.terms.coder.model)


def _effect(aside: Aside, variant: Variant, left_microusd: int | None) -> Review:
    image = aside.set_up()
    key = effect_key(aside.state, EffectKind.REVIEW, aside.commit, image, aside.context.folder.name)
    terms = aside.state.terms
    caps = [cap for cap in (terms.budget_microusd, left_microusd) if cap is not None]
    return Review(
        key=key,
        round=1,
        start=aside.commit,
        image=image,
        agent=_choice(aside, variant),
        deadline_ms=terms.job_ms,
        budget_microusd=min(caps, default=None),
        base=aside.start,
        token=review_token(aside.state, key),
    )
