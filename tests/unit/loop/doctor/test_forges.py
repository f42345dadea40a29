import pytest

from loop.doctor.forges import Place, forge_of, place_of

GITHUB = Place("github.com", "some/one")
OWN = Place("git.example.org", "some/one")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://github.com/some/one.git", GITHUB),
        ("https://user:word@GitHub.com/some/one/", GITHUB),
        ("git@github.com:some/one.git", GITHUB),
        ("github.com:some/one", GITHUB),
        ("ssh://git@git.example.org:2222/some/one.git", OWN),
        ("https://git.example.org:8443/group/sub/one", Place("git.example.org", "group/sub/one")),
        ("/srv/git/one.git", None),
        ("../origin.git", None),
        ("file:///srv/git/one.git", None),
        ("C:/git/one.git", None),
        ("https://github.com/", None),
    ],
)
def test_an_address_tells_host_owner_and_name(url: str, place: Place | None):
    assert place_of(url) == place


def test_github_is_asked_where_its_variables_say():
    forge = forge_of(GITHUB, {"GITHUB_TOKEN": "second", "GH_TOKEN": "first"})
    assert forge is not None
    assert (forge.api, forge.token) == ("https://api.github.com", "first")
    assert forge.headers["authorization"] == "Bearer first"
    forge = forge_of(GITHUB, {"GITHUB_API_URL": "http://127.0.0.1:1/", "GITHUB_TOKEN": "x"})
    assert forge is not None
    assert forge.api == "http://127.0.0.1:1"


def test_a_server_of_ones_own_is_known_by_a_variable_alone():
    assert forge_of(OWN, {"GH_TOKEN": "a", "FORGEJO_TOKEN": "b"}) is None
    forge = forge_of(OWN, {"GH_HOST": "git.example.org", "GH_ENTERPRISE_TOKEN": "e", "GH_TOKEN": "g"})
    assert forge is not None
    assert (forge.name, forge.api, forge.token) == ("GitHub", "https://git.example.org/api/v3", "e")
    assert forge_of(OWN, {"GITHUB_SERVER_URL": "https://git.example.org"}) is not None
    forge = forge_of(OWN, {"FORGEJO_URL": "http://git.example.org:3000/", "FORGEJO_TOKEN": "f"})
    assert forge is not None
    assert (forge.api, forge.headers["authorization"]) == ("http://git.example.org:3000/api/v1", "token f")


@pytest.mark.parametrize(
    ("place", "variables", "api", "token"),
    [
        (GITHUB, {"GITHUB_SERVER_URL": "https://github.com"}, "http://served", "workflow's"),
        (OWN, {"GITHUB_SERVER_URL": "https://git.example.org"}, "http://served", "workflow's"),
        (GITHUB, {"GITHUB_SERVER_URL": "https://git.example.org"}, "https://api.github.com", ""),
        (OWN, {"GH_HOST": "git.example.org"}, "https://git.example.org/api/v3", ""),
        (
            OWN,
            {"GH_HOST": "git.example.org", "GH_TOKEN": "github.com's"},
            "https://git.example.org/api/v3",
            "",
        ),
    ],
)
def test_a_workflows_token_and_api_are_its_own_servers(place: Place, variables, api: str, token: str):
    forge = forge_of(place, {"GITHUB_API_URL": "http://served", "GITHUB_TOKEN": "workflow's"} | variables)
    assert forge is not None
    assert (forge.api, forge.token) == (api, token)


def test_a_token_for_one_forge_goes_to_no_other():
    forge = forge_of(Place("codeberg.org", "some/one"), {"GH_TOKEN": "g", "GITHUB_API_URL": "http://x"})
    assert forge is not None
    assert (forge.api, forge.token) == ("https://codeberg.org/api/v1", "")
    own = {"FORGEJO_URL": "https://git.example.org", "FORGEJO_TOKEN": "own"}
    forge = forge_of(Place("codeberg.org", "some/one"), own)
    assert forge is not None
    assert forge.token == ""


def test_a_token_is_not_shown():
    assert "s3cret" not in repr(forge_of(GITHUB, {"GH_TOKEN": "s3cret"}))
