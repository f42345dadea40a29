"""Git effects at the end: make the landing commit, merge it.

Limits: under the repository's lock; the person's checkout is touched by `merge` alone.
"""

from instrument.schema.state import Candidate, Landing, TaskState
from loop.git.cleanup import forget_task
from loop.git.errors import (
    MergeConflictError,
    NothingAheadError,
    TaskLineError,
)
from loop.git.landing import make_landing, rebase_candidate
from loop.git.lock import repo_lock
from loop.git.merge import Merged, Moved, Refused, merge
from loop.git.paths import show_path
from loop.machine.effects import Merge, Rebase
from loop.machine.facts import MergeFacts, RebaseFacts
from loop.messages import commit_message
from loop.shell.context import Context
from loop.shell.papers import papers_of

LOCK_TIMEOUT_S = 300


def rebase(context: Context, state: TaskState, effect: Rebase) -> RebaseFacts:
    """Make the commit that lands on the branch's present tip, its task file saying done."""
    with repo_lock(context.home, state.repo, LOCK_TIMEOUT_S):
        tips = context.store.fetch_tips(context.branch, context.remote)
        onto = context.store.choose_base(tips, push=context.remote is not None)
        papers = papers_of(context, state, onto)
        message = commit_message(papers.task, state, effect.key)
        author, when_utc = papers.config.merge.author, context.now()
        try:
            landing = make_landing(
                context.store,
                onto=onto,
                candidate=effect.candidate.commit,
                task_path=state.task_path,
                message=message,
                author=author,
                when_utc=when_utc,
                ref=f"refs/factory/{state.task_id}/landing-{effect.n}",
            )
            candidate = effect.candidate
            if onto != candidate.base:
                moved = rebase_candidate(
                    context.store,
                    onto=onto,
                    candidate=candidate.commit,
                    message=message,
                    author=author,
                    when_utc=when_utc,
                    ref=f"refs/factory/{state.task_id}/rebased-{effect.n}",
                )
                candidate = Candidate(commit=moved.commit, tree=moved.tree, base=onto, n=candidate.n)
        except MergeConflictError as error:
            return RebaseFacts(
                key=effect.key, onto=onto, conflicts=tuple(show_path(path) for path in error.paths)
            )
        except TaskLineError as error:
            return RebaseFacts(key=effect.key, onto=onto, conflicts=(str(error),))
        except NothingAheadError:
            return RebaseFacts(key=effect.key, onto=onto)
    return RebaseFacts(
        key=effect.key,
        onto=onto,
        landing=Landing(commit=landing.commit, tree=landing.tree, onto=onto),
        candidate=candidate,
        terms=papers.terms if onto != state.base else None,
    )


def merge_landing(context: Context, state: TaskState, effect: Merge) -> MergeFacts:
    """Move the branch to exactly the gated commit; found there already, it is merged."""
    landing = effect.landing
    with repo_lock(context.home, state.repo, LOCK_TIMEOUT_S):
        end = merge(
            context.store,
            context.store.checkout,
            landing=landing.commit,
            onto=landing.onto,
            branch=context.branch,
            remote=context.remote,
        )
        if isinstance(end, Merged):
            forget_task(context.store, state.task_id)
    match end:
        case Merged():
            return MergeFacts(key=effect.key, result="merged", details=end.notes)
        case Moved():
            return MergeFacts(key=effect.key, result="moved")
        case Refused():
            return MergeFacts(key=effect.key, result="refused", details=tuple(end.text.splitlines()))
