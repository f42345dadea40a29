from instrument.schema.job import CommandEnd
from instrument.schema.state import AgentChoice, CheckFailure
from loop.machine.effects import Implement, Review
from loop.shell.context import Context
from loop.shell.papers import papers_of, task_difference
from loop.shell.telling import TAIL_BYTES, must_cover, tell_coder, tell_reviewer
from support.ends import command
from support.fake_jobs import WORKED_ON
from support.lives import CLAUDE, new_state
from support.repos import TASK, TASK_TEXT, TOML, Desk, edited

AGENT: AgentChoice = CLAUDE


def task_state(context: Context, commit: str, **changes):
    blob = context.store.blob_id(commit, TASK)
    return new_state(task_path=TASK, task_blob=blob, base=commit, **changes)


def failure(output: str) -> CheckFailure:
    end: CommandEnd = command("unit", 2, output=output)
    return CheckFailure(gate=False, folder="jobs/0003-check-1", command=end)


def coding(commit: str) -> Implement:
    return Implement(
        key="k", round=2, start=commit, image="i", agent=AGENT, deadline_ms=1, budget_microusd=None
    )


def reviewing(base: str, commit: str) -> Review:
    return Review(
        key="k",
        round=1,
        start=commit,
        image="i",
        agent=AGENT,
        deadline_ms=1,
        budget_microusd=None,
        base=base,
        token="0" * 16,
    )


def test_a_coder_sees_the_end_of_a_failed_checks_output_or_that_it_is_gone(context: Context, base: str):
    out = context.folder / "jobs/0003-check-1/out"
    out.mkdir(parents=True)
    (out / "unit.txt").write_bytes(b"FIRST\n" + b"x\xff" * TAIL_BYTES + b"\nLAST\n")
    state = task_state(context, base, failures=(failure("out/unit.txt"), failure("out/gone.txt")))
    prompt = tell_coder(context, state, coding(base), papers_of(context, state, base)).decode()
    assert "LAST" in prompt
    assert "FIRST" not in prompt
    assert "[cut by the program: " in prompt
    assert "(the output is not there)" in prompt
    assert "factory.toml" in prompt.partition("Never these")[2]


def test_a_reviewer_must_cover_every_changed_path_but_the_generated_ones(context: Context, desk: Desk):
    toml = TOML + '[paths]\ngenerated = ["gen/"]\n'
    base = desk.commit({"factory.toml": toml})
    files = {WORKED_ON: "good\n", "gen/x.py": "GENERATED\n", "src/b.py": "new\n"}
    changed = desk.commit(files)
    context.store.fetch_tips("main", "origin")
    state = task_state(context, base)
    papers = papers_of(context, state, base)
    effect = reviewing(base, changed)
    assert must_cover(context, effect, papers) == (WORKED_ON, "src/b.py")
    prompt = tell_reviewer(context, state, effect, papers).decode()
    assert '"gen/x.py" 10 bytes' in prompt
    assert "GENERATED" not in prompt
    assert "+good" in prompt


def test_case_25_a_diff_that_is_too_large_is_named_path_by_path(context: Context, desk: Desk):
    base = desk.person.head()
    files = {f"src/{n:02d}.txt": f"{n}\n" * 10_000 for n in range(40)}
    changed = desk.commit(files)
    context.store.fetch_tips("main", "origin")
    state = task_state(context, base)
    effect = reviewing(base, changed)
    papers = papers_of(context, state, base)
    prompt = tell_reviewer(context, state, effect, papers).decode()
    left_out = prompt.partition("# Changed paths whose difference is not shown")[2]
    left_out = left_out.partition("# The change")[0]
    shown = prompt.count("diff --git ")
    assert 0 < shown < 40
    assert left_out.count('"src/') == 40 - shown
    assert set(must_cover(context, effect, papers)) == set(files)


def test_an_edit_is_shown_as_a_difference(context: Context, desk: Desk):
    old = desk.person.head()
    new = desk.commit({TASK: edited(TASK_TEXT, "Wait for it.", "Wait.")})
    context.store.fetch_tips("main", "origin")
    state = task_state(context, new)
    assert task_difference(context, state) == ""
    state = state.model_copy(update={"previous_task_blob": context.store.blob_id(old, TASK)})
    assert "-Wait for it.\n+Wait.\n" in task_difference(context, state)
