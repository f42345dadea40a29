"""Git effects: prove a diff, make the landing commit, merge it.

Limits: under the repository's lock; the person's checkout is touched by `merge` alone.
"""

from instrument.schema.state import Candidate, Landing, TaskState
from loop.git.candidate import build_candidate, changed_paths
from loop.git.cleanup import forget_task
from loop.git.errors import (
    EmptyChangeError,
    FilterUnsupportedError,
    MergeConflictError,
    NestedRepoError,
    NothingAheadError,
    PatchIntegrityError,
    SubmoduleChangedError,
    TaskLineError,
)
from loop.git.landing import make_landing, rebase_candidate
from loop.git.lock import repo_lock
from loop.git.merge import Merged, Moved, Refused, merge
from loop.git.paths import show_path
from loop.machine.effects import CommitCandidate, Merge, Rebase
from loop.machine.facts import CandidateFacts, CandidateProblem, MergeFacts, RebaseFacts
from loop.messages import commit_message
from loop.scope import judge_scope
from loop.shell.context import Context
from loop.shell.papers import papers_of

LOCK_TIMEOUT_S = 300


def commit_candidate(context: Context, state: TaskState, effect: CommitCandidate) -> CandidateFacts:
    """Prove the pending diff and commit it; a diff outside the task's scope stays an artefact."""
    papers = papers_of(context, state, effect.base)
    pending = effect.pending
    diff_file = context.folder / pending.folder / "out" / "diff.patch"
    try:
        with repo_lock(context.home, state.repo, LOCK_TIMEOUT_S):
            made = build_candidate(
                context.store,
                base=effect.base,
                start=pending.start_commit,
                diff=diff_file.read_bytes() if diff_file.exists() else b"",
                sha256=pending.diff_sha256,
                tree=pending.tree,
                message=commit_message(papers.task, state, effect.key),
                author=papers.config.merge.author,
                when_utc=context.now(),
                ref=f"refs/factory/{state.task_id}/{effect.n}",
                length_bytes=pending.diff_bytes,
            )
    except EmptyChangeError:
        return CandidateFacts(key=effect.key, problem=CandidateProblem.EMPTY)
    except NestedRepoError as error:
        return _problem(effect, CandidateProblem.NESTED, error.paths)
    except SubmoduleChangedError as error:
        return _problem(effect, CandidateProblem.SUBMODULE, error.paths)
    except FilterUnsupportedError as error:
        return _problem(effect, CandidateProblem.FILTER, error.paths)
    except PatchIntegrityError as error:
        return CandidateFacts(key=effect.key, problem=CandidateProblem.UNPROVEN, details=(str(error),))
    scope = judge_scope(
        changed_paths(context.store, effect.base, made.commit),
        files=(*papers.task.files, *state.allowed),
        allow=(*papers.task.allow, *state.allowed),
        protected=papers.config.protected,
        generated=papers.config.generated,
    )
    if scope.protected:
        return _problem(effect, CandidateProblem.PROTECTED, scope.protected)
    if scope.out_of_scope:
        return _problem(effect, CandidateProblem.OUT_OF_SCOPE, scope.out_of_scope)
    candidate = Candidate(commit=made.commit, tree=made.tree, base=effect.base, n=effect.n)
    return CandidateFacts(key=effect.key, candidate=candidate)


def _problem(effect: CommitCandidate, problem: CandidateProblem, paths: tuple[str, ...]) -> CandidateFacts:
    return CandidateFacts(key=effect.key, problem=problem, details=tuple(show_path(path) for path in paths))


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
