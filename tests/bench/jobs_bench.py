"""How long a job takes to its first model call, over `docker run` of the same image and program.

Limits: needs a Docker Engine and the project's images; all that it makes there is gone at the end.
"""

import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from instrument.schema.vocabulary import Purpose, Role, RuntimeName
from jobs.engine import Engine
from jobs.handover import sidecar_line
from jobs.images import ImageShelf
from jobs.order import MIB, AgentWork, Command, Identity, JobOrder, Limits, ProxyOrder, SetupOrder
from jobs.runner import DockerJobs
from jobs.runtimes.table import RUNTIMES
from loop.demo import EXAMPLE
from loop.git.seed import seed_repository
from tests.bench.by_hand import SET_UP, Hand, Started, moment_of

MODEL = "claude-sonnet-4-5"
PROMPT = b"Say that you are done."
STORY = f"""
model: {MODEL}
rounds:
  - role: coder
    turns:
      - finish: Done.
        usage: {{input: 100, output: 20}}
"""
BUDGET_MICROUSD = 5_000_000


def measure(rounds: int) -> dict[str, Any]:
    """A round starts a job cold and warm, by us and by hand, in a random order.

    Raises:
        JobsError: The engine or an image is not there.
        HandError: A docker command failed.
    """
    with _bench() as bench:
        done = []
        for n in range(1, rounds + 1):
            one = bench.round(n)
            warm, hand = (one[way]["call_ms"] for way in ("warm", "by hand, warm"))
            sys.stderr.write(f"round {n} of {rounds}: warm {warm:.0f} ms, by hand {hand:.0f} ms\n")
            done.append(one)
        return {"program": f"{RuntimeName.CLAUDE.value} {bench.version}", "rounds": done}


@contextmanager
def _bench() -> Iterator["Bench"]:
    engine = Engine.connect()
    jobs = DockerJobs(connect=lambda: engine)
    run_id = secrets.token_hex(4)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        # Another user looks into it, from the container that a person starts.
        folder.chmod(0o755)
        seed_repository(EXAMPLE, folder / "checkout", folder / "origin.git")
        shelf = ImageShelf(engine)
        hand = Hand(f"factory-bench-{run_id}", folder / "checkout", shelf.sidecar())
        try:
            yield Bench(engine, jobs, hand, run_id, shelf.job(), hand.start_provider(STORY))
        finally:
            hand.clear()
            jobs.reap(run_id, keep=None)
            jobs.close()


class Bench:
    """One run's repository, images and provider."""

    def __init__(
        self, engine: Engine, jobs: DockerJobs, hand: Hand, run_id: str, image: str, address: str
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._hand = hand
        self._run_id = run_id
        self._image = image
        self._address = address
        self._folder = hand.checkout.parent
        self._commit = _git(hand.checkout, "rev-parse", "HEAD").decode().strip()
        self._pack = self._folder / "tree.pack"
        wanted = f"{self._commit}\n".encode()
        self._pack.write_bytes(_git(hand.checkout, "pack-objects", "--revs", "--stdout", "-q", stdin=wanted))
        self._command = RUNTIMES[RuntimeName.CLAUDE].command(self._work())
        self.version: str | None = None

    def round(self, n: int) -> dict[str, Any]:
        """Milliseconds to the container's start and to the first call, by way."""
        ways: Mapping[str, Callable[[str], dict[str, float]]] = {
            "warm": self._warm,
            "cold": self._cold,
            "by hand, warm": lambda _: self._by_hand(is_cold=False, has_sidecar=True),
            "by hand, cold": lambda _: self._by_hand(is_cold=True, has_sidecar=True),
            "by hand, with its sidecar": lambda _: self._by_hand(is_cold=False, has_sidecar=False),
        }
        return {way: ways[way](f"{way}-{n}") for way in random.sample(list(ways), len(ways))}

    def _warm(self, name: str) -> dict[str, float]:
        return self._run(name, self._image, time.time())

    def _cold(self, name: str) -> dict[str, float]:
        begun = time.time()
        order = self._order(f"{name}-setup", self._image)
        made = self._jobs.set_up(
            SetupOrder(
                identity=order.identity,
                base_image=None,
                dockerfile=None,
                cached=(Command("prepare", SET_UP),),
                inputs_digest=order.identity.key,
                commit=order.commit,
                pack=order.pack,
                folder=order.folder,
                limits=order.limits,
            )
        )
        try:
            return self._run(name, made, begun)
        finally:
            self._engine.images.remove(made, force=True)

    def _run(self, name: str, image: str, begun: float) -> dict[str, float]:
        order = self._order(name, image)
        try:
            end = self._jobs.run(order, resumed=False)
        finally:
            self._jobs.release(self._run_id, order.identity.key)
        assert end.report is not None, end.report_error
        assert end.agent is not None
        assert end.agent.finished, end.agent.error
        assert end.container.started_utc is not None
        self.version = end.agent.version
        ledger = (order.folder / "ledger.jsonl").read_text()
        started = Started(end.container.started_utc.timestamp(), moment_of("call_started", ledger))
        more = {
            "supervisor_ms": end.report.started_utc.timestamp(),
            "sidecar_ms": moment_of("ledger_opened", ledger),
        }
        return {**_since(begun, started), **_in_ms(begun, more)}

    def _by_hand(self, *, is_cold: bool, has_sidecar: bool) -> dict[str, float]:
        settings = sidecar_line(self._order("by-hand", self._image))
        begun = time.time()
        with self._hand.sidecar(settings):
            if has_sidecar:
                begun = time.time()
            image = self._hand.set_up(self._image) if is_cold else self._image
            return _since(begun, self._hand.run_agent(image, self._command, PROMPT))

    def _order(self, name: str, image: str) -> JobOrder:
        proxy = ProxyOrder(self._address, secret="sk-of-nobody", budget_microusd=BUDGET_MICROUSD)
        key = name.replace(" ", "-")
        return JobOrder(
            identity=Identity(self._run_id, key, "bench-001", Purpose.PROBE),
            role=Role.CODER,
            image=image,
            commit=self._commit,
            pack=self._pack,
            folder=self._folder / "jobs" / key,
            limits=Limits(memory_bytes=2048 * MIB, deadline_s=120),
            agent=self._work(),
            proxy=proxy,
        )

    @staticmethod
    def _work() -> AgentWork:
        return AgentWork(RuntimeName.CLAUDE, MODEL, PROMPT)


def _since(begun: float, started: Started) -> dict[str, float]:
    """Milliseconds."""
    return _in_ms(begun, {"container_ms": started.container, "call_ms": started.call})


def _in_ms(begun: float, moments: Mapping[str, float]) -> dict[str, float]:
    return {name: round((moment - begun) * 1000, 1) for name, moment in moments.items()}


def _git(checkout: Path, *words: str, stdin: bytes = b"") -> bytes:
    line = ["git", "-C", str(checkout), *words]
    return subprocess.run(line, input=stdin, capture_output=True, check=True).stdout
