"""`git.commit_candidate`: prove a coder's diff, look into it, make it the candidate.

Limits: under the repository's lock; writes one commit and its ref.
"""

from collections.abc import Iterator

from instrument.schema.state import Candidate, PendingDiff, TaskState
from loop.allowances import split_allowed
from loop.git.candidate import Candidate as Made
from loop.git.candidate import build_candidate
from loop.git.changes import ChangedPath, changed_paths, review_diff
from loop.git.errors import (
    EmptyChangeError,
    FilterUnsupportedError,
    NestedRepoError,
    PatchIntegrityError,
    SubmoduleChangedError,
)
from loop.git.lock import repo_lock
from loop.git.paths import show_path
from loop.globs import compile_globs
from loop.machine.effects import CommitCandidate
from loop.machine.facts import CandidateFacts, CandidateProblem
from loop.messages import commit_message
from loop.scope import judge_scope
from loop.secrets_scan import SecretHit, scan_added
from loop.shell.commits import LOCK_TIMEOUT_S
from loop.shell.comparison import base_tests_changed
from loop.shell.context import Context
from loop.shell.papers import Papers, papers_of
from loop.test_guard import TestChange, find_weakened, may_hold_tests

BINARY = b"\nGIT binary patch\n"
MAX_TEXT_BYTES = 32 * 1024 * 1024


def commit_candidate(context: Context, state: TaskState, effect: CommitCandidate) -> CandidateFacts:
    """Prove the pending diff and commit it; what is wrong with it leaves it an artefact."""
    papers = papers_of(context, state, effect.base)
    diff = _read_diff(context, effect.pending)
    if hits := _not_allowed(state, scan_added(diff)):
        return _secrets(effect, hits)
    try:
        with repo_lock(context.home, state.repo, LOCK_TIMEOUT_S):
            made = _build(context, state, effect, papers, diff)
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
    return _look_into(context, state, effect, papers, made, has_binary=BINARY in diff)


def _read_diff(context: Context, pending: PendingDiff) -> bytes:
    path = context.folder / pending.folder / "out" / "diff.patch"
    return path.read_bytes() if path.exists() else b""


def _ref(state: TaskState, effect: CommitCandidate) -> str:
    return f"refs/factory/{state.task_id}/{effect.n}"


def _build(context: Context, state: TaskState, effect: CommitCandidate, papers: Papers, diff: bytes) -> Made:
    return build_candidate(
        context.store,
        base=effect.base,
        start=effect.pending.start_commit,
        diff=diff,
        sha256=effect.pending.diff_sha256,
        tree=effect.pending.tree,
        message=commit_message(papers.task, state, effect.key),
        author=papers.config.merge.author,
        when_utc=context.now(),
        ref=_ref(state, effect),
        length_bytes=effect.pending.diff_bytes,
    )


def _look_into(
    context: Context,
    state: TaskState,
    effect: CommitCandidate,
    papers: Papers,
    made: Made,
    *,
    has_binary: bool,
) -> CandidateFacts:
    """Secrets that a binary hunk hid, scope, weakened tests; else the candidate."""
    if has_binary and (hits := _not_allowed(state, _hidden_secrets(context, effect, made))):
        context.store.delete_refs(_ref(state, effect))
        return _secrets(effect, hits)
    changed = changed_paths(context.store, effect.base, made.commit)
    allowed, _ = split_allowed(state.allowed)
    scope = judge_scope(
        changed,
        files=(*papers.task.files, *allowed),
        allow=(*papers.task.allow, *allowed),
        protected=papers.config.protected,
        generated=papers.config.generated,
    )
    if scope.protected:
        return _problem(effect, CandidateProblem.PROTECTED, scope.protected)
    if scope.out_of_scope:
        return _problem(effect, CandidateProblem.OUT_OF_SCOPE, scope.out_of_scope)
    if not papers.task.allow_weaker_tests and (lines := _weakened(context, effect, papers, made, changed)):
        return CandidateFacts(key=effect.key, problem=CandidateProblem.WEAKENED, details=lines)
    candidate = Candidate(
        commit=made.commit,
        tree=made.tree,
        base=effect.base,
        n=effect.n,
        changes_tests=bool(base_tests_changed(changed, papers.config)),
    )
    return CandidateFacts(key=effect.key, candidate=candidate)


def _problem(effect: CommitCandidate, problem: CandidateProblem, paths: tuple[str, ...]) -> CandidateFacts:
    return CandidateFacts(key=effect.key, problem=problem, details=tuple(show_path(path) for path in paths))


def _secrets(effect: CommitCandidate, hits: tuple[SecretHit, ...]) -> CandidateFacts:
    """Where, and of what kind; never what."""
    details = tuple(f"{show_path(hit.path)}:{hit.line} {hit.kind}" for hit in hits)
    return CandidateFacts(key=effect.key, problem=CandidateProblem.SECRET, details=details)


def _not_allowed(state: TaskState, hits: tuple[SecretHit, ...]) -> tuple[SecretHit, ...]:
    """The hits in paths of which no person said that they hold none."""
    _, globs = split_allowed(state.allowed)
    let_off = compile_globs(globs)
    return tuple(hit for hit in hits if not let_off.match_file(hit.path))


def _hidden_secrets(context: Context, effect: CommitCandidate, made: Made) -> tuple[SecretHit, ...]:
    """Look at the whole change as text: a NUL byte makes git call a file binary."""
    text = review_diff(context.store, effect.base, made.commit, MAX_TEXT_BYTES).text
    return scan_added(text.encode("utf-8", "surrogateescape"))


def _weakened(
    context: Context,
    effect: CommitCandidate,
    papers: Papers,
    made: Made,
    changed: tuple[ChangedPath, ...],
) -> tuple[str, ...]:
    """The tests that the change deletes, skips or empties, a line each."""

    def changes() -> Iterator[TestChange]:
        for each in changed:
            if may_hold_tests(each.path, papers.config.tests):
                old = context.store.read_blob(effect.base, each.path)
                new = context.store.read_blob(made.commit, each.path)
                yield TestChange(each.path, _text(old), _text(new))

    return tuple(
        f"{show_path(found.path)}: {found.name or 'the file'} {found.how}"
        for found in find_weakened(changes(), papers.config.tests)
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
