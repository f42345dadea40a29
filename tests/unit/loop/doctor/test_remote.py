import shutil

from loop.doctor.remote import look_at_remote
from support.repos import TOML, edited


def test_a_branch_in_step_is_well(office):
    assert office.look(look_at_remote) == ("ok", "origin/main answers; main is in step", "")


def test_a_branch_behind_is_a_note(office):
    office.desk.other_commit({"b": "1\n"})
    assert office.look(look_at_remote) == (
        "note",
        "origin/main answers; main is 1 behind, and a run begins on theirs",
        "`git pull`, so that the other checks look at that too",
    )


def test_a_branch_ahead_is_found(office):
    office.desk.person.commit({"a": b"1\n"})
    assert office.look(look_at_remote) == (
        "failed",
        "main is 1 ahead of origin/main",
        "`git push origin main`, or set [merge] push = false",
    )


def test_a_diverged_remote_is_named_with_both_counts(office):
    office.desk.other_commit({"b": "1\n"})
    office.desk.person.commit({"a": b"1\n"})
    office.desk.person.commit({"a": b"2\n"})
    assert office.look(look_at_remote) == (
        "failed",
        "main and origin/main have diverged: 2 here, 1 there",
        "`git rebase origin/main`, then push, or set [merge] push = false",
    )


def test_an_unreachable_remote_is_found(office):
    shutil.rmtree(office.desk.origin.root)
    state, found, mend = office.look(look_at_remote)
    assert state == "failed"
    assert "The remote 'origin' cannot be used without a prompt" in found
    assert "`git fetch`" in mend


def test_a_remote_without_the_branch_is_found(office):
    office.desk.origin.git("branch", "-m", "main", "trunk")
    assert office.look(look_at_remote) == (
        "failed",
        "origin answers, and has no branch main",
        "`git push origin main`, or set [repo] branch",
    )


def test_a_remote_that_is_configured_and_absent_is_found(office):
    office.desk.commit({"factory.toml": edited(TOML, 'name = "demo"', 'name = "demo"\nremote = "upstream"')})
    state, found, mend = office.look(look_at_remote)
    assert (state, found) == ("failed", "there is no remote upstream")
    assert "[repo] remote" in mend
    office.desk.commit({"factory.toml": TOML})
    office.desk.person.git("remote", "remove", "origin")
    state, found, _ = office.look(look_at_remote)
    assert (state, found) == ("failed", "[merge] push is on, but there is no remote")


def test_without_push_no_remote_is_asked(office):
    office.desk.person.commit({"factory.toml": edited(TOML, "push = true", "push = false").encode()})
    state, found, _ = office.look(look_at_remote)
    assert state == "skipped"
    assert "[merge] push is off" in found
