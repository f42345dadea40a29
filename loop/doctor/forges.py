"""Which forge a remote is on, and what it takes to ask it.

Pure: no I/O. GitHub's variables are those of its own program (https://cli.github.com/manual/gh_help_environment,
read 2026-11-30) and of its Actions; Gitea's those of `tea`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

GITHUB = "github.com"
GITHUB_API = "https://api.github.com"
GITHUB_SERVER = ("GITHUB_SERVER_URL",)
"""Where a workflow runs: its `GITHUB_API_URL` and `GITHUB_TOKEN` are that server's and no other's."""
GITEA_HOSTS = ("FORGEJO_URL", "GITEA_SERVER_URL", "GITEA_URL")
KNOWN_GITEA = ("codeberg.org", "gitea.com")
ENTERPRISE_TOKENS = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
GITEA_TOKENS = ("FORGEJO_TOKEN", "GITEA_TOKEN", "GITEA_SERVER_TOKEN")
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:]{2,}):(?P<path>[^:]*)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a remote is."""

    host: str
    path: str
    """Owner and name, such as `someone/project`."""


@dataclass(frozen=True, slots=True)
class Forge:
    """What is asked, and with which token."""

    name: str
    api: str
    """The address before `/repos/…`."""
    tokens: Sequence[str]
    """Variables that may hold one, the first set one counts."""
    token: str = field(repr=False)
    has_rulesets: bool
    """Whether it keeps rules beside those of the branch itself."""

    @property
    def headers(self) -> dict[str, str]:
        """With the token."""
        word = "Bearer" if self.has_rulesets else "token"
        return {"authorization": f"{word} {self.token}", "accept": "application/json"}


def place_of(url: str) -> Place | None:
    """Read a remote's address; none where it names no host, such as a folder."""
    if "://" in url:
        parts = urlsplit(url)
        host, path = parts.hostname, parts.path
    else:
        match = _SCP.fullmatch(url)
        host, path = (match["host"], match["path"]) if match else (None, "")
    path = path.strip("/").removesuffix(".git")
    return Place(host.lower(), path) if host and "/" in path else None


def forge_of(place: Place, environment: Mapping[str, str]) -> Forge | None:
    """The forge on that host; none where it is not known for one, nor named by a variable."""
    if place.host == GITHUB or place.host in _hosts(environment, (*GITHUB_SERVER, "GH_HOST")):
        return _github(place, environment)
    named = _hosts(environment, GITEA_HOSTS)
    if place.host in KNOWN_GITEA or place.host in named:
        server = named.get(place.host, "").rstrip("/") or f"https://{place.host}"
        server = server if "://" in server else f"https://{server}"
        is_meant = place.host in named or not named
        token = _first(environment, GITEA_TOKENS) if is_meant else ""
        return Forge("Forgejo or Gitea", f"{server}/api/v1", GITEA_TOKENS, token, has_rulesets=False)
    return None


def _github(place: Place, environment: Mapping[str, str]) -> Forge:
    is_served = place.host in (_hosts(environment, GITHUB_SERVER) or (GITHUB,))
    tokens = ("GH_TOKEN",) if place.host == GITHUB else ENTERPRISE_TOKENS
    tokens = (*tokens, "GITHUB_TOKEN") if is_served else tokens
    usual = GITHUB_API if place.host == GITHUB else f"https://{place.host}/api/v3"
    api = (environment.get("GITHUB_API_URL") if is_served else None) or usual
    return Forge("GitHub", api.rstrip("/"), tokens, _first(environment, tokens), has_rulesets=True)


def _hosts(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The host that each of these variables names, with the variable's text."""
    texts = [environment[name] for name in names if environment.get(name)]
    return {(urlsplit(text if "://" in text else f"https://{text}").hostname or ""): text for text in texts}


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")
