"""An agent that attacks its fence from inside: each try is held, and what was tried has a name.

Proven elsewhere, and not again here: a broken, linked or replaced `.git`, hostile settings, attributes and
file names, nested repositories (test_capture.py); a result or a review that is a link, a FIFO or too large, a
child that holds the agent's output, an undumpable process (test_supervisor.py); the same command again and
again (test_watchdog.py); a killed sidecar (test_runner_pod.py); filters of a base's attributes, protected
paths and secrets in a diff (tests/unit/loop/git, tests/stories).
"""

import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.job import JobEnd, JobReport, Tree
from instrument.schema.vocabulary import Ended, Outcome
from jobs.order import MIB, Command, JobOrder, Limits, ProxyOrder
from loop.machine.guards import CODER_GUARDS, COMMANDS_GUARDS, first_match
from support.gitkit import Repo
from support.lives import new_state
from support.pods import World, shell

pytestmark = pytest.mark.docker

KEY = "sk-key-of-a-person-0123456789"
TOKEN = "sk-token-of-the-job-0123456789"
STORY = b"rounds: [{role: coder, turns: [{finish: Done., usage: {input: 1, output: 1}}]}]"
PROXY = ProxyOrder("", secret=KEY, budget_microusd=10**6, story=STORY, story_role="coder", story_round=1)
UNREACHABLE = {"ENETUNREACH", "EADDRNOTAVAIL"}
LIMITS = Limits(memory_bytes=512 * MIB, deadline_s=60)

TRY = r"""
import ctypes, errno, http.client, json, os, re, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
met = {}
def attempt(name, work):
    try:
        answer = work()
        met[name] = answer if isinstance(answer, (int, str)) else "done"
    except socket.gaierror as error:
        met[name] = "no such name"
    except OSError as error:
        met[name] = errno.errorcode.get(error.errno, type(error).__name__)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
def write(path):
    with open(path, "ab") as file:
        file.write(b"x")
supervisor = next(int(p) for p in filter(str.isdigit, os.listdir("/proc"))
                  if b"/job/inside" in open("/proc/%s/cmdline" % p, "rb").read() and p != "1")
"""
NETWORK = r"""
def reach(address, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as made:
        made.settimeout(2)
        made.sendto(b"x", address) if kind == socket.SOCK_DGRAM else made.connect(address)
for host in ("1.1.1.1", "10.0.0.1", "172.17.0.1", "192.168.0.1", "169.254.169.254", "255.255.255.255"):
    attempt("tcp " + host, lambda: reach((host, 80)))
    attempt("udp " + host, lambda: reach((host, 53), kind=socket.SOCK_DGRAM))
attempt("tcp6", lambda: reach(("2606:4700:4700::1111", 80), socket.AF_INET6))
attempt("docker", lambda: reach(("127.0.0.1", 2375)))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("vsock", lambda: reach((2, 1024), socket.AF_VSOCK))
for name in ("example.org", "host.docker.internal", "gateway.docker.internal", "metadata.google.internal"):
    attempt("name " + name, lambda: socket.getaddrinfo(name, 80))

class Way(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("/run/factory/proxy.sock")
def ask(method, path, headers={}):
    way = Way("localhost", timeout=10)
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": []})
    way.request(method, path, body, {"content-type": "application/json", **headers})
    answer = way.getresponse()
    answer.read()
    way.close()
    return answer.status
attempt("proxy: its own path", lambda: ask("POST", "/v1/messages"))
attempt("proxy: another host", lambda: ask("POST", "http://example.org/v1/messages"))
attempt("proxy: a tunnel", lambda: ask("CONNECT", "example.org:443"))
attempt("proxy: another path", lambda: ask("GET", "/v1/organizations/api_keys"))
attempt("proxy: a path around", lambda: ask("POST", "/v1/messages/../files"))
upgrade = {"connection": "upgrade", "upgrade": "websocket"}
attempt("proxy: an upgrade", lambda: ask("GET", "/v1/messages", upgrade))
"""
KEYS = r"""
found = []
def look(name, data):
    found.extend((name, key) for key in re.findall(r"sk-\w+-of-[a-z0-9-]+", data.decode("latin-1")))
for top in ("/run", "/factory", "/home", "/tmp", "/var", "/etc", "/job", "/ledger", "/root", "/dev/shm"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.R_OK):
                look(path, open(path, "rb").read(1 << 20))
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            look("/proc " + name, open("/proc/%s/%s" % (pid, name), "rb").read())
        except OSError:
            pass
attempt("order", lambda: open("/job/order.json"))
attempt("memory", lambda: open("/proc/%s/mem" % supervisor, "rb"))
attempt("environment", lambda: open("/proc/%s/environ" % supervisor, "rb"))
attempt("root", lambda: os.listdir("/proc/%s/root/job" % supervisor))
attempt("trace", lambda: call("ptrace", 16, supervisor, 0, 0))
attempt("ledger", lambda: os.listdir("/ledger"))
"""
OUTSIDE = r"""
for path in ("/job/out/job.json", "/job/inside/job.py", "/factory/prompt.md", "/etc/passwd",
             "/usr/local/bin/git", "/run/factory/x", "/proc/sys/kernel/core_pattern",
             "/sys/kernel/uevent_helper", "/sys/fs/cgroup/x", "/dev/mem"):
    attempt("write " + path, lambda: write(path))
attempt("remove the socket", lambda: os.unlink("/run/factory/proxy.sock"))
attempt("mount", lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None))
attempt("namespaces", lambda: call("unshare", 0x10000000 | 0x00020000))
attempt("block device", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)))
attempt("become root", lambda: os.setuid(0))
attempt("change root", lambda: os.chroot("/tmp"))
attempt("kill the supervisor", lambda: os.kill(supervisor, 9))
attempt("kill process 1", lambda: os.kill(1, 9))
attempt("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
attempt("kernel program", lambda: call("syscall", 321, 0, None, 0))
attempt("own hostname", lambda: socket.sethostname("x"))
quiet = {"stdin": subprocess.DEVNULL, "capture_output": True}
attempt("set-uid program", lambda: subprocess.run(["su", "-c", "true"], **quiet).returncode)
"""


@dataclass(frozen=True)
class Held:
    """What became of one attacking job."""

    order: JobOrder
    end: JobEnd
    outcome: Outcome | None
    """The name that the machine gives it; none: nothing was wrong with the job as such."""

    @property
    def report(self) -> JobReport:
        assert self.end.report is not None, self.end.report_error
        assert self.end.report.error is None
        return self.end.report

    @property
    def tree(self) -> Tree:
        assert self.report.tree is not None
        return self.report.tree

    @property
    def said(self) -> str:
        return (self.order.folder / "out" / "transcript.jsonl").read_text()


def attack(world: World, key: str, line: str, **changes: Any) -> Held:
    """Let a coder's shell line do its worst."""
    order = world.order(key, **({"agent": shell(line), "limits": LIMITS} | changes))
    end = world.jobs.run(order, resumed=False)
    return Held(order, end, first_match(CODER_GUARDS, new_state(), end))


def tried(world: World, key: str, program: str, **changes: Any) -> tuple[dict[str, Any], Held]:
    """What each attempt of a Python program met: the name of the system's refusal, or `done`."""
    code = f"{TRY}{program}\nprint(json.dumps([met, globals().get('found')]))"
    held = attack(world, key, f"python3 - <<'PROGRAM'\n{code}\nPROGRAM", proxy=PROXY, **changes)
    assert held.report.exit_code == 0, (held.order.folder / "out" / "agent-stderr.txt").read_text()
    return dict(zip(("met", "found"), json.loads(held.said), strict=True)), held


def test_no_address_is_reached_and_no_name_is_found(world: World) -> None:
    answer, held = tried(world, "network", NETWORK)
    met = answer["met"]
    proxied = {name: value for name, value in met.items() if name.startswith("proxy")}
    assert {value for name, value in met.items() if name.startswith("name ")} == {"no such name"}
    assert {value for name, value in met.items() if name.startswith(("tcp", "udp"))} <= UNREACHABLE
    assert met["docker"] == "ECONNREFUSED"
    assert met["raw"] == met["packet"] == "EPERM"
    assert met["vsock"] != "done"
    assert proxied == {
        "proxy: its own path": 200,
        "proxy: another host": 404,
        "proxy: a tunnel": 403,
        "proxy: another path": 404,
        "proxy: a path around": 404,
        "proxy: an upgrade": 426,
    }
    denied = [(row.reason, row.method) for row in held.end.ledger.denied]
    assert denied == [
        *(("path", "POST"), ("egress", "CONNECT"), ("path", "GET"), ("path", "POST")),
        ("upgrade", "GET"),
    ]
    assert len(held.end.ledger.calls) == 1
    assert held.outcome is Outcome.NOTHING_CHANGED


def test_the_key_is_nowhere_in_the_job(world: World) -> None:
    answer, held = tried(world, "key", KEYS, env={"TOKEN": TOKEN})
    # The search works: it finds the job's own variable, which is masked where it is kept.
    assert answer["found"] == [["/proc environ", "***"]] * len(answer["found"])
    assert answer["found"]
    assert answer["met"] == {
        **dict.fromkeys(("order", "memory", "environment", "root"), "EACCES"),
        "trace": "EPERM",
        "ledger": "ENOENT",
    }
    kept = [path for path in held.order.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_nothing_is_written_outside_the_agents_own_places(world: World) -> None:
    answer, held = tried(world, "outside", OUTSIDE)
    met = answer["met"]
    su = met.pop("set-uid program")
    assert su != 0
    assert set(met.values()) <= {"EACCES", "EPERM", "EROFS", "ENOENT"}, met
    assert (met["write /run/factory/x"], met["remove the socket"]) == ("EROFS", "EROFS")
    assert met["kill the supervisor"] == met["kill process 1"] == "EPERM"
    assert held.report.ended is Ended.EXITED
    assert held.outcome is Outcome.NOTHING_CHANGED


def test_a_process_that_ignores_every_signal_does_not_outlive_the_deadline(world: World) -> None:
    line = """python3 - <<'PROGRAM'
import os, signal, time
def stay():
    for number in signal.valid_signals():
        try: signal.signal(number, signal.SIG_IGN)
        except OSError: pass
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for kind in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        stay()
        if kind == 3: os.kill(os.getpid(), signal.SIGSTOP)
        while True: time.sleep(1)
stay()
while True: time.sleep(1)
PROGRAM"""
    held = attack(world, "ignores", line, limits=Limits(memory_bytes=512 * MIB, deadline_s=3))
    assert held.report.ended is Ended.DEADLINE
    assert held.report.survivors >= 4
    assert held.end.container.exit_code == 0
    assert not world.containers()["job"].is_running
    assert held.outcome is Outcome.DEADLINE_PASSED


def test_what_is_left_running_is_ended_and_counted(world: World) -> None:
    line = "echo x > new; for n in 1 2 3; do setsid sleep 600 & done; sleep 0.3; exit 0"
    held = attack(world, "survives", line)
    assert held.report.survivors >= 3
    assert held.report.ended is Ended.EXITED
    assert held.tree.changed_paths == 1
    assert held.outcome is None


PLANT = r"""set -e
mine='#!/bin/sh
echo ran >> /tmp/ran
cat'
git init -q --bare /tmp/other
mkdir -p /tmp/hooks .git/hooks ~/.config/git
printf '%s\n' "$mine" > /tmp/program; chmod +x /tmp/program
for name in pre-commit post-checkout post-index-change fsmonitor-watchman reference-transaction; do
    cp /tmp/program .git/hooks/$name; cp /tmp/program /tmp/hooks/$name
done
cp /tmp/program ./git; cp /tmp/program ./sh
git -c core.fsmonitor=/tmp/program status >/dev/null; mv /tmp/ran /tmp/armed
for file in .git/config ~/.gitconfig ~/.config/git/config; do
    git config --file $file core.hooksPath /tmp/hooks
    git config --file $file core.fsmonitor /tmp/program
    git config --file $file core.worktree /etc
    git config --file $file filter.evil.clean /tmp/program
    git config --file $file filter.evil.process /tmp/program
    git config --file $file diff.evil.textconv /tmp/program
    git config --file $file diff.external /tmp/program
    git config --file $file core.pager /tmp/program
done
echo '* filter=evil diff=evil' > .gitattributes
mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; echo '*' > .git/info/exclude
echo three > c.txt; echo more >> a.txt
ln -s /etc/shadow secret; ln -s /job/order.json order; ln -s ../../.. up
mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
mknod disk b 254 0 2>/dev/null || echo no disk
mknod white c 0 0 2>/dev/null || echo no whiteout
mv .git /tmp/real; echo 'gitdir: /tmp/other' > .git
"""


def test_nothing_that_is_planted_for_git_runs(world: World, tmp_path: Path) -> None:
    held = attack(world, "plants", PLANT)
    assert held.report.exit_code == 0, (held.order.folder / "out" / "agent-stderr.txt").read_text()
    assert held.said == "no disk\nno whiteout\n"
    assert held.tree.special == ("pipe", "sock")
    names = {".gitattributes", "a.txt", "c.txt", "git", "order", "secret", "sh", "up"}
    assert held.tree.changed_paths == len(names)
    left = left_in(world, "/tmp")
    assert "tmp/armed" in left, "what was planted does run where git heeds it"
    assert "tmp/ran" not in left
    repo = Repo(world.folder / "repo")
    diff = (held.order.folder / "out" / "diff.patch").read_bytes()
    env = {"GIT_INDEX_FILE": str(tmp_path / "index")}
    repo.git("read-tree", world.commit, env=env)
    repo.git("apply", "--cached", "--whitespace=nowarn", stdin=diff, env=env)
    assert repo.git("write-tree", env=env).decode().strip() == held.tree.tree
    assert held.outcome is None


def left_in(world: World, path: str) -> set[str]:
    """Names of everything below a folder of the ended container."""
    archive = world.engine.containers.get(world.containers()["job"].id, path, max_bytes=64 * MIB)
    assert archive is not None
    with archive, tarfile.open(fileobj=io.BytesIO(archive.read())) as tar:
        return set(tar.getnames())


def test_a_sparse_file_of_5_gb_is_named_and_never_read(world: World) -> None:
    line = 'truncate -s 5G big; truncate -s 5G "$FACTORY_RESULT"; truncate -s 5G ~/home; exit 0'
    held = attack(world, "sparse", line)
    assert held.outcome is Outcome.PATCH_OVERSIZED
    assert [(big.path, big.size_bytes) for big in held.tree.biggest] == [("big", 5 * 1024**3)]
    assert held.report.result_file == "too_large"
    assert held.report.duration_ms < 10_000
    walled = Limits(memory_bytes=512 * MIB, deadline_s=60, disk_bytes=1024 * MIB)
    refused = attack(world, "sparse-walled", line, limits=walled)
    assert refused.tree.total_bytes == 0


def test_a_fork_bomb_is_held_by_the_limit_and_named(world: World) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1; exit 1"
    limits = Limits(memory_bytes=1024 * MIB, pids=256, deadline_s=60)
    held = attack(world, "bomb", bomb, limits=limits)
    assert held.report.pids_refused > 0
    assert held.report.survivors > 10
    check = world.order("bomb-check", commands=(Command("unit", bomb),), limits=limits)
    end = world.jobs.run(check, resumed=False)
    assert first_match(COMMANDS_GUARDS, new_state(), end) is Outcome.PIDS_EXHAUSTED


def test_a_memory_hog_under_a_shell_that_exits_0_is_named(world: World) -> None:
    line = "echo x > new; python3 -c 'x = bytearray(2 * 10**9)'; exit 0"
    held = attack(world, "hog", line)
    assert held.report.exit_code == 0
    assert held.report.oom_kills >= 1
    assert held.outcome is Outcome.MEMORY_EXHAUSTED


def test_a_disk_hog_is_ended_and_named(world: World) -> None:
    line = "for n in 1 2 3 4; do head -c 100000000 /dev/zero > ~/fill$n; done; sleep 60"
    held = attack(
        world, "disk", line, limits=Limits(memory_bytes=512 * MIB, deadline_s=60, disk_bytes=200 * MIB)
    )
    assert held.report.ended is Ended.DISK
    assert held.outcome is Outcome.DISK_EXHAUSTED
