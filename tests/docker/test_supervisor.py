"""The supervisor's life around the work, in a real container: limits, ends, hand-back, what is masked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.vocabulary import Ended
from jobs.engine import Engine
from support.gitkit import Repo, make_repo
from support.supervisor import SECRET, Box, Done, command, open_box

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    with open_box(engine, runs) as opened:
        yield opened


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit({"README": b"read me\n", "src/a.py": b"a\n"}, "first")
    return made


def agent(run: str, **more: Any) -> dict[str, Any]:
    return {"argv": ["bash", "-c", run], "env": {}, "stdin": "null", "review_path": None, **more}


def said(done: Done) -> str:
    return done.out["transcript.jsonl"].decode()


def test_the_agent_finds_what_the_contract_promises(box: Box, repo: Repo) -> None:
    run = (
        'id -u; id -G; umask; pwd; env | sort; grep CapEff /proc/self/status; cat "$FACTORY_PROMPT"; ls /job'
    )
    done = box.run(repo, repo.head(), prompt=b"do it", env={"A": "1"}, agent=agent(run, env={"B": "2"}))
    lines = said(done).splitlines()
    assert lines[:4] == ["10001", "10001", "0022", "/repo"]
    for line in (
        *("A=1", "B=2", "FACTORY_ROLE=coder", "HOME=/home/agent", "LANG=C.UTF-8"),
        *("FACTORY_PROMPT=/factory/prompt.md", "FACTORY_RESULT=/factory/hand/result.json"),
        *("CapEff:\t0000000000000000", "do it"),
    ):
        assert line in lines
    assert b"Permission denied" in done.out["agent-stderr.txt"]
    assert done.report.exit_code == 2
    assert done.exit_code == 0


def test_case_03_stdin_is_at_its_end_at_once(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), run="cat > /tmp/all; wc -c < /tmp/all", deadline_s=20)
    assert done.report.ended is Ended.EXITED
    assert said(done).strip() == "0"
    assert done.report.agent_ms < 1000


def test_a_prompt_of_300_kb_arrives_whole_on_stdin(box: Box, repo: Repo) -> None:
    prompt = bytes(range(256)) * 1200
    done = box.run(
        repo,
        repo.head(),
        prompt=prompt,
        agent=agent("cmp - /factory/prompt.md && wc -c < /factory/prompt.md", stdin="prompt"),
    )
    assert said(done).strip() == str(len(prompt))


def test_case_11_a_timeout_really_ends_it(box: Box, repo: Repo) -> None:
    run = """
    trap '' TERM HUP INT; echo partial > partial
    for i in 1 2 3; do setsid bash -c 'trap "" TERM; while :; do sleep 1; echo still; done' & done
    while :; do sleep 1; done
    """
    done = box.run(repo, repo.head(), run=run, deadline_s=3)
    assert done.report.ended is Ended.DEADLINE
    assert done.report.signal == 9
    assert done.report.exit_code is None
    assert done.report.survivors >= 4
    assert done.took_s < 8
    assert b"+partial" in done.diff


def test_a_fork_bomb_and_an_undumpable_process_are_ended(box: Box, repo: Repo) -> None:
    run = """
    python3 - <<'P' &
    import ctypes, os, time
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    os.setsid(); time.sleep(300)
P
    bomb() { bomb | bomb & }; bomb 2>/dev/null
    sleep 0.5; exit 0
    """
    done = box.run(repo, repo.head(), run=run)
    assert done.report.error is None
    assert done.report.survivors > 10
    assert done.took_s < 30
    assert done.report.tree is not None
    assert done.report.tree.tree == done.report.tree.base_tree


def test_an_agent_that_leaves_a_child_with_its_output_is_not_waited_for(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), run="echo first; sleep 300 & disown; exit 7")
    assert done.report.exit_code == 7
    assert done.report.survivors >= 1
    assert said(done) == "first\n"
    assert done.report.duration_ms < 5000


def test_case_07_an_agent_that_never_calls_is_ended(box: Box, repo: Repo) -> None:
    marker = {"first_call_marker": "/tmp/called", "first_call_s": 1.0}
    done = box.run(repo, repo.head(), run="sleep 60", **marker)
    assert done.report.ended is Ended.NO_FIRST_CALL
    assert done.report.agent_ms < 4000
    calling = box.run(repo, repo.head(), run="touch /tmp/called; sleep 2", **marker)
    assert calling.report.ended is Ended.EXITED


def test_a_socket_that_never_comes_is_the_sidecars_fault(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), run="echo ran", socket="/run/factory/proxy.sock", deadline_s=2)
    assert done.report.ended is Ended.SIDECAR_MISSING
    assert done.report.tree is None
    assert "transcript.jsonl" not in done.out


def test_a_full_disk_is_seen(box: Box, repo: Repo) -> None:
    run = "head -c 200000000 /dev/zero > /tmp/fill; sleep 60"
    done = box.run(repo, repo.head(), run=run, disk_bytes=100_000_000)
    assert done.report.ended is Ended.DISK
    assert done.report.agent_ms < 15_000


def test_running_out_of_memory_is_counted(box: Box, repo: Repo) -> None:
    run = "python3 -c 'x = bytearray(10**9)'; exit 0"
    done = box.run(repo, repo.head(), run=run, mem_limit="128m")
    assert done.report.oom_kills >= 1
    assert done.report.exit_code == 0
    assert done.report.peak_memory_bytes is not None
    assert done.report.cpu_ms is not None


def test_processes_and_processor_time_are_told(box: Box, repo: Repo) -> None:
    busy = "python3 -c 'import time\nwhile time.process_time() < 0.3: pass'"
    done = box.run(repo, repo.head(), run=f"for _ in $(seq 20); do sleep 2 & done; wait; {busy}")
    # Besides the twenty: init, the supervisor, the shell.
    assert done.report.peak_pids is not None
    assert 23 <= done.report.peak_pids < 40
    assert done.report.cpu_ms is not None
    assert 300 <= done.report.cpu_ms < 60_000


def test_a_program_that_is_not_there_ends_like_in_a_shell(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), agent={**agent(""), "argv": ["no-such-agent"]})
    assert done.report.exit_code == 127
    assert b"no-such-agent cannot be run" in done.out["agent-stderr.txt"]
    assert done.report.tree is not None


def test_secrets_are_masked_in_everything_kept(box: Box, repo: Repo) -> None:
    run = f"echo {SECRET}; echo {SECRET} >&2; echo {SECRET} > $FACTORY_RESULT; exit 3"
    done = box.run(repo, repo.head(), run=run)
    checked = box.run(
        repo,
        repo.head(),
        role="check",
        commands=[command("leak", "printf 'correct-horse-'; sleep 0.3; echo battery")],
    )
    for kept in (done, checked):
        assert all(SECRET.encode() not in data for data in kept.out.values())
    assert said(done) == "***\n"
    assert done.out["agent-result.json"] == b"***\n"
    assert checked.out["commands/1-leak.txt"] == b"***\n"


def test_every_command_is_run_whatever_the_earlier_ones_gave(box: Box, repo: Repo) -> None:
    commands = [
        command("a unit/test", "echo out; echo err >&2; cat; exit 3"),
        command("slow", "(setsid sleep 300 &); trap '' TERM; sleep 300 & wait", timeout_s=1),
        command("dies", "kill -SEGV $$"),
        command("big", "head -c 100000 /dev/zero | tr '\\0' x; echo end"),
        command(
            "own",
            'echo "$MINE $FACTORY_ROLE"; ps() { ls /proc; }; ! grep -al sleep /proc/[0-9]*/comm',
            MINE="yes",
        ),
    ]
    done = box.run(repo, repo.head(), role="check", commands=commands)
    ends = done.report.commands
    assert [(e.exit_code, e.signal, e.timed_out) for e in ends] == [
        (3, None, False),
        (None, 9, True),
        (None, 11, False),
        (0, None, False),
        (0, None, False),
    ]
    assert done.out["commands/1-a-unit-test.txt"] == b"out\nerr\n"
    assert ends[0].output == "out/commands/1-a-unit-test.txt"
    assert len(done.out["commands/4-big.txt"]) == 64 * 1024
    assert done.out["commands/4-big.txt"].endswith(b"xend\n")
    assert done.out["commands/5-own.txt"].startswith(b"yes check\n")
    assert done.report.exit_code == 3
    assert done.report.tree is None


def test_the_jobs_deadline_ends_the_commands(box: Box, repo: Repo) -> None:
    commands = [command("fine", "true"), command("long", "sleep 60", 50), command("never", "true")]
    done = box.run(repo, repo.head(), role="gate", commands=commands, deadline_s=2)
    assert done.report.ended is Ended.DEADLINE
    assert [end.has_passed for end in done.report.commands] == [True, False, False]
    assert b"not run" in done.out["commands/3-never.txt"]
    assert done.report.duration_ms < 6000


def test_a_service_that_always_started_serves_the_commands(box: Box, repo: Repo) -> None:
    serve = "(while :; do echo tick; touch /tmp/alive; sleep 0.05; done) &"
    look = "rm -f /tmp/alive; sleep 0.6; test -e /tmp/alive"
    done = box.run(
        repo, repo.head(), role="check", always=[command("serve", serve)],
        commands=[command("late", "sleep 9", 0.5), command("look", look)],
    )  # fmt: skip
    assert [end.has_passed for end in done.report.commands] == [False, True]
    assert done.report.survivors >= 1


def test_a_failed_set_up_keeps_the_work_from_beginning(box: Box, repo: Repo) -> None:
    always = [
        command("first", "true"),
        command("install", "echo no network; exit 4"),
        command("third", "true"),
    ]
    done = box.run(repo, repo.head(), run="echo ran", always=always)
    assert done.report.setup_failed == "install"
    assert [end.exit_code for end in done.report.commands] == [4]
    assert done.out[done.report.commands[0].output.removeprefix("out/")] == b"no network\n"
    assert "transcript.jsonl" not in done.out
    assert done.report.tree is None


def test_what_always_left_is_not_the_agents(box: Box, repo: Repo) -> None:
    always = [command("install", "mkdir -p src/a.egg-info && touch src/a.egg-info/x; echo 1 > stamp")]
    done = box.run(
        repo, repo.head(), run="echo x > new; echo 2 > stamp; touch src/a.egg-info/y", always=always
    )
    assert done.report.tree is not None
    assert done.report.tree.changed_paths == 1
    spoiled = box.run(repo, repo.head(), run="true", always=[command("lock", "echo 1 >> src/a.py")])
    assert spoiled.report.setup_failed == "lock"
    assert spoiled.report.error == "set-up changed tracked file src/a.py"


@pytest.mark.parametrize(
    ("make", "state"),
    [
        ("true", "absent"),
        ("echo '{}' > $FACTORY_RESULT", "kept"),
        ("ln -s /job/order.json $FACTORY_RESULT", "not_regular"),
        ("mkfifo $FACTORY_RESULT", "not_regular"),
        ("mkdir $FACTORY_RESULT", "not_regular"),
        ("echo '{}' > /factory/hand/x; ln /factory/hand/x $FACTORY_RESULT", "not_regular"),
        ("truncate -s 10G $FACTORY_RESULT", "too_large"),
    ],
)
def test_a_result_is_taken_only_as_a_small_file(box: Box, repo: Repo, make: str, state: str) -> None:
    done = box.run(repo, repo.head(), run=make)
    assert done.report.result_file == state
    assert ("agent-result.json" in done.out) == (state == "kept")


def test_a_review_is_not_read_through_a_link(box: Box, repo: Repo) -> None:
    path = ".agents/reviews/order.json"
    run = "rm -rf .agents; mkdir .agents; ln -s /job .agents/reviews"
    done = box.run(repo, repo.head(), role="reviewer", agent=agent(run, review_path=path))
    assert done.report.review_file == "not_regular"
    assert "review.md" not in done.out


def test_set_up_leaves_a_warm_tree_for_another_commit(box: Box, repo: Repo) -> None:
    old = repo.commit({"gone/old.py": b"old\n", "swap": b"file\n", "kept": b"k\n", "odd [x]* ?": b"o\n"})
    new = repo.commit({"gone/old.py": None, "swap": None, "odd [x]* ?": None})
    new = repo.commit(
        {
            "swap/in": b"folder\n",
            "kept": b"changed\n",
            ".gitignore": b"*\n!*/\n!*.py\n!kept\n!in\n!.gitignore\n",
        }
    )
    install = (
        "mkdir -p .venv/lib gone/cache src/__pycache__; touch .venv/lib/m.py gone/cache/c.py '[w]eird *.py'"
    )
    done = box.run(repo, old, role="setup", commands=[command("install", install)], env={"TOKEN": SECRET})
    assert done.report.error is None
    assert done.report.commands[0].has_passed
    left = done.read("/factory/leftovers")["leftovers"].split(b"\0")
    assert sorted(left) == [b".venv", b"[w]eird *.py", b"gone/cache", b"src/__pycache__"]
    look = (
        "find . -path ./.git -prune -o -type f -print | sort; ls -d .venv/lib; git diff HEAD; echo x > n.py"
    )
    warm = box.run(repo, new, image=box.keep_as_image(done), run=look)
    assert said(warm).splitlines() == [
        *("./.gitignore", "./.venv/lib/m.py", "./README", "./[w]eird *.py", "./gone/cache/c.py"),
        *("./kept", "./src/a.py", "./swap/in", ".venv/lib"),
    ]
    assert warm.report.tree is not None
    assert warm.report.tree.changed_paths == 1
    assert "order.json" not in done.read("/job")


def test_set_up_that_changes_the_commit_is_named(box: Box, repo: Repo) -> None:
    done = box.run(repo, repo.head(), role="setup", commands=[command("format", "echo x >> src/a.py")])
    assert done.report.error == "set-up changed tracked file src/a.py"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"role": "coder", "agent": None}, "a coder job has no agent"),
        ({"deadline_s": True}, "deadline_s is not a number above zero"),
        ({"commit": "0" * 40}, "git cat-file ended with 128"),
    ],
)
def test_a_bad_order_is_one_sentence(box: Box, repo: Repo, change: dict[str, Any], sentence: str) -> None:
    done = box.run(repo, repo.head(), **{"role": "check", **change})
    assert done.exit_code == 0
    assert done.report.error is not None
    assert sentence in done.report.error
    assert "Traceback" not in json.dumps(done.report.error)
