import os
import subprocess
import time
from pathlib import Path

import pytest

from loop.git.errors import GitCommandError, GitMissingError, GitOutputError, GitTimeoutError
from loop.git.process import require_git, run_git
from loop.git.profiles import CHECKOUT, LOCAL_VARIABLES, SEALED, network
from support.gitkit import make_repo


def fake_git(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program of the name git, first on PATH."""
    folder.mkdir(exist_ok=True)
    file = folder / "git"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_bytes_go_in_and_out_unchanged(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", "--bare")
    content = b"\0\xff\r\nno newline" * 20_000
    oid = run_git(
        ["hash-object", "-w", "--stdin"], profile=SEALED, git_dir=repo.root, stdin=content
    ).out.decode()
    assert run_git(["cat-file", "blob", oid.strip()], profile=SEALED, git_dir=repo.root).out == content


def test_a_failure_raises_with_gits_words_or_is_returned(tmp_path: Path) -> None:
    with pytest.raises(GitCommandError, match="not a git repository") as raised:
        run_git(["rev-parse", "HEAD"], profile=SEALED, git_dir=tmp_path)
    assert raised.value.code == 128
    assert run_git(["rev-parse", "HEAD"], profile=SEALED, git_dir=tmp_path, check=False).code == 128


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitCommandError, match="absent"):
        run_git(["version"], profile=SEALED, cwd=tmp_path / "absent")


def test_the_deadline_ends_git_and_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    fake_git(tmp_path / "bin", monkeypatch, f"sleep 60 & echo $! $$ > {pids}; wait")
    begun = time.monotonic()
    with pytest.raises(GitTimeoutError):
        run_git(["fetch"], profile=SEALED, timeout_s=0.3)
    assert time.monotonic() - begun < 5
    for pid in pids.read_text().split():
        deadline = time.monotonic() + 5  # a killed process goes when the kernel comes to it
        while is_alive(int(pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not is_alive(int(pid))


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        # Where there is no /proc, as on macOS; on a small Linux there may be no `ps`.
        is_elsewhere = not Path("/proc/self/stat").exists()
        return is_elsewhere and subprocess.run(["ps", "-p", str(pid)], check=False).returncode == 0
    return state != "Z"


def test_too_much_output_ends_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", monkeypatch, "exec yes")
    with pytest.raises(GitOutputError):
        run_git(["log"], profile=SEALED, max_out_bytes=100_000)


def test_credentials_in_an_address_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", monkeypatch, "echo 'cannot reach https://me:token@example.org/x' >&2; exit 1")
    end = run_git(["fetch"], profile=SEALED, check=False)
    assert end.err == "cannot reach https://***@example.org/x\n"


@pytest.mark.parametrize("text", ["git version 2.37.9", "git version 1.9", "nonsense"])
def test_an_old_git_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    fake_git(tmp_path / "bin", monkeypatch, f"echo '{text}'")
    with pytest.raises(GitMissingError, match=r"install git 2\.38 or newer"):
        require_git()


@pytest.mark.parametrize(
    "text", ["git version 2.38.0", "git version 2.39.5 (Apple Git-154)", "git version 3.0.rc1"]
)
def test_a_new_git_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    fake_git(tmp_path / "bin", monkeypatch, f"echo '{text}'")
    require_git()


def test_no_git_at_all_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissingError, match="not installed"):
        require_git()


def test_sealed_drops_every_variable_of_git_and_checkout_those_that_point_elsewhere() -> None:
    base = {"PATH": "/bin", "GIT_CONFIG_COUNT": "1", "GIT_TRACE": "1", **dict.fromkeys(LOCAL_VARIABLES, "/x")}
    sealed = SEALED.environment(base)
    assert "/x" not in sealed.values()
    assert "GIT_TRACE" not in sealed
    assert "GIT_CONFIG_COUNT" not in sealed
    checkout = CHECKOUT.environment(base)
    assert "/x" not in checkout.values()
    assert checkout["GIT_CONFIG_COUNT"] == "1"


def test_only_the_checkout_profile_reads_the_persons_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Theirs\n")
    ask = ["config", "--get", "user.name"]
    assert run_git(ask, profile=CHECKOUT, cwd=tmp_path).out == b"Theirs\n"
    assert run_git(ask, profile=SEALED, cwd=tmp_path, check=False).out == b""
    assert run_git(ask, profile=network((), ()), cwd=tmp_path, check=False).out == b""


def test_every_variable_that_git_calls_local_is_dropped_or_configuration(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    local = set(repo.ask("rev-parse", "--local-env-vars").split())
    assert {name for name in local - LOCAL_VARIABLES if not name.startswith("GIT_CONFIG")} == set()


def test_sealed_reaches_no_network(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", "--bare")
    end = run_git(["fetch", "http://127.0.0.1:9/x"], profile=SEALED, git_dir=repo.root, check=False)
    assert "transport 'http' not allowed" in end.err
