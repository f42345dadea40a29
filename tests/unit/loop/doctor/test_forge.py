from collections.abc import Mapping
from typing import Any

import pytest

from loop.doctor.forge import look_at_protection
from support.answering import answering
from support.repos import TOML, edited

BRANCH = "/repos/some/one/branches/main"
RULES = "/repos/some/one/rules/branches/main"
# What Gitea and Forgejo answer of a branch, less its commit.
OPEN_BRANCH = {
    "name": "main",
    "protected": False,
    "required_approvals": 0,
    "enable_status_check": False,
    "status_check_contexts": [],
    "user_can_push": True,
    "user_can_merge": True,
    "effective_branch_protection_name": "",
}


def is_at(office, url: str) -> None:
    office.desk.person.git("remote", "set-url", "origin", url)


def ask_github(office, answers: Mapping[str, Any]) -> tuple[str, str, str]:
    is_at(office, "git@github.com:some/one.git")
    with answering(answers) as (url, asked):
        said = office.look(look_at_protection, {"GITHUB_API_URL": url, "GH_TOKEN": "t0ken"})
    path, headers = asked[0]
    assert (path, headers["authorization"]) == (BRANCH, "Bearer t0ken")
    return said


def ask_forgejo(office, answer: Any) -> tuple[str, str, str]:
    with answering({f"/api/v1{BRANCH}": answer}) as (url, asked):
        is_at(office, f"{url}/some/one")
        said = office.look(look_at_protection, {"FORGEJO_URL": url, "FORGEJO_TOKEN": "t0ken"})
    ((path, headers),) = asked
    assert (path, headers["authorization"]) == (f"/api/v1{BRANCH}", "token t0ken")
    return said


def test_an_unprotected_branch_is_found_on_github(office):
    state, found, mend = ask_github(office, {BRANCH: {"name": "main", "protected": False}, RULES: []})
    assert (state, found) == ("note", "GitHub lets everybody who may write push to main")
    assert mend == "protect it, so that only the loop's account pushes there"


def test_a_ruleset_protects_where_the_branch_itself_does_not_say_so(office):
    rules = [{"type": "non_fast_forward"}, {"type": "deletion"}]
    assert ask_github(office, {BRANCH: {"protected": False}, RULES: rules}) == (
        "ok",
        "GitHub protects main (deletion, non_fast_forward)",
        "",
    )


def test_a_protected_branch_is_well_on_a_github_without_rulesets(office):
    assert ask_github(office, {BRANCH: {"protected": True}}) == ("ok", "GitHub protects main", "")


def test_a_rule_that_asks_for_pull_requests_is_a_note(office):
    state, found, mend = ask_github(office, {BRANCH: {"protected": True}, RULES: [{"type": "pull_request"}]})
    assert (state, found) == ("note", "GitHub protects main (pull_request)")
    assert "it opens no pull request" in mend


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_forge_that_does_not_say_is_a_note_with_what_came(office, status: int):
    state, found, mend = ask_github(office, {BRANCH: status})
    assert state == "note"
    assert found.endswith(f"{BRANCH} answered HTTP {status}")
    assert "GH_TOKEN" in mend
    assert "t0ken" not in found + mend


def test_an_answer_of_another_shape_is_a_note(office):
    assert ask_github(office, {BRANCH: ["main"], RULES: []})[:2] == (
        "note",
        "GitHub answered something else than a branch",
    )


def test_forgejo_tells_of_a_branch_in_one_answer(office):
    assert ask_forgejo(office, OPEN_BRANCH)[:2] == (
        "note",
        "Forgejo or Gitea lets everybody who may write push to main",
    )
    assert ask_forgejo(office, OPEN_BRANCH | {"protected": True}) == (
        "ok",
        "Forgejo or Gitea protects main",
        "",
    )
    shut = OPEN_BRANCH | {"protected": True, "user_can_push": False}
    assert ask_forgejo(office, shut)[0] == "note"


def test_it_is_skipped_with_the_reason_where_nobody_can_be_asked(office):
    assert office.look(look_at_protection)[:2] == ("skipped", "origin is on no forge")
    is_at(office, "https://git.example.org/some/one.git")
    state, found, mend = office.look(look_at_protection)
    assert (state, found) == ("skipped", "git.example.org is not known as a forge")
    assert "FORGEJO_URL" in mend
    is_at(office, "https://github.com/some/one.git")
    state, found, mend = office.look(look_at_protection)
    assert (state, found) == ("skipped", "no token for GitHub")
    assert mend == "set GH_TOKEN to one that may read some/one"
    office.desk.person.git("remote", "remove", "origin")
    assert office.look(look_at_protection)[:2] == ("skipped", "there is no remote to ask about")
    office.desk.person.commit({"factory.toml": edited(TOML, "push = true", "push = false").encode()})
    assert office.look(look_at_protection)[0] == "skipped"
