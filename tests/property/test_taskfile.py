import string
from collections.abc import Callable
from decimal import Decimal

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from loop.config import parse_config
from loop.problems import Problem, Problems
from loop.prompts.sections import fenced
from loop.taskfile import KNOWN_KEYS, parse_task
from loop.verdict import Verdict, VerdictFault, read_verdict

PATH = "tasks/007-x.md"
NAMES = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
LISTS = st.lists(NAMES, min_size=1, max_size=4, unique=True)
LINES = st.sampled_from([f"{key}: " for key in KNOWN_KEYS]) | st.sampled_from(
    [
        "---\n",
        "- ",
        "[",
        "{",
        '"',
        "'",
        "# T\n",
        "status: ready\n",
        "files: [a]\n",
        "&a ",
        "*a",
        "!!x ",
        "|\n ",
        "\t",
    ]
)
TOML = st.sampled_from(
    [
        *(
            "[repo]\n",
            "name = ",
            "'x'\n",
            '"',
            "'''",
            '"""',
            "[checks",
            ".unit",
            "]\n",
            "run = ",
            "{ a = ",
            "}",
        ),
        *("[", "1e9", "1979-05-27\n", "true\n", "fast", "# c\n", "inf\n"),
    ]
)
CALM = settings(deadline=None)  # a noisy machine is no fault of the code


def bytes_like(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    some = st.lists(pieces | st.text(max_size=6), max_size=16).map("".join)
    return some.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=60)


def problems_of(read: Callable[[bytes], object], content: bytes) -> tuple[Problem, ...]:
    """What is wrong with it; empty: nothing. Any other exception is the test's failure."""
    try:
        read(content)
    except Problems as error:
        return error.problems or (Problem("an exception without a problem", -1, "\n"),)
    return ()


@CALM
@given(bytes_like(LINES))
def test_any_bytes_are_a_task_or_problems_of_one_line_each(data: bytes) -> None:
    for content in (data, b"---\n" + data + b"\n---\n# T\n"):
        for problem in problems_of(lambda b: parse_task(b, PATH), content):
            assert "\n" not in str(problem)
            assert problem.line is None or 1 <= problem.line <= content.count(b"\n") + 1


@CALM
@given(bytes_like(TOML))
def test_any_bytes_are_a_configuration_or_problems_of_one_line_each(data: bytes) -> None:
    for content in (data, b"[repo]\nname = 'a'\n" + data):
        for problem in problems_of(parse_config, content):
            assert "\n" not in str(problem)
            assert problem.line is None or 1 <= problem.line <= content.count(b"\n") + 1


@CALM
@given(
    head=st.fixed_dictionaries(
        {"files": LISTS},
        optional={
            "checks": LISTS,
            "acceptance": LISTS,
            "turns_green": LISTS,
            "allow": LISTS,
            "depends": st.lists(st.integers(8, 999), min_size=1, max_size=3, unique=True),
            "issue": st.integers(1, 10**9 - 1),
            "model": NAMES,
            "caps": st.dictionaries(st.sampled_from(["check", "gate", "main_moved"]), st.integers(0, 99)),
        },
    ),
    microusd=st.integers(1, 10**12),
    body=st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])),
)
def test_a_rendered_task_parses_back(head: dict[str, object], microusd: int, body: str) -> None:
    usd = f"{Decimal(microusd) / 1_000_000:f}"
    front = yaml.safe_dump(head, sort_keys=False)
    text = f"---\nstatus: ready\n{front}budget_usd: {usd}\n---\n# Title\n{body}"
    task = parse_task(text.encode(), PATH)

    assert task.budget_microusd == microusd
    assert (task.title, task.body, task.text) == ("Title", f"# Title\n{body}", text)
    for key, value in head.items():
        assert getattr(task, key) == (tuple(value) if isinstance(value, list) else value)


@CALM
@given(st.text(alphabet='`~\n \rabdiefrtvc{}[]":,', max_size=80))
def test_any_text_is_a_verdict_or_one_fault_and_never_an_approval_without_the_token(text: str) -> None:
    for content in (text, f"```verdict t\n{text}\n```\n"):
        found = read_verdict(content, token="0123456789abcdef", must_cover=())
        assert isinstance(found, VerdictFault)
        assert not isinstance(found, Verdict)


@CALM
@given(st.text(alphabet="`\n ab", min_size=1))
def test_no_line_inside_a_fence_closes_it(text: str) -> None:
    first, *inside, last = fenced(text).split("\n")

    assert first == last
    assert all(first not in line for line in inside)
