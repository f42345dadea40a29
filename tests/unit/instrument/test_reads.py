import json
from datetime import UTC, datetime
from typing import Any

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from instrument.cli import main
from instrument.found import find_task
from instrument.reads import FileReads, ToolTime, calls_told, files_of, read_task, tools_of
from instrument.schema.job import AgentRun
from instrument.schema.ledger import CallEnded, CallStarted
from instrument.schema.transcript import CallSeen, FileRead, ToolUse, Transcript
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def read(path: str, first: int | None = None, last: int | None = None) -> FileRead:
    return FileRead(path=path, first_line=first, last_line=last)


def write_job(folder: Any, name: str, inputs: list[int], transcript: Transcript | None) -> None:
    """A job whose calls had these inputs, half of each from the cache, for 10 micro-dollars a thousand."""
    job = folder.path / "jobs" / name
    (job / "out").mkdir(parents=True)
    rows = []
    for n, tokens in enumerate(inputs, start=1):
        usage = Usage(input_tokens=tokens - tokens // 2, cache_read_tokens=tokens // 2, output_tokens=500)
        rows += [
            CallStarted(n=n, at_utc=NOW, path="/v1/messages", model="m", reserved_microusd=9, user_agent="a"),
            CallEnded(
                n=n,
                at_utc=NOW,
                status=200,
                model="m",
                usage=usage,
                cost_microusd=tokens // 100,
                estimated=False,
            ),
        ]
    (job / "ledger.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows))
    if transcript is not None:
        agent = AgentRun(runtime=RuntimeName.CLAUDE, model_asked="m", finished=True, transcript=transcript)
        (job / "out" / "agent-run.json").write_text(agent.model_dump_json())


def test_a_read_of_lines_that_were_read_before_is_a_read_again() -> None:
    files = files_of(
        [
            read("a", 1, 50),
            read("a", 51, 80),
            read("a", 40, 60),
            read("b"),
            read("b", 7, 9),
            read("a", 100, None),
        ]
    )

    assert files == (
        FileReads(path="a", reads=4, again=1, lines=((1, 80), (100, None))),
        FileReads(path="b", reads=2, again=1, lines=((1, None),)),
    )


@given(st.lists(st.tuples(st.integers(1, 30), st.none() | st.integers(0, 10))))
def test_the_ranges_hold_exactly_the_lines_that_were_read(asked: list[Any]) -> None:
    spans = [(first, None if more is None else first + more) for first, more in asked]
    (file,) = files_of([read("a", *span) for span in spans]) or [None]

    for line in range(1, 60):
        was_read = any(first <= line and (last is None or line <= last) for first, last in spans)
        shown = [span for span in (file.lines if file else ()) if span[0] <= line]
        assert was_read == any(last is None or line <= last for _, last in shown)
    if file is not None:
        ends = [last for _, last in file.lines[:-1]]
        firsts = [first for first, _ in file.lines[1:]]
        assert all(last is not None and last + 1 < first for last, first in zip(ends, firsts, strict=True))


def test_the_time_of_a_tool_is_the_sum_of_its_uses() -> None:
    uses = [
        ToolUse(name="Read", is_ok=True, duration_ms=40),
        ToolUse(name="Bash", is_ok=False, duration_ms=900),
        ToolUse(name="Read", is_ok=None),
    ]

    assert tools_of(uses) == (
        ToolTime(name="Bash", uses=1, failed=1, duration_ms=900, untimed=0),
        ToolTime(name="Read", uses=2, failed=0, duration_ms=40, untimed=1),
    )


def test_a_request_that_is_told_twice_counts_once() -> None:
    ids = ["r1", "r2", "r2", None]

    assert calls_told([CallSeen(request_id=each) for each in ids]) == 2
    assert calls_told([CallSeen(input_tokens=5)]) is None


def test_a_tasks_reads_by_hand(home: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(1)
    told = Transcript(
        calls=tuple(CallSeen(request_id=f"r{n}") for n in range(3)),
        tools=(ToolUse(name="Read", is_ok=True, duration_ms=40),),
        reads=(read("src/a.py"), read("src/a.py", 1, 9)),
    )
    write_job(folder, "0002-coder-1", [20_000, 101_000, 150_000], told)
    write_job(folder, "0004-reviewer-1", [100_000], None)

    made = read_task(find_task(home.path, "api-007"))

    coder, reviewer = made.jobs
    # 101,000 and 150,000 are above 100,000; they cost 1,010 and 1,500 of 200 + 1,010 + 1,500.
    assert (coder.context.first_tokens, coder.context.peak_tokens) == (20_000, 150_000)
    assert (coder.context.first_large, coder.context.large) == (2, 2)
    assert (coder.context.large_microusd, coder.context.cost_microusd) == (2_510, 2_710)
    assert (coder.calls_told, coder.calls_metered, coder.differs) == (3, 3, False)
    assert coder.files == (FileReads(path="src/a.py", reads=2, again=1, lines=((1, None),)),)
    # Exactly 100,000 is not above it.
    assert (reviewer.context.first_large, reviewer.calls_told) == (None, None)
    assert reviewer.missing == ("no transcript was kept",)
    assert made.context.cost_microusd == 3_710


def test_a_call_that_one_of_both_lacks_is_marked(home: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(1)
    write_job(
        folder, "0002-coder-1", [5], Transcript(calls=(CallSeen(request_id="r1"), CallSeen(request_id="r2")))
    )

    env = {"FACTORY_HOME": str(home.path)}
    text = CliRunner().invoke(main, ["reads", "api-007"], env=env).stdout
    assert "1 metered, 2 told (!) they differ" in text
    made = json.loads(CliRunner().invoke(main, ["reads", "api-007", "--json"], env=env).stdout)
    assert made["jobs"][0]["calls_told"] == 2


def test_a_shell_line_without_a_model_has_called_none_and_lacks_nothing(home: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    write_job(folder, "0002-coder-1", [], None)
    job = folder.path / "jobs" / "0002-coder-1"
    (job / "ledger.jsonl").unlink()
    (job / "out" / "agent-run.json").write_text('{"runtime": "command", "finished": true}')

    env = {"FACTORY_HOME": str(home.path)}
    text = CliRunner().invoke(main, ["reads", "api-007"], env=env).stdout
    assert text == "reads of api-007\n\napi-007/0002-coder-1\ncalls     no model was called\n"


def test_the_text_fits_eighty_columns_and_moves_no_cursor(home: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(1)
    told = Transcript(reads=tuple(read(f"src/{n}\x1b[2J.py", n, n + 3) for n in range(1, 20)))
    write_job(folder, "0002-coder-1", [200_000], told)

    text = CliRunner().invoke(main, ["reads", "api-007"], env={"FACTORY_HOME": str(home.path)}).stdout

    assert all(len(line) <= 80 and line.isprintable() for line in text.splitlines())
    assert "… and 4 more files" in text
    assert "1 call above 100,000 from call 1 on, $0.0020 (100 %)" in text
