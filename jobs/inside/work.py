"""Runs what the order asks for: shell commands one after the other, or the agent.

Limits: everything runs as the agent's user in the tree; what ran on is ended by the caller.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass
from typing import Iterable, Mapping

from .calls import Calls
from .disk import Disk
from .doing import Doing
from .ending import end_all, living
from .lastline import LastLine
from .leftovers import Leftovers
from .order import Agent, Command, Order
from .output import Both, Head, Masker, Sink, Tail
from .places import Places
from .process import start
from .report import DEADLINE, DISK, NO_FIRST_CALL, CommandEnd, Report, milliseconds
from .settings import lay_settings
from .stalls import overhear, shown
from .watch import Limit, Pump, first_call, past, wait

OUTPUT_BYTES = 64 * 1024
TRANSCRIPT_BYTES = 64 * 1024 * 1024
_TIMEOUT = "timeout"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_NAME_LENGTH = 60


@dataclass(frozen=True)
class Worker:
    """One job's means; `deadline` is a moment of `time.monotonic()`, `began` one of the wall clock."""

    order: Order
    places: Places
    pump: Pump
    deadline: float
    began: float

    def run_commands(self, commands: Iterable[Command], prefix: str) -> tuple[list[CommandEnd], str | None]:
        """Run them all in order; the second value is the limit of the job that was passed, if one was."""
        limits = self._job_limits()
        passed: str | None = None
        ends = []
        for number, command in enumerate(commands, 1):
            name = f"commands/{prefix}{number}-{safe_name(command.name)}.txt"
            tail = Tail(os.path.join(self.places.out, name), OUTPUT_BYTES, Masker(self.order.secrets))
            if passed is None:
                end, passed = self._run_command(command, tail, limits, "out/" + name)
            else:
                tail.note(f"not run: the job had already ended ({passed})")
                tail.close()
                end = CommandEnd(command.name, command.run, output="out/" + name)
            ends.append(end)
        return ends, passed

    def _run_command(
        self, command: Command, tail: Tail, limits: list[Limit], output: str
    ) -> tuple[CommandEnd, str | None]:
        """A background process that an earlier command left is spared when this one is ended."""
        before = living(self.places.user)
        began = time.monotonic()
        env = self._environment(self.order.env, command.env)
        with open(os.devnull, "rb") as nothing:
            child = self._start([_shell(), "-c", command.run], env, nothing.fileno(), (tail, tail))
        if isinstance(child, OSError):
            tail.note(f"the shell cannot be run: {child.strerror}")
            passed, code = None, _NOT_FOUND
        else:
            passed = wait(child, self.pump, [*limits, past(began + command.timeout_s, _TIMEOUT)])
            if passed:
                end_all(self.places.user, spare=before)
            code = child.wait()
        took = time.monotonic() - began
        self.pump.settle([tail])
        exit_code, signal = split_code(code)
        is_late = passed in (_TIMEOUT, DEADLINE)
        end = CommandEnd(command.name, command.run, output, exit_code, signal, is_late, milliseconds(took))
        return end, None if passed == _TIMEOUT else passed

    def run_agent(self, agent: Agent, left: Leftovers, report: Report) -> None:
        """Run the agent until it ends or passes a limit; fills in how it ended."""
        out, secrets = self.places.out, self.order.secrets
        transcript = Head(os.path.join(out, "transcript.jsonl"), TRANSCRIPT_BYTES, Masker(secrets))
        errors = Tail(os.path.join(out, "agent-stderr.txt"), OUTPUT_BYTES, Masker(secrets))
        stalls = overhear(self.order, agent, self.places, left)
        output: Sink = Both(transcript, stalls) if stalls else transcript
        last = LastLine(agent.last_lines)
        output = Both(output, last) if agent.last_lines else output
        doing = (
            Doing(self.places.doing, Calls(agent.shell_calls), Masker(secrets)) if agent.shell_calls else None
        )
        output = Both(output, doing) if doing else output
        lay_settings(self.places, agent.files, agent.cleared)
        began = time.monotonic()
        source = self.places.prompt if agent.reads_prompt else os.devnull
        with open(source, "rb") as stdin:
            env = {**self._environment(self.order.env, agent.env), **self._agent_environment(agent)}
            child = self._start(agent.argv, env, stdin.fileno(), (output, errors))
        if isinstance(child, OSError):
            errors.note(f"{agent.argv[0]} cannot be run: {child.strerror}")
            is_absent = isinstance(child, FileNotFoundError)
            report.exit_code = _NOT_FOUND if is_absent else _NOT_EXECUTABLE
        else:
            due = first_call(self.order.first_call_marker, began + self.order.first_call_s, NO_FIRST_CALL)
            overheard = [sink.as_limit() for sink in (stalls, doing) if sink]
            limits = [*self._job_limits(), due, last.as_limit(), *overheard]
            passed = wait(child, self.pump, limits)
            if passed:
                report.ended = passed
                child.kill()
            report.exit_code, report.signal = split_code(child.wait())
        report.agent_ms = milliseconds(time.monotonic() - began)
        if report.ended != "exited":
            # Whatever holds its output would keep us from settling.
            report.survivors += end_all(self.places.user).seen
        self.pump.settle([output, errors])
        report.transcript_truncated = transcript.is_truncated
        if stalls and stalls.found:
            report.stalled_command = shown(stalls.found.command, Masker(secrets))
            report.stalled_count = stalls.found.count

    def _start(
        self, argv: Iterable[str], env: Mapping[str, str], stdin: int, sinks: tuple[Sink, Sink]
    ) -> subprocess.Popen[bytes] | OSError:
        """Pipes of our own: the pump may outlive the program that they were made for."""
        readers, writers = [], []
        for sink in dict.fromkeys(sinks):
            reader, writer = os.pipe()
            self.pump.add(reader, sink)
            readers.append(reader)
            writers.append(writer)
        try:
            return start(
                list(argv), self.places.user, cwd=self.places.repo, env=env,
                stdin=stdin, stdout=writers[0], stderr=writers[-1],
            )  # fmt: skip
        except OSError as error:
            return error
        finally:
            for writer in writers:
                os.close(writer)

    def _job_limits(self) -> list[Limit]:
        disk = Disk(self.places.writable, self.order.disk_bytes, self.began, DISK)
        return [past(self.deadline, DEADLINE), disk.as_limit()]

    def _environment(self, *more: Mapping[str, str]) -> dict[str, str]:
        env = {
            "HOME": self.places.home,
            "PATH": os.environ.get("PATH") or _PATH,
            "LANG": "C.UTF-8",
            "FACTORY_ROLE": self.order.role,
        }
        for variables in more:
            env.update(variables)
        return env

    def _agent_environment(self, agent: Agent) -> dict[str, str]:
        env = {"FACTORY_PROMPT": self.places.prompt, "FACTORY_RESULT": self.places.result}
        if agent.review_path:
            env["FACTORY_REVIEW_FILE"] = os.path.join(self.places.repo, agent.review_path)
        return env


def split_code(code: int) -> tuple[int | None, int | None]:
    """Exit code and signal of a return code as `subprocess` gives it; one of them is none."""
    return (None, -code) if code < 0 else (code, None)


def safe_name(name: str) -> str:
    """A command's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_NAME_LENGTH].strip("-") or "command"


def _shell() -> str:
    return next((shell for shell in ("/bin/bash", "/usr/bin/bash") if os.path.exists(shell)), "/bin/sh")
