"""A fake of `jobs.ports.Jobs`: scripted work on real git, by an engine that is a folder on disk.

Its containers outlive the process that drives them, as real ones do; nothing of a job is executed.
"""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instrument.schema.job import AgentResult, ContainerEnd, JobEnd, Tree
from instrument.schema.ledger import Denied, ModelCall
from instrument.schema.vocabulary import Role
from jobs.errors import EngineUnavailableError, ImageUnfitError
from jobs.handover import agent_command, keep_inputs, order_document
from jobs.order import Identity, JobOrder, SetupOrder
from support.ends import agent_run, call, command, end
from support.gitkit import Repo, make_repo

WORKED_ON = "src/a.py"
"""The file whose content decides whether a check passes."""
DIFF = (
    *("diff-tree", "-p", "-r", "-O/dev/null", "--binary", "--full-index", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "-U3"),
)
TOKEN = re.compile(r"verdict ([0-9a-f]{16})")
WITHHELD = re.compile(r'^"(.+)" [0-9]+ bytes \(an instruction file', re.MULTILINE)
"""Changed, but not in the reviewer's tree."""
ABSENT, CREATED, RUNNING, EXITED = "absent", "created", "running", "exited"

Review = Callable[[str, Sequence[str]], str]
"""From the token of the prompt and the changed paths to the text of the review file."""


def verdict(says: str, *findings: Mapping[str, Any]) -> Review:
    """A review in the form asked for, which covers every changed path."""

    def write(token: str, paths: Sequence[str]) -> str:
        covered, found = (str(list(each)).replace("'", '"') for each in (paths, map(dict, findings)))
        block = f'{{"verdict": "{says}", "covered": {covered}, "findings": {found}}}'
        return f"I read it.\n\n```verdict {token}\n{block}\n```\n"

    return write


def must_fix(text: str, **changes: Any) -> Review:
    """A review with one must-fix."""
    finding = {"id": "new", "severity": "must-fix", "path": WORKED_ON, "quote": "x", "text": text}
    return verdict("changes", finding | changes)


def ruled(text: str) -> str:
    """A resolver's answer that rules."""
    return json.dumps({"ruling": text, "hand_up": ""})


def handed_up(why: str) -> str:
    """One that does not."""
    return json.dumps({"ruling": "", "hand_up": why})


@dataclass(frozen=True)
class Turn:
    """What an agent does in one round; a finished one with one paid call, unless it says otherwise."""

    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """Written into the tree of the order's commit; None removes a file."""
    review: Review | str | None = None
    """What stands in the review file; a text verbatim, none: no file."""
    calls: tuple[ModelCall, ...] | None = None
    denied: tuple[Denied, ...] = ()
    result: AgentResult | None = None
    answer: str | None = None
    """What stands in the result file of a resolver; none: no file."""
    report: Mapping[str, Any] = field(default_factory=dict)
    container: Mapping[str, Any] = field(default_factory=dict)
    tree: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = True
    error: str | None = None


@dataclass
class Script:
    """What the jobs of a task do: a turn (or a tuple of tries) a round, the last one for all later ones."""

    coder: Sequence[Turn | tuple[Turn, ...]] = (Turn({WORKED_ON: b"good\n"}),)
    reviewer: Sequence[Turn | tuple[Turn, ...]] = (Turn(review=verdict("approve")),)
    resolver: Sequence[Turn | tuple[Turn, ...]] = (Turn(answer=handed_up("I do not know")),)
    failing: Mapping[str, bytes] = field(default_factory=dict)
    """Check name to what makes it fail when it stands in the file that is looked at."""
    looked_at: str = WORKED_ON
    flaky: Sequence[str] = ()
    """Checks that fail in the first job of their kind and round and pass in the second; not on the base."""
    output: str = "output of a check\n"
    unfit: str | None = None
    """Why no image can be made; none: it can."""

    def turn(self, order: JobOrder, tries: int) -> Turn:
        turns = {Role.CODER: self.coder, Role.REVIEWER: self.reviewer, Role.RESOLVER: self.resolver}[
            order.role
        ]
        round_ = int(order.folder.name.rpartition("-")[2])
        found = turns[min(round_, len(turns)) - 1]
        return found if isinstance(found, Turn) else found[min(tries, len(found)) - 1]


@dataclass(frozen=True)
class Box:
    """One container on disk."""

    folder: Path

    @property
    def status(self) -> str:
        path = self.folder / "status"
        return path.read_text() if path.exists() else ABSENT

    def becomes(self, status: str) -> None:
        new = self.folder / "status.new"
        new.write_text(status)
        new.replace(self.folder / "status")


class FakeObjects:
    """`jobs.ports.Objects` in the fake's own repository; an empty file a commit says what is held."""

    def __init__(self, jobs: "FakeJobs", root: Path) -> None:
        self._jobs = jobs
        self._folder = root / "held"

    def held(self) -> tuple[str, ...]:
        self._jobs.answer()
        return tuple(sorted(path.name for path in self._folder.glob("*")))

    def hold(self, commit: str, pack: Path, *, instead_of: str | None) -> None:
        self._jobs.answer()
        self._jobs.take_pack(commit, pack)
        self._folder.mkdir(exist_ok=True)
        (self._folder / commit).touch()
        if instead_of is not None and instead_of != commit:
            (self._folder / instead_of).unlink(missing_ok=True)


class FakeJobs:
    """The engine's folder, the script, and `at`, which is told of each step of a container's life."""

    def __init__(
        self,
        root: Path,
        script: Script | None = None,
        *,
        at: Callable[[str, JobOrder], None] = lambda _status, _order: None,
    ) -> None:
        self.root = root
        self.script = script or Script()
        self.at = at
        self.is_gone = False
        (root / "containers").mkdir(parents=True, exist_ok=True)
        self._git = Repo(root / "git") if (root / "git").exists() else make_repo(root / "git", "--bare")

    def created(self) -> Counter[str]:
        """How often a container was created, by key."""
        path = self.root / "created"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def left(self) -> list[str]:
        """The keys of the containers that are there."""
        return sorted(box.name.partition("+")[2] for box in (self.root / "containers").iterdir())

    def content(self, order: JobOrder) -> bytes:
        """The file that is worked on, as the job got it."""
        return self._git.git("show", f"{order.commit}:{WORKED_ON}")

    @property
    def objects(self) -> FakeObjects:
        return FakeObjects(self, self.root)

    def set_up(self, order: SetupOrder) -> str:
        self.answer()
        if self.script.unfit is not None:
            raise ImageUnfitError(self.script.unfit)
        material = repr((order.base_image, order.dockerfile, order.cached, order.inputs_digest))
        return f"sha256:{hashlib.sha256(material.encode()).hexdigest()}"

    def run(self, order: JobOrder, *, resumed: bool) -> JobEnd:
        self.answer()
        box = self._box(order.identity)
        if box.status in (ABSENT, CREATED):
            self.release(order.identity.run_id, order.identity.key)
            if resumed:
                return self._lost(order)
            self._create(order, box)
        if box.status == RUNNING:
            self._work(order, box)
        return self._collect(order, box)

    def cancel(self, order: JobOrder) -> JobEnd:
        self.answer()
        box = self._box(order.identity)
        if box.status == RUNNING:
            self._work(order, box)
        return self._collect(order, box) if box.status == EXITED else self._lost(order)

    def release(self, run_id: str, key: str) -> None:
        self.answer()
        shutil.rmtree(self.root / "containers" / f"{run_id}+{key}", ignore_errors=True)

    def reap(self, run_id: str, *, keep: str | None) -> int:
        self.answer()
        gone = [
            box
            for box in (self.root / "containers").glob(f"{run_id}+*")
            if box.name.partition("+")[2] != keep
        ]
        for box in gone:
            shutil.rmtree(box)
        return len(gone)

    def answer(self) -> None:
        """Raise where no engine answers."""
        if self.is_gone:
            raise EngineUnavailableError("no engine answers")

    def _box(self, identity: Identity) -> Box:
        return Box(self.root / "containers" / f"{identity.run_id}+{identity.key}")

    def _create(self, order: JobOrder, box: Box) -> None:
        keep_inputs(order, order_document(order, agent_command(order)))
        box.folder.mkdir()
        with (self.root / "created").open("a") as log:
            log.write(f"{order.identity.key}\n")
        box.becomes(CREATED)
        self.at(CREATED, order)
        box.becomes(RUNNING)
        self.at(RUNNING, order)

    def _work(self, order: JobOrder, box: Box) -> None:
        out = box.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(mode=0o700)
        self.take_pack(order.commit, order.pack)
        ended = self._ran_commands(order, out) if order.agent is None else self._played(order, out)
        (box.folder / "end.json").write_text(ended.model_dump_json())
        box.becomes(EXITED)
        self.at(EXITED, order)

    def _collect(self, order: JobOrder, box: Box) -> JobEnd:
        order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(order.folder / "out", ignore_errors=True)
        shutil.copytree(box.folder / "out", order.folder / "out")
        return JobEnd.model_validate_json((box.folder / "end.json").read_bytes())

    def take_pack(self, commit: str, pack: Path) -> None:
        """Make the pack's objects known to the engine's git."""
        target = self.root / "git/objects/pack" / f"pack-{commit}.pack"
        if not target.exists():
            shutil.copyfile(pack, target)
            self._git.git("index-pack", str(target))

    def laid(self, order: JobOrder) -> dict[str, bytes]:
        """The tree that a job got, path to content; only once it has been at work."""
        paths = self._git.ask("ls-tree", "-r", "--name-only", order.commit).splitlines()
        return {path: self._git.git("show", f"{order.commit}:{path}") for path in paths}

    def _played(self, order: JobOrder, out: Path) -> JobEnd:
        key = order.identity.key
        turn = self.script.turn(order, self._tries(order))
        tree = self._capture(order, turn, out)
        report: dict[str, Any] = {"tree": tree.model_copy(update=turn.tree)}
        if order.role is Role.REVIEWER and turn.review is not None:
            _write(out / "review.md", self._review_text(order, turn.review).encode())
            report["review_file"] = "kept"
        if turn.answer is not None:
            _write(out / "agent-result.json", turn.answer.encode())
            report["result_file"] = "kept"
        return end(
            key,
            role=order.role,
            report=report | dict(turn.report),
            container=dict(turn.container),
            calls=(call(),) if turn.calls is None else turn.calls,
            denials=turn.denied,
            agent=agent_run(finished=turn.finished).model_copy(update={"error": turn.error}),
            result=turn.result,
            folder=_folder(order),
        )

    def _tries(self, order: JobOrder) -> int:
        """How many folders of this role and round there are: the number of this try."""
        label = order.folder.name.partition("-")[2]
        return sum(each.name.partition("-")[2] == label for each in order.folder.parent.iterdir())

    def _capture(self, order: JobOrder, turn: Turn, out: Path) -> Tree:
        base_tree = self._git.ask("rev-parse", f"{order.commit}^{{tree}}")
        tree, diff = base_tree, b""
        if turn.files:
            env = {"GIT_INDEX_FILE": str(out.parent / "index")}
            self._git.git("read-tree", base_tree, env=env)
            self._git.git("update-index", "-z", "--index-info", stdin=self._lines(turn.files), env=env)
            tree = self._git.git("write-tree", env=env).decode().strip()
            diff = self._git.git(*DIFF, base_tree, tree)
        _write(out / "diff.patch", diff)
        return Tree(
            base_commit=order.commit,
            base_tree=base_tree,
            tree=tree,
            diff_bytes=len(diff),
            diff_sha256=hashlib.sha256(diff).hexdigest(),
            changed_paths=diff.count(b"\ndiff --git ") + diff.startswith(b"diff --git "),
        )

    def _lines(self, files: Mapping[str, bytes | None]) -> bytes:
        lines = []
        for name, content in files.items():
            if content is None:
                lines.append(f"0 {'0' * 40}\t{name}\0")
                continue
            oid = self._git.git("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"100644 {oid} 0\t{name}\0")
        return "".join(lines).encode()

    def _review_text(self, order: JobOrder, review: Review | str) -> str:
        if isinstance(review, str):
            return review
        assert order.agent is not None
        found = TOKEN.search(order.agent.prompt.decode())
        assert found, "the prompt names no token"
        paths = self._git.ask("diff-tree", "-r", "--name-only", f"{order.commit}^", order.commit)
        told = WITHHELD.findall(order.agent.prompt.decode())
        return review(found[1], [*paths.splitlines(), *told])

    def _ran_commands(self, order: JobOrder, out: Path) -> JobEnd:
        content = self._git.git("show", f"{order.commit}:{self.script.looked_at}")
        (out / "commands").mkdir(mode=0o700)
        ends = []
        for each in order.commands:
            mark = self.script.failing.get(each.name)
            is_red = (mark is not None and mark in content) or self._is_shaky(order, each.name)
            _write(out / "commands" / f"{each.name}.txt", self.script.output.encode())
            ends.append(command(each.name, int(is_red), run=each.run))
        report = {"commands": tuple(ends)}
        return end(order.identity.key, role=order.role, report=report, folder=_folder(order))

    def _is_shaky(self, order: JobOrder, name: str) -> bool:
        """Whether a flaky check fails now."""
        is_first = self._tries(order) == 1
        return name in self.script.flaky and is_first and "baseline" not in order.folder.name

    def _lost(self, order: JobOrder) -> JobEnd:
        return JobEnd(
            key=order.identity.key,
            folder=_folder(order),
            container=ContainerEnd(lost=True),
            report_error="The job left no folder of results.",
        )


def _folder(order: JobOrder) -> str:
    return f"{order.folder.parent.name}/{order.folder.name}"


def _write(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)
