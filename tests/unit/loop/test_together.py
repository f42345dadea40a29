from collections.abc import Iterable

import pytest

from instrument.schema.state import AgentChoice, Caps
from instrument.schema.vocabulary import Escalation, LadderStep, Role, RuntimeName, StopReason
from jobs.order import Command
from loop.config import Config, parse_config
from loop.problems import Problems
from loop.taskfile import Task, parse_task
from loop.together import (
    agent_for,
    baseline_checks,
    check_together,
    fast_checks,
    gate_checks,
    helper_for,
    terms_for,
)

TABLES = "".join(f'[checks.{name}]\nrun = "make {name}"\n' for name in ("unit", "full", "lint"))
MODEL = '[agent]\nmodel = "m"\n'


def config(text: str = TABLES + MODEL) -> Config:
    return parse_config(f'[repo]\nname = "pkg"\n{text}'.encode())


def task(head: str = "") -> Task:
    return parse_task(f"---\nstatus: ready\nfiles: [a]\n{head}---\n# T\n".encode(), "tasks/007-x.md")


def names(commands: Iterable[Command]) -> list[str]:
    return [command.name for command in commands]


def faults(
    a_task: Task, a_config: Config, *, runtime: RuntimeName | None = None, model: str | None = None
) -> list[str]:
    with pytest.raises(Problems) as caught:
        check_together(a_task, a_config, runtime=runtime, model=model)
    return [str(problem) for problem in caught.value.problems]


def test_fast_checks_are_the_tasks_else_the_repos() -> None:
    some = config('[checks]\nfast = ["unit"]\n' + TABLES + MODEL)

    assert names(fast_checks(task("checks: [lint, unit]\n"), some)) == ["lint", "unit"]
    assert names(fast_checks(task(), some)) == ["unit"]


def test_acceptance_is_added_to_the_gate_each_command_once_in_order() -> None:
    some = config('[checks]\nfast = ["lint"]\ngate = ["full", "unit"]\n' + TABLES + MODEL)

    assert names(gate_checks(task("acceptance: [unit, lint]\n"), some)) == ["full", "unit", "lint"]
    assert names(baseline_checks(task("acceptance: [unit]\n"), some)) == ["lint", "full", "unit"]


def test_without_a_gate_the_fast_checks_guard_the_merge() -> None:
    some = config('[checks]\nfast = ["lint"]\n' + TABLES + MODEL)

    assert names(gate_checks(task("checks: [unit]\nacceptance: [full]\n"), some)) == ["lint", "full"]
    assert names(gate_checks(task("checks: [unit]\n"), config())) == ["unit"]


def test_no_stage_passes_on_zero_commands_where_there_is_one() -> None:
    gate_only = config('[checks]\ngate = ["full"]\n' + TABLES + MODEL)

    assert names(fast_checks(task(), gate_only)) == ["full"]
    assert names(fast_checks(task("acceptance: [lint]\n"), config())) == ["lint"]


def test_what_fits_together_passes() -> None:
    check_together(task("checks: [unit]\nturns_green: [unit]\n"), config())
    check_together(
        task("checks: [unit]\n"),
        config(TABLES + '[agent.command]\ncoder = "c"\nreviewer = "r"\n'),
        runtime=RuntimeName.COMMAND,
    )


def test_unknown_names_are_blamed_on_the_task() -> None:
    assert faults(task("checks: [unti]\nacceptance: [x]\nturns_green: [ful]\n"), config()) == [
        'tasks/007-x.md:4: checks: factory.toml has no check "unti"; did you mean "unit"?',
        'tasks/007-x.md:5: acceptance: factory.toml has no check "x"; known: full, lint, unit',
        'tasks/007-x.md:6: turns_green: factory.toml has no check "ful"; did you mean "full"?',
    ]


def test_no_check_command_is_a_problem_in_two_sentences() -> None:
    [first] = faults(task(), config(MODEL))
    assert first.startswith("factory.toml: there is no check command; add a table [checks.unit] with run")
    assert faults(task(), config()) == [
        "factory.toml:3: no check is run; name some in [checks] fast or gate, or in the task's checks"
    ]


def test_a_check_that_should_turn_green_must_run() -> None:
    assert faults(task("checks: [unit]\nturns_green: [full]\n"), config()) == [
        'tasks/007-x.md:5: turns_green: "full" is not run for this task; add it to checks or acceptance'
    ]


def test_the_command_runtime_needs_its_lines() -> None:
    some = config('[agent]\nruntime = "command"\n[agent.command]\ncoder = "x"\n' + TABLES)

    assert faults(task("checks: [unit]\n"), some) == [
        'factory.toml:5: runtime command needs a shell line; write [agent.command] reviewer = "…"'
    ]


def test_a_real_agent_needs_a_model_from_somewhere() -> None:
    some = config(TABLES)

    assert faults(task("checks: [unit]\n"), some) == [
        "factory.toml: runtime claude needs a model; set model in [agent], in the task, or with --model"
    ]
    check_together(task("checks: [unit]\n"), some, model="m")
    check_together(task("checks: [unit]\nmodel: m\n"), some)


def test_the_command_line_comes_before_the_task_before_the_file() -> None:
    some = config(TABLES + MODEL)

    assert agent_for(Role.CODER, task(), some).model == "m"
    assert agent_for(Role.CODER, task("model: t\n"), some).model == "t"
    assert agent_for(Role.CODER, task("model: t\n"), some, model="c").model == "c"
    assert agent_for(Role.CODER, task("runtime: command\n"), some).runtime is RuntimeName.COMMAND


def test_a_reviewer_follows_the_coder_in_what_it_does_not_set() -> None:
    own = config(TABLES + MODEL + '[reviewer]\nmodel = "r"\n')

    assert agent_for(Role.REVIEWER, task("runtime: command\nmodel: t\n"), own) == AgentChoice(
        runtime=RuntimeName.COMMAND, model="r"
    )
    assert agent_for(Role.REVIEWER, task("model: t\n"), config()).model == "t"


def test_a_shell_line_takes_no_model_that_was_named_beside_another_program() -> None:
    some = config(TABLES + MODEL + '[reviewer]\nmodel = "r"\n')
    line, claude = RuntimeName.COMMAND, RuntimeName.CLAUDE

    for role in (Role.CODER, Role.REVIEWER):
        assert agent_for(role, task("model: t\n"), some, runtime=line) == AgentChoice(runtime=line)
        asked = agent_for(role, task("runtime: command\nmodel: t\n"), config(), model=None)
        assert asked == AgentChoice(runtime=line, model="t")
    assert agent_for(Role.CODER, task(), some, runtime=line, model="c").model == "c"

    mixed = config(TABLES + MODEL + '[reviewer]\nruntime = "claude"\n')
    reviewer = agent_for(Role.REVIEWER, task(), mixed, runtime=line)
    assert reviewer == AgentChoice(runtime=claude, model="m")


def test_terms_join_both_files() -> None:
    some = config(TABLES + MODEL + "[caps]\ncheck = 7\nreview = 8\n[limits]\njob_min = 2\n")
    terms = terms_for(task("caps: {review: 9}\nbudget_min: 8\nbudget_usd: 0.5\nturns_green: [unit]\n"), some)

    assert terms.caps == Caps(check=7, review=9)
    assert (terms.job_ms, terms.budget_ms, terms.reserve_ms) == (120_000, 480_000, 120_000)
    assert (terms.budget_microusd, terms.turns_green) == (500_000, ("unit",))
    assert terms_for(task("budget_min: 600\n"), some).reserve_ms == 600_000
    assert terms_for(task(), some).reserve_ms == 0


LADDER = '[ladder]\nsmall = "s"\nstrong = "l"\n'


def test_without_a_ladder_the_terms_have_none() -> None:
    assert terms_for(task(), config()).ladder is None
    assert helper_for(LadderStep.SMALL, task(), config()) is None


def test_the_ladder_of_the_terms_joins_both_files() -> None:
    some = config(TABLES + MODEL + LADDER + "[ladder.caps]\nmachine = 5\n[ladder.reasons]\nblocked = []\n")
    ladder = terms_for(task("risk: high\nescalate_if: [risk_high]\n"), some).ladder

    assert ladder is not None
    claude = RuntimeName.CLAUDE
    assert (ladder.small, ladder.strong) == (
        AgentChoice(runtime=claude, model="s"),
        AgentChoice(runtime=claude, model="l"),
    )
    assert ladder.caps == {LadderStep.MACHINE: 5, LadderStep.SMALL: 1, LadderStep.STRONG: 1}
    assert ladder.reasons == {StopReason.BLOCKED: ()}
    assert (ladder.escalate_if, ladder.risk_high) == ((Escalation.RISK_HIGH,), True)


def test_the_ladder_follows_the_coders_program_and_never_the_tasks_model() -> None:
    some = config(TABLES + MODEL + LADDER)
    line = RuntimeName.COMMAND

    assert helper_for(LadderStep.SMALL, task("model: t\n"), some) == AgentChoice(
        runtime=RuntimeName.CLAUDE, model="s"
    )
    assert helper_for(LadderStep.STRONG, task(), some, runtime=line) == AgentChoice(runtime=line)
    own = config(TABLES + MODEL + LADDER + 'runtime = "claude"\n')
    assert helper_for(LadderStep.STRONG, task(), own, runtime=line) == AgentChoice(
        runtime=RuntimeName.CLAUDE, model="l"
    )


def test_a_step_that_nobody_takes_is_a_problem() -> None:
    head = "checks: [unit]\n"
    assert faults(task(head), config(TABLES + MODEL + '[ladder]\nsmall = "s"\n')) == [
        'factory.toml:11: [ladder] step strong needs a model; write strong = "…", or leave it out of steps'
    ]
    some = config(TABLES + MODEL + '[agent.command]\ncoder = "c"\nreviewer = "r"\n' + LADDER)
    assert faults(task(head), some, runtime=RuntimeName.COMMAND) == [
        'factory.toml:11: runtime command needs a shell line; write [agent.command] resolver = "…"'
    ]
    check_together(task(head), config(TABLES + MODEL + '[ladder]\nsteps = ["machine"]\n'))


def test_words_of_a_task_that_would_have_no_effect_are_problems() -> None:
    head = "checks: [unit]\n"
    assert faults(task(head + "escalate_if: [cross_repo]\n"), config()) == [
        "tasks/007-x.md:5: escalate_if has no effect: factory.toml has no [ladder]; take it out"
    ]
    assert faults(
        task(head + "risk: high\nescalate_if: [cross_repo]\n"), config(TABLES + MODEL + LADDER)
    ) == ["tasks/007-x.md:5: risk has no effect without escalate_if: [risk_high]; add that, or take risk out"]
    check_together(task(head + "risk: low\nescalate_if: [risk_high]\n"), config(TABLES + MODEL + LADDER))
