"""A change made again on a new main, and a review that is marked with what it judged."""

from pathlib import Path

from instrument.schema.vocabulary import EffectKind
from loop.machine.facts import BaseFacts, EngineFacts, MergeFacts, RebaseFacts
from loop.machine.resume import resume
from support.ends import command
from support.lives import (
    RED,
    Life,
    candidate_facts,
    coder,
    commands,
    lost,
    must_fix,
    new_state,
    rebase_facts,
    reviewer,
)


def test_reviews_are_marked_with_what_they_judged(tmp_path: Path):
    life = Life(tmp_path, review=[must_fix, reviewer(fault="no_block")]).run()
    commits = [effect.start for effect in life.begun(EffectKind.REVIEW)]
    assert [mark.commit for mark in life.state.reviews] == [commits[0], commits[2]]
    assert len({*commits}) == 2


def test_a_conflict_is_made_again_on_the_new_main_with_the_old_change_at_hand(tmp_path: Path):
    life = Life(tmp_path, rebase=[lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("x",))])
    old = life.run().state.candidate.commit
    anew = lambda s, e: BaseFacts(key=e.key, base="8" * 40, terms=s.terms)
    seen = []

    def coding(state, effect):
        seen.append((effect.start, state.conflict_commit))
        return coder()(state, effect)

    gone = lambda _, e: EngineFacts(key=e.key, detail="x")
    life.shell.moves |= {
        EffectKind.FIND_BASE: [anew, anew],
        EffectKind.SET_UP: [gone],
        EffectKind.IMPLEMENT: [coding, coding],
        EffectKind.CHECK: [RED] * 2,
    }
    assert life.rule("make it again")
    assert life.ending == "runner_unavailable"
    assert life.goes_on("rerun"), "a stop on the way does not lose the old change"
    assert life.ending == "merged"
    assert seen == [("8" * 40, old), (life.begun(EffectKind.CHECK)[1].commit, None)]
    assert life.state.conflict_commit is None
    assert life.trail.count("review_approved") == 2, "it returns through check and review"


def test_an_edit_at_a_conflict_shows_the_old_change_too(tmp_path: Path):
    life = Life(tmp_path, rebase=[lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("x",))]).run()
    old = life.state.candidate.commit
    assert resume(life.state, "task_edited").conflict_commit == old
    assert resume(life.state, "ruling").candidate is None


MOVED = lambda _, e: MergeFacts(key=e.key, result="moved")
TOUCHES_TESTS = lambda s, e: _changing_tests(candidate_facts(s, e))


def _changing_tests(facts):
    return facts.model_copy(update={"candidate": facts.candidate.model_copy(update={"changes_tests": True})})


def test_a_candidate_that_changes_the_bases_tests_is_compared_before_its_review(tmp_path: Path):
    seen = []

    def reviewing(state, effect):
        seen.append(state.compared)
        return reviewer()(state, effect)

    old = commands(command("unit", 1), command("lint"))
    both = commands(command("unit"), command("lint"))
    life = Life(
        tmp_path, commit_candidate=[TOUCHES_TESTS], check=[both], compare_tests=[old], review=[reviewing]
    ).run()
    assert life.trail.count("checks_passed tests_compared review_approved") == 1
    assert seen == [("unit fails (exit code 1) with the base's test files",)]
    (compared,) = life.begun(EffectKind.COMPARE_TESTS)
    assert (compared.commit, compared.base) == (life.state.candidate.commit, "a" * 40)
    assert compared.only == ()
    assert life.state.compared == seen[0]
    assert life.state.compared_commit == life.state.candidate.commit


def test_a_candidate_that_leaves_the_bases_tests_alone_is_not_compared(tmp_path: Path):
    life = Life(tmp_path).run()
    assert life.begun(EffectKind.COMPARE_TESTS) == []
    assert life.state.compared == ()


def test_tests_that_end_the_same_are_said_to(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[TOUCHES_TESTS]).run()
    assert life.state.compared == ("every check passes with the base's test files, too",)


def test_the_comparison_is_made_once_for_each_candidate(tmp_path: Path):
    life = Life(
        tmp_path,
        commit_candidate=[TOUCHES_TESTS] * 2,
        compare_tests=[lost],
        review=[reviewer(fault="no_block"), must_fix],
    ).run()
    assert life.ending == "merged"
    first, again, second = (effect.commit for effect in life.begun(EffectKind.COMPARE_TESTS))
    assert first == again, "an interrupted one is made again"
    assert first != second
    assert life.trail.count("tests_compared verdict_missing must_fix_found") == 1


def test_what_was_compared_of_an_old_candidate_is_not_told_of_a_new_one(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[TOUCHES_TESTS], review=[must_fix]).run()
    assert life.ending == "merged"
    assert life.state.compared == ()
    assert len(life.begun(EffectKind.COMPARE_TESTS)) == 1


def test_a_comparison_whose_tests_all_fail_sends_nobody_back(tmp_path: Path):
    life = Life(tmp_path, commit_candidate=[TOUCHES_TESTS], compare_tests=[RED]).run()
    assert life.ending == "merged"
    assert life.state.counters.coder_rounds == 1
    assert "doubted" not in life.trail
    assert life.state.first_run == ()


def test_what_was_known_of_an_old_candidate_is_gone_with_it(tmp_path: Path):
    known = []

    def checking(state, effect):
        known.append((state.checked, state.failures, state.landing, state.gated, state.previous_task_blob))
        return commands()(state, effect)

    edited = new_state(previous_task_blob="0" * 40)
    life = Life(tmp_path, edited, gate=[commands(), RED, RED], check=[checking] * 2, merge=[MOVED]).run()
    assert life.trail.count("gate_passed main_moved rebased gate_doubted gate_failed") == 1
    assert known == [((), (), None, None, None)] * 2


def test_what_passed_the_gate_is_void_once_a_ruling_asks_for_more(tmp_path: Path):
    life = Life(tmp_path, new_state(authorised=False)).run()
    gated = []

    def checking(state, effect):
        gated.append((state.gated, state.landing))
        return commands()(state, effect)

    life.shell.moves[EffectKind.CHECK] = [checking]
    assert life.state.gated is not None
    assert life.rule("more")
    assert gated == [(None, None)]


def test_a_landing_commit_is_gated_anew_whatever_passed_before(tmp_path: Path):
    passed = []

    def gating(state, effect):
        passed.append((state.gated, state.seen_tip))
        return commands()(state, effect)

    onto = [rebase_facts, lambda s, e: rebase_facts(s, e, onto="9" * 40)]
    Life(tmp_path, gate=[gating] * 2, merge=[MOVED], rebase=onto).run()
    assert passed == [(None, "a" * 40), (None, "9" * 40)]


def test_the_tip_that_a_conflict_was_seen_on_is_known(tmp_path: Path):
    conflict = lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("x",))
    assert Life(tmp_path, rebase=[conflict]).run().state.seen_tip == "8" * 40


def test_a_candidate_goes_on_from_where_the_rebase_put_it(tmp_path: Path):
    def carrying(state, effect):
        facts = rebase_facts(state, effect, onto="9" * 40)
        moved = effect.candidate.model_copy(update={"base": "9" * 40, "commit": "7" * 40})
        return facts.model_copy(update={"candidate": moved})

    life = Life(tmp_path, new_state(authorised=False), rebase=[carrying]).run()
    assert life.rule("more")
    assert [effect.start for effect in life.begun(EffectKind.IMPLEMENT)] == ["a" * 40, "7" * 40]


def test_what_was_dropped_from_a_review_is_counted(tmp_path: Path):
    def dropping(state, effect):
        return reviewer()(state, effect).model_copy(update={"dropped": 2})

    assert Life(tmp_path, review=[must_fix, dropping]).run().state.counters.findings_dropped == 2
