"""Whether the forge protects the branch that landings are pushed to.

Limits: two GET requests with a deadline; the token goes to the forge's own API alone.
"""

from typing import Any
from urllib.parse import quote

import httpx

from loop.doctor.finding import Finding, note, ok, skipped
from loop.doctor.forges import Forge, Place, forge_of, place_of
from loop.doctor.remote import NO_PUSH
from loop.doctor.surroundings import Surroundings
from loop.git.errors import RemoteMissingError
from loop.git.process import run_git
from loop.git.profiles import CHECKOUT

TIMEOUT_S = 20
HTTP_OK = 200


class AnswerError(Exception):
    """The forge did not say; the text is for a person."""


def look_at_protection(surroundings: Surroundings) -> Finding:
    """Whether others can push to the branch unchecked, and whether the loop can push at all."""
    if not surroundings.config.merge.push:
        return skipped(NO_PUSH)
    try:
        remote = surroundings.remote
    except RemoteMissingError:
        remote = None
    if remote is None:
        return skipped("there is no remote to ask about")
    place = place_of(_url(surroundings, remote))
    if place is None:
        return skipped(f"{remote} is on no forge")
    forge = forge_of(place, surroundings.environment)
    if forge is None:
        mend = "name a Forgejo or Gitea server with FORGEJO_URL, a GitHub one with GH_HOST"
        return skipped(f"{place.host} is not known as a forge", mend)
    if not forge.token:
        return skipped(
            f"no token for {forge.name}", f"set {forge.tokens[0]} to one that may read {place.path}"
        )
    try:
        return _judge(forge, place, surroundings.branch)
    except AnswerError as error:
        return note(str(error), f"see {forge.tokens[0]}: the branch's protection is not known")


def _url(surroundings: Surroundings, remote: str) -> str:
    """The address as git would use it, `url.*.insteadOf` done."""
    checkout = surroundings.checkout
    end = run_git(
        ["remote", "get-url", remote], profile=CHECKOUT, git_dir=checkout.git_dir, cwd=checkout.root
    )
    return end.out.decode("utf-8", "replace").strip()


def _judge(forge: Forge, place: Place, branch: str) -> Finding:
    # What a forge calls an owner or a branch may hold anything but a line's end.
    repo, name = f"{forge.api}/repos/{quote(place.path)}", quote(branch, safe="")
    with httpx.Client(timeout=TIMEOUT_S, headers=forge.headers) as http:
        found = _get(http, f"{repo}/branches/{name}")
        rules = _get(http, f"{repo}/rules/branches/{name}", may_be_absent=True) if forge.has_rulesets else []
    if not isinstance(found, dict) or not isinstance(found.get("protected"), bool):
        raise AnswerError(f"{forge.name} answered something else than a branch")
    kinds = sorted({str(rule.get("type")) for rule in rules or [] if isinstance(rule, dict)})
    if not found["protected"] and not kinds:
        mend = "protect it, so that only the loop's account pushes there"
        return note(f"{forge.name} lets everybody who may write push to {branch}", mend)
    said = f"{forge.name} protects {branch}" + (f" ({', '.join(kinds)})" if kinds else "")
    if found.get("user_can_push") is False or "pull_request" in kinds:
        return note(
            said, "see that the account which the loop pushes with may pass: it opens no pull request"
        )
    return ok(said)


def _get(http: httpx.Client, url: str, *, may_be_absent: bool = False) -> Any:  # noqa: ANN401 - foreign
    """The answer's JSON.

    Raises:
        AnswerError: There is none.
    """
    try:
        answer = http.get(url)
        if may_be_absent and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code != HTTP_OK:
            raise AnswerError(f"{url} answered HTTP {answer.status_code}")
        return answer.json()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AnswerError(f"{url} did not answer: {type(error).__name__}") from error
    except ValueError as error:
        raise AnswerError(f"{url} answered no JSON") from error
