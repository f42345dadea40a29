import pytest

from instrument.schema.vocabulary import Escalation, RuntimeName
from loop.problems import Problems
from loop.taskfile import Task, parse_task, task_number

PATH = "tasks/007-retry.md"
WHOLE = """---
status: ready
depends: [003, 5]
issue: 12
files: [src/retry/**, "!src/retry/gen/**"]
checks: [unit]
acceptance: [full]
turns_green: [unit]
allow: [CLAUDE.md]
allow_weaker_tests: true
budget_min: 40
budget_usd: 1.50
runtime: command
model: claude-sonnet-4-5
caps: {review: 6, interruptions: 0}
risk: high
escalate_if: [risk_high, cross_repo]
---

```sh
# no title
```
# Retry on *429* #

Text.
"""


def parse(text: str, path: str = PATH) -> Task:
    return parse_task(text.encode(), path)


def faults(head: str, body: str = "# T\n", path: str = PATH) -> list[str]:
    with pytest.raises(Problems) as caught:
        parse(f"---\nstatus: ready\nfiles: [a]\n{head}---\n{body}", path)
    return [str(problem) for problem in caught.value.problems]


def test_every_key_reaches_the_task() -> None:
    task = parse(WHOLE)

    assert task == Task(
        path=PATH,
        number=7,
        status="ready",
        title="Retry on *429*",
        body=WHOLE.split("---\n", 2)[2],
        text=WHOLE,
        files=("src/retry/**", "!src/retry/gen/**"),
        depends=(3, 5),
        issue=12,
        checks=("unit",),
        acceptance=("full",),
        turns_green=("unit",),
        allow=("CLAUDE.md",),
        allow_weaker_tests=True,
        budget_ms=2_400_000,
        budget_microusd=1_500_000,
        runtime=RuntimeName.COMMAND,
        model="claude-sonnet-4-5",
        caps={"review": 6, "interruptions": 0},
        risk="high",
        escalate_if=(Escalation.RISK_HIGH, Escalation.CROSS_REPO),
    )
    assert task.label == "007"
    assert task.lines["budget_usd"] == 12


def test_what_is_not_given_is_empty() -> None:
    task = parse("---\nstatus: done\nfiles: [a]\n---\n# T")

    assert (task.status, task.depends, task.issue, task.checks) == ("done", (), None, ())
    assert not task.allow_weaker_tests
    assert (task.risk, task.escalate_if) == ("low", ())
    assert (task.budget_ms, task.budget_microusd, task.runtime, task.model, task.caps) == (None,) * 4 + ({},)


@pytest.mark.parametrize(("written", "allowed"), [("true", True), ('"true"', True), ("false", False)])
def test_a_flag_is_true_or_false(written: str, allowed: bool) -> None:  # noqa: FBT001 - pytest gives it
    task = parse(f"---\nstatus: ready\nfiles: [a]\nallow_weaker_tests: {written}\n---\n# T")

    assert task.allow_weaker_tests is allowed


@pytest.mark.parametrize(
    ("written", "microusd"),
    [
        ("0.000001", 1),
        ("1.5000000", 1_500_000),
        ("0.1", 100_000),
        ("007", 7_000_000),
        ("12.345678", 12_345_678),
    ],
)
def test_money_is_exact(written: str, microusd: int) -> None:
    assert (
        parse(f"---\nstatus: ready\nfiles: [a]\nbudget_usd: {written}\n---\n# T").budget_microusd == microusd
    )


def test_all_faults_come_at_once_in_order() -> None:
    with pytest.raises(Problems) as caught:
        parse("---\nstatus: x\nfile: [a]\nrisk: some\n---\nno title\n", "tasks/7-x.md")

    assert [(p.line, p.text.split(";")[0].split(" ")[0]) for p in caught.value.problems] == [
        (None, "the"),
        (None, "there"),
        (1, "files"),
        (2, "status"),
        (3, "unknown"),
        (4, "risk"),
    ]


@pytest.mark.parametrize(
    "name", ["7-x.md", "007.md", "007-x.txt", "007-.md", "x-007.md", "\u0660\u0660\u0667-x.md", "007-x.md\n"]
)
def test_a_file_name_without_a_number_is_a_problem(name: str) -> None:
    assert task_number(f"tasks/{name}") is None
    assert faults("", path=f"tasks/{name}") == [
        f'tasks/{name}: the name must be a number of three digits or more and a word, such as "007-retry.md"'
    ]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("fiels: [a]\n", '4: unknown key "fiels"; did you mean "files"?'),
        ("risk: medium\n", "4: risk must be low or high"),
        ("escalate_if: []\n", "4: escalate_if is an empty list; fill it or take it out"),
        ("escalate_if: [risk-high]\n", '4: escalate_if: unknown word "risk-high"; did you mean "risk_high"?'),
        (
            "issue: #12\n",
            "4: issue is empty; give a value (after a space, # begins a comment) or take it out",
        ),
        ("issue: abc\n", '4: issue must be a whole number from 1 up, not "abc"'),
        ("issue: 0\n", '4: issue must be a whole number from 1 up, not "0"'),
        ("issue: [1]\n", "4: issue must be a single value, not a list or a table"),
        ("depends: 007\n", "4: depends must be a list, such as [one, two]"),
        ("depends: [x]\n", '4: depends must hold task numbers such as 007, not "x"'),
        ("depends: [007]\n", "4: a task cannot depend on itself; take its own number out"),
        ("checks: []\n", "4: checks is an empty list; fill it or take it out"),
        ("checks: [[a]]\n", "4: checks must hold single values; quote one with special characters"),
        ("checks: [a, a]\n", '4: checks names "a" twice'),
        ("checks:\n- a\n- A b\n", '6: checks: "A b" is no name of a check in factory.toml'),
        ("allow: [/]\n", '4: allow: "/" is no pattern; write ** for every path'),
        ("allow_weaker_tests: yes\n", '4: allow_weaker_tests must be true or false, not "yes"'),
        ("allow_weaker_tests: True\n", '4: allow_weaker_tests must be true or false, not "True"'),
        (
            "allow_weaker_tests: [true]\n",
            "4: allow_weaker_tests must be a single value, not a list or a table",
        ),
        (
            'allow: ["!a"]\n',
            "4: allow matches nothing; a pattern with ! only takes back what another one gave",
        ),
        (
            "budget_usd: 0.0000001\n",
            '4: budget_usd "0.0000001" is finer than a micro-dollar; write fewer decimals',
        ),
        ("budget_usd: 0\n", "4: budget_usd must be above zero; take it out for no limit"),
        ("budget_usd: -1\n", '4: budget_usd must be a plain number such as 1.50, not "-1"'),
        ("budget_usd: 1e3\n", '4: budget_usd must be a plain number such as 1.50, not "1e3"'),
        ("budget_usd: 1_0\n", '4: budget_usd must be a plain number such as 1.50, not "1_0"'),
        (
            "budget_min: 0.00001\n",
            '4: budget_min "0.00001" is finer than a millisecond; write fewer decimals',
        ),
        ("runtime: cluade\n", '4: unknown runtime "cluade"; did you mean "claude"?'),
        ("model: two words\n", '4: model "two words" is no model id; write it as the provider does'),
        ("caps: 6\n", "4: caps must be a table, such as {review: 6}"),
        ("caps:\n  chek: 2\n", '5: unknown key "chek"; did you mean "check"?'),
        ("caps: {review: 0}\n", '4: review must be a whole number from 1 up, not "0"'),
        ("caps: {gate: -1}\n", '4: gate must be a whole number from 0 up, not "-1"'),
    ],
)
def test_each_fault_of_a_key_is_one_sentence(head: str, said: str) -> None:
    assert faults(head) == [f"{PATH}:{said}"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("files: [a]\n", "1: status is missing; write a line status: ready"),
        ("files: [a]\nstatus: Ready\n", "3: status must be ready or done"),
        (
            'files: [a]\nstatus: "ready"\n',
            "3: status must stand on a line of its own, plainly: status: ready",
        ),
        (
            "status: ready\n",
            "1: files is missing; list what the task may touch, such as files: [src/retry/**]",
        ),
        ("status: ready\nfiles: []\n", "3: files is an empty list; fill it or take it out"),
    ],
)
def test_what_is_required_says_so(text: str, said: str) -> None:
    with pytest.raises(Problems) as caught:
        parse(f"---\n{text}---\n# T\n")

    assert str(caught.value) == f"{PATH}:{said}"


def test_a_flow_mapping_hides_the_status_line() -> None:
    with pytest.raises(Problems, match="on a line of its own"):
        parse("---\n{status: ready, files: [a]}\n---\n# T\n")


@pytest.mark.parametrize(
    "body", ["", "text\n", "#no space\n", "## H2\n", "```\n# code\n```\n", "# \n", "~~~\n# c\n"]
)
def test_a_body_without_a_title_is_a_problem(body: str) -> None:
    assert faults("", body) == [f"{PATH}: there is no title; write one line that begins with # and a space"]


def test_a_title_that_no_commit_could_carry_names_its_line() -> None:
    assert faults("", "\n# " + "x" * 201) == [
        f"{PATH}:6: the title must be printable and at most 200 characters long"
    ]
    assert faults("", "# a\x1b[2J") == [
        f"{PATH}:5: the title must be printable and at most 200 characters long"
    ]
