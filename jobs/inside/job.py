"""The whole of one job, from the order to the report.

Limits: decides nothing about the work; exit code 0 whenever a report was written.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timezone

from .ballast import drop_ballast, lay_ballast
from .capture import capture
from .cgroup import PidsSeen, read_counters
from .changes import untracked_paths
from .daemon import DaemonError, give_back, open_daemon
from .ending import end_all
from .handback import RESULT_BYTES, REVIEW_BYTES, take
from .installed import keep_leftovers, scrub, touched_sentence
from .leftovers import Leftovers, read_leftovers
from .order import Agent, Order, read_order
from .output import Masker
from .places import Places
from .prepare import empty_out, is_socket_there, place_prompt
from .relay import open_relay
from .report import DEADLINE, DISK, EXITED, HOST_DISK, SIDECAR_MISSING, Report, as_document, write_document
from .sealed import Git
from .tree import lay, write_excludes
from .watch import Pump
from .work import Worker

# The host ends the container 30 s after the deadline: the capture of a late agent has to fit in there.
AFTER_DEADLINE_S = 24.0
AFTERWARDS_S = 60.0
LEAST_AFTERWARDS_S = 5.0


def main() -> int:
    """Do the job that lies there; 1 only where not even a report could be written."""
    places = Places()
    started, clock = datetime.now(timezone.utc), time.monotonic()
    report, masker = Report(), Masker(())
    try:
        empty_out(places)
        order = read_order(places.order)
        masker = Masker(order.secrets)
        report.key, report.role = order.key, order.role
        lay_ballast(places)
        Job(order, places, report, clock).do()
    except Exception as error:  # noqa: BLE001 - the outermost frame: every failure becomes a line of the report
        report.fail(f"{type(error).__name__}: {error}")
    if drop_ballast(places):
        # Whatever failed on a full disk is not the agent's fault, and not ours.
        report.error = None
        report.ended = DISK if report.ended == DISK else HOST_DISK
    if report.error:
        report.error = masker.all(report.error.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
    try:
        document = as_document(report, read_counters(), started, time.monotonic() - clock)
        write_document(os.path.join(places.out, "job.json"), document)
    except OSError as error:
        sys.stderr.write(f"the report cannot be written: {error}\n")
        return 1
    return 0


class Job:
    """One order on its way; `clock` is the moment of `time.monotonic()` at which it began."""

    def __init__(self, order: Order, places: Places, report: Report, clock: float) -> None:
        self._order = order
        self._places = places
        self._report = report
        self._deadline = clock + order.deadline_s
        self._began = time.time() - (time.monotonic() - clock)
        self._left = Leftovers()
        self._has_begun = False

    def do(self) -> None:
        """Everything in order; whatever happens, nothing of the agent's user is left running."""
        try:
            self._prepare()
            if is_socket_there(self._order.socket, self._deadline):
                with open_relay(self._order.relay_port, self._order.socket):
                    self._work()
            else:
                self._report.ended = SIDECAR_MISSING
        finally:
            killed = end_all(self._places.user)
            self._report.survivors += killed.seen
        if self._order.docker:
            give_back(self._places.repo, self._places.user)
        if killed.left:
            self._report.fail(f"{killed.left} processes of the agent could not be ended")
        elif self._order.role == "setup":
            self._keep()
        elif self._order.agent and self._has_begun:
            self._collect(self._order.agent)

    def _prepare(self) -> None:
        if self._order.role != "setup":
            self._left = read_leftovers(self._places.leftovers)
        lay(self._order, self._places, self._left, self._deadline)
        if self._order.agent:
            place_prompt(self._places, self._order.agent.review_path)

    def _work(self) -> None:
        pids = PidsSeen()
        pump = Pump(pids.look)
        worker = Worker(self._order, self._places, pump, self._deadline, self._began)
        try:
            with open_daemon(self._order, self._places, pump, self._deadline):
                self._work_with(worker)
        except DaemonError as error:
            self._report.fail(str(error))
            if not self._has_begun:
                self._report.setup_failed = "docker"
                self._report.ended = DEADLINE if time.monotonic() >= self._deadline else EXITED
        finally:
            self._report.peak_pids = pids.most
            pump.close()

    def _work_with(self, worker: Worker) -> None:
        if not self._run_always(worker):
            return
        self._has_begun = True
        if self._order.agent:
            worker.run_agent(self._order.agent, self._left, self._report)
        else:
            self._run_commands(worker)

    def _run_always(self, worker: Worker) -> bool:
        """Set-up on the actual tree; false where the work cannot begin."""
        for number, command in enumerate(self._order.always, 1):
            (end,), passed = worker.run_commands([command], f"setup{number}-")
            if passed or not end.has_passed:
                self._report.setup_failed = command.name
                self._report.ended = passed or EXITED
                self._report.commands = [end]
                return False
        return (
            not self._order.always
            or not self._order.agent
            or self._is_tree_clean(self._order.always[-1].name)
        )

    def _is_tree_clean(self, name: str) -> bool:
        """What `always` left must not show as the agent's: new paths are passed by, a change is an error."""
        git = Git(self._places.git, self._places.repo, self._deadline)
        sentence = touched_sentence(git)
        if sentence:
            self._report.setup_failed = name
            self._report.fail(sentence)
            return False
        self._left = self._left.plus(untracked_paths(git))
        write_excludes(self._places, self._left)
        return True

    def _run_commands(self, worker: Worker) -> None:
        ends, passed = worker.run_commands(self._order.commands, "")
        failed = next((end for end in ends if not end.has_passed), None)
        report = self._report
        report.commands, report.ended = ends, passed or EXITED
        report.exit_code, report.signal = (failed.exit_code, failed.signal) if failed else (0, None)

    def _until(self) -> float:
        now = time.monotonic()
        return max(min(now + AFTERWARDS_S, self._deadline + AFTER_DEADLINE_S), now + LEAST_AFTERWARDS_S)

    def _keep(self) -> None:
        try:
            if self._has_begun:
                git = Git(self._places.git, self._places.repo, self._until())
                sentence = keep_leftovers(git, self._places)
                if sentence:
                    self._report.fail(sentence)
        finally:
            scrub(self._places)

    def _collect(self, agent: Agent) -> None:
        places, report, masker = self._places, self._report, Masker(self._order.secrets)
        result = os.path.join(places.out, "agent-result.json")
        report.result_file = take(places.hand, "result.json", result, RESULT_BYTES, masker)
        left = self._left
        if agent.review_path:
            review = os.path.join(places.out, "review.md")
            report.review_file = take(places.repo, agent.review_path, review, REVIEW_BYTES, masker)
            left = left.plus([os.fsencode(os.path.dirname(agent.review_path) or agent.review_path)])
        report.tree = capture(self._order, places, left, self._until())
