"""What is refused before anything begins: one sentence, its exit code, and nothing made."""

from pathlib import Path

import pytest

from instrument.schema.vocabulary import ProviderName
from loop.config import parse_config
from loop.errors import BusyError, Exit, UsageError
from loop.git.errors import GitError
from loop.problems import Problems
from loop.session import read_providers
from support.repos import TASK, TASK_TEXT, TOML, Desk, edited

OTHER = "tasks/001-first.md"
CLAUDE_KEY = "ANTHROPIC_API_KEY"


def refused(desk: Desk, **changes) -> str:
    """The text of a refusal that the person must act on; nothing has begun."""
    with pytest.raises((UsageError, Problems, GitError)) as error:
        desk.run(**changes)
    assert not isinstance(error.value, BusyError)
    assert not (desk.task_folder / "state.json").exists()
    assert desk.jobs.created() == {}
    text = str(error.value)
    assert "Traceback" not in text
    return text


def with_task(desk: Desk, old: str, new: str) -> None:
    desk.commit({TASK: edited(TASK_TEXT, old, new)})


def test_a_task_that_is_not_committed_on_the_branch(desk: Desk):
    desk.person.write({"tasks/008-new.md": TASK_TEXT.encode()})
    assert refused(desk, task="tasks/008-new.md") == (
        "tasks/008-new.md is not committed on origin/main; commit it there and run again"
    )
    assert "is not committed on origin/main" in refused(desk, task="tasks/009-none.md")


def test_a_task_that_is_committed_but_not_pushed(desk: Desk):
    desk.person.commit({"x": b"1"})
    assert "push" in refused(desk)


def test_a_task_that_is_not_ready(desk: Desk):
    with_task(desk, "status: ready", "status: done")
    assert refused(desk) == f"{TASK}: the task is done already; nothing to do"


def test_all_faults_of_a_task_at_once_with_file_and_line(desk: Desk):
    with_task(desk, "files: [src/**]", "filez: [src/**]\nbudget_usd: lots")
    lines = refused(desk).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [f"{TASK}:1", f"{TASK}:3", f"{TASK}:4"]


def test_a_configuration_that_is_absent_faulty_or_checks_nothing(desk: Desk):
    desk.commit({"factory.toml": edited(TOML, "[merge]", "[murge]")})
    assert refused(desk).startswith("factory.toml:")
    without = "[repo]\nname = 'demo'\n[agent]\nmodel = 'claude-sonnet-4-5'\n"
    desk.commit({"factory.toml": without})
    assert "there is no check command" in refused(desk)
    desk.commit({"factory.toml": None})
    assert refused(desk).startswith("factory.toml: is not committed on main; write it (see README), commit")


def test_a_path_that_is_no_task(desk: Desk, tmp_path: Path):
    assert "a task file is named NNN-slug.md" in refused(desk, task="README")
    assert "is not in the repository" in refused(desk, task="/etc/passwd")
    assert "is in no git repository that can be used: fatal: " in refused(desk, repo=tmp_path)


def test_depends_waits_with_exit_4_and_refuses_what_is_not_there(desk: Desk):
    with_task(desk, "files:", "depends: [001]\nfiles:")
    assert refused(desk) == f"{TASK}:3: depends: there is no task 001 on the branch"
    desk.commit({OTHER: TASK_TEXT})
    with pytest.raises(BusyError, match=r"demo-007 waits for tasks/001-first\.md, which") as busy:
        desk.run()
    assert busy.value.exit_code is Exit.BUSY
    desk.commit({OTHER: edited(TASK_TEXT, "status: ready", "status: done")})
    desk.script.unfit = "no"
    assert desk.ends() == "image_unfit", "it has begun"


def test_two_files_with_one_number(desk: Desk):
    desk.commit({"tasks/0007-again.md": TASK_TEXT})
    assert refused(desk) == f"two task files have one number: tasks/0007-again.md, {TASK}; rename one of them"


def test_what_the_host_must_have(desk: Desk):
    del desk.environment["JOB_SECRET"]
    assert refused(desk) == "factory.toml:13: [job] env: JOB_SECRET is not set here; set it"
    desk.environment["JOB_SECRET"] = "x" * 8
    assert refused(desk, story=None) == f"{CLAUDE_KEY} is not set; set it to the provider's key"


def test_every_fallback_needs_its_own_key(desk: Desk):
    fallback = "\n[[provider.anthropic.fallback]]\nkey_env = 'SECOND_KEY'\n"
    desk.commit({"factory.toml": TOML + fallback})
    desk.environment[CLAUDE_KEY] = "sk-first"
    assert refused(desk, story=None) == "SECOND_KEY is not set; set it to the provider's key"


def test_providers_are_read_in_order_with_the_keys_of_the_host():
    fallback = "[[provider.anthropic.fallback]]\nbase_url = 'http://127.0.0.1:8080'\nauth = 'bearer'\n"
    config = parse_config(f"[repo]\nname = 'demo'\n{fallback}".encode())
    keys = {CLAUDE_KEY: "sk-first", "ANTHROPIC_AUTH_TOKEN": "sk-second"}
    providers = read_providers(config, keys)
    assert [(way.base_url, way.auth, way.secret) for way in providers[ProviderName.ANTHROPIC].ways] == [
        ("https://api.anthropic.com", "api_key", "sk-first"),
        ("http://127.0.0.1:8080", "bearer", "sk-second"),
    ]
    assert providers[ProviderName.OPENAI].fallbacks == ()
    assert "sk-second" not in repr(providers)


def test_what_the_host_has_lost_since_is_asked_for_before_the_task_goes_on(desk: Desk):
    desk.script.unfit = "no"
    desk.run()
    before = desk.state
    del desk.environment["JOB_SECRET"]
    with pytest.raises(Problems, match="JOB_SECRET is not set here; set it"):
        desk.run()
    desk.environment["JOB_SECRET"] = "x" * 8
    with pytest.raises(UsageError, match=CLAUDE_KEY):
        desk.run(story=None)
    assert desk.state == before


def test_push_without_a_remote(desk: Desk):
    desk.person.git("remote", "remove", "origin")
    assert "push is on, but the repository has no remote; add one, or set push = false" in refused(desk)


def test_another_repository_under_the_same_name(desk: Desk):
    desk.script.unfit = "no"
    desk.run()
    (desk.task_folder / "state.json").unlink()
    (desk.task_folder / "events.jsonl").unlink()
    person = desk.person
    person.git("checkout", "--quiet", "--orphan", "fresh")
    person.git("commit", "--quiet", "-m", "another root")
    person.git("branch", "--force", "main")
    person.git("checkout", "--quiet", "main")
    assert "demo" in refused(desk)


def test_a_task_is_found_from_any_folder_of_the_repository(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    (desk.person.root / "deep").mkdir()
    monkeypatch.chdir(desk.person.root / "deep")
    desk.script.unfit = "no"
    assert desk.ends(task="../tasks/007-retry.md") == "image_unfit"
    assert desk.ends(task=TASK, repo=Path()) == "image_unfit"
    assert desk.ends(task=str(desk.person.root / TASK)) == "image_unfit"
