import os

import pytest

from loop.git.process import run_git
from loop.git.settings import is_for_network, network_profile, ssh_command
from support.gitworld import World


@pytest.mark.parametrize(
    "key",
    [
        "credential.helper",
        "credential.https://example.org.username",
        "http.proxy",
        "http.https://example.org/.extraheader",
        "url.git@example.org:.insteadof",
        "core.askpass",
        "remote.origin.url",
        "remote.origin.pushurl",
        "remote.origin.proxy",
    ],
)
def test_what_reaches_the_remote_is_kept(key: str) -> None:
    assert is_for_network(key, "origin")


@pytest.mark.parametrize(
    "key",
    [
        "core.hookspath",
        "core.fsmonitor",
        "core.sshcommand",
        "commit.gpgsign",
        "remote.origin.fetch",
        "remote.origin.mirror",
        "remote.other.url",
        "push.gpgsign",
        "filter.lfs.smudge",
        "include.path",
        "alias.push",
        "user.name",
    ],
)
def test_everything_else_is_not(key: str) -> None:
    assert not is_for_network(key, "origin")


@pytest.mark.parametrize(
    ("configured", "environ", "expected"),
    [
        (None, {}, "ssh -o BatchMode=yes"),
        ("ssh -i '/a b/key'", {}, "ssh -i '/a b/key' -o BatchMode=yes"),
        ("ssh -i x", {"GIT_SSH_COMMAND": "/usr/bin/ssh -v"}, "/usr/bin/ssh -v -o BatchMode=yes"),
        (None, {"GIT_SSH": "/a b/ssh"}, "'/a b/ssh' -o BatchMode=yes"),
        ("FOO=1 ssh", {}, "FOO=1 ssh -o BatchMode=yes"),
        ("plink -batch", {}, "plink -batch"),
        ("ssh 'unclosed", {}, "ssh 'unclosed"),
    ],
)
def test_ssh_is_the_persons_own_and_never_asks(
    configured: str | None, environ: dict[str, str], expected: str
) -> None:
    assert ssh_command(configured, environ) == expected


def test_a_token_in_the_configuration_reaches_git_and_no_argument(world: World) -> None:
    world.person.git("config", "http.https://example.org/.extraHeader", "Authorization: Basic c2VjcmV0")
    profile = network_profile(world.checkout, "origin")
    end = run_git(["config", "--get-urlmatch", "http.extraHeader", "https://example.org/x"], profile=profile)
    assert end.out == b"Authorization: Basic c2VjcmV0\n"
    assert "c2VjcmV0" not in " ".join(profile.flags)


def test_addresses_are_rewritten_as_the_person_does(world: World) -> None:
    world.person.git("config", f"url.{world.folder}/.insteadOf", "corp:")
    world.person.git("remote", "set-url", "origin", "corp:origin.git")
    assert world.store.fetch_tips("main", "origin").remote == world.base


def test_nothing_asks_at_a_terminal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    env = network_profile(world.checkout, "origin").environment(os.environ)
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert "SSH_ASKPASS" not in env
    assert env["GIT_SSH_COMMAND"].endswith("BatchMode=yes")
