from dataclasses import replace

from instrument.schema.state import AgentChoice, Attempt, TaskState
from instrument.schema.vocabulary import EffectKind, ProviderName, Role, RuntimeName
from jobs.order import Command, FallbackOrder
from loop.home import mark_of
from loop.machine.effects import Baseline, Check, Gate, Implement, Review, SetUp
from loop.shell.context import Context, Provider
from loop.shell.orders import UNLIMITED_MICROUSD, agent_order, commands_order, setup_order
from loop.shell.papers import papers_of
from support.lives import CLAUDE, new_state
from support.repos import JOB_SECRET, TASK, TOML, Desk, edited, mode_of

KEY = "demo-007-x-1-00000000"
LINE = AgentChoice(runtime=RuntimeName.COMMAND)


def begun(context: Context, commit: str) -> TaskState:
    folder = "jobs/0001-x-1"
    attempt = Attempt(key=KEY, kind=EffectKind.IMPLEMENT, folder=folder)
    blob = context.store.blob_id(commit, TASK)
    return new_state(task_id="demo-007", task_path=TASK, task_blob=blob, attempt=attempt)


def working(kind, commit: str, **changes):
    common = {"key": KEY, "round": 2, "image": "sha256:1", "deadline_ms": 90_000, "start": commit}
    common |= {"agent": CLAUDE, "budget_microusd": 700} | changes
    return kind(**common, **({"base": commit, "token": "0" * 16} if kind is Review else {}))


def test_an_agents_order_says_who_works_on_what_with_which_money(context: Context, base: str):
    state = begun(context, base)
    papers = papers_of(context, state, base)
    order = agent_order(context, state, working(Implement, base), papers, b"do it")
    assert (order.role, order.commit, order.image) == (Role.CODER, base, "sha256:1")
    assert order.limits.deadline_s == 90
    assert order.folder == context.folder / "jobs/0001-x-1"
    assert mode_of(order.folder.parent) == 0o700
    assert mode_of(order.pack) == 0o600
    assert order.env == {"JOB_SECRET": JOB_SECRET}
    assert order.agent is not None
    assert (order.agent.prompt, order.agent.review_path, order.agent.line) == (b"do it", None, None)
    assert order.proxy is not None
    assert (order.proxy.budget_microusd, order.proxy.secret) == (700, "s3cret")
    assert "s3cret" not in repr(order)
    review = agent_order(context, state, working(Review, base, budget_microusd=None), papers, b"")
    assert review.role is Role.REVIEWER
    assert review.agent is not None
    assert review.agent.review_path == ".agents/reviews/007-round2.md"
    assert review.proxy is not None
    assert review.proxy.budget_microusd == UNLIMITED_MICROUSD


def test_every_container_says_whose_slots_it_takes(context: Context, base: str):
    state = begun(context, base)
    papers = papers_of(context, state, base)
    plain = agent_order(context, state, working(Implement, base), papers, b"").identity
    assert (plain.home, plain.host) == (mark_of(context.home), "")
    named = replace(context, environment={**context.environment, "FACTORY_HOST": "big"})
    gate = commands_order(named, state, Gate(key=KEY, round=1, commit=base, image="", deadline_ms=1), papers)
    made = setup_order(named, state, SetUp(key=KEY, base=base), papers)
    for identity in (gate.identity, made.identity):
        assert identity == replace(plain, host="big")


def test_a_program_that_speaks_several_protocols_goes_by_its_model(context: Context, base: str):
    state = begun(context, base)
    papers = papers_of(context, state, base)
    models = {"gpt-5.5": ProviderName.OPENAI, "claude-sonnet-4-5": ProviderName.ANTHROPIC}
    for model, provider in models.items():
        choice = AgentChoice(runtime=RuntimeName.OPENCODE, model=model)
        order = agent_order(context, state, working(Implement, base, agent=choice), papers, b"")
        assert order.agent is not None
        assert order.proxy is not None
        assert (order.agent.provider, order.proxy.protocol) == (provider, provider)


def test_an_agents_order_names_every_fallback_with_its_key(context: Context, base: str):
    second = Provider(ProviderName.ANTHROPIC, "https://b.example.org", "bearer", "s3cond", "B_KEY")
    first = replace(context.providers[ProviderName.ANTHROPIC], fallbacks=(second,))
    context = replace(context, providers={ProviderName.ANTHROPIC: first})
    state = begun(context, base)
    order = agent_order(context, state, working(Implement, base), papers_of(context, state, base), b"do it")
    assert order.proxy is not None
    assert order.proxy.fallbacks == (FallbackOrder("https://b.example.org", "s3cond", "bearer"),)
    assert "s3cond" not in repr(order)


def test_a_shell_line_works_without_a_way_out(context: Context, desk: Desk):
    lines = '[agent]\nruntime = "command"\n[agent.command]\ncoder = "make fix"\nreviewer = "make review"\n'
    base = desk.commit({"factory.toml": edited(TOML, '[agent]\nmodel = "claude-sonnet-4-5"\n', lines)})
    context.store.fetch_tips("main", "origin")
    state = begun(context, base)
    papers = papers_of(context, state, base)
    for kind, line in ((Implement, "make fix"), (Review, "make review")):
        order = agent_order(context, state, working(kind, base, agent=LINE), papers, b"")
        assert order.agent is not None
        assert order.agent.line == line
        assert order.proxy is None


def test_each_commands_job_runs_its_own_list(context: Context, base: str):
    state = begun(context, base)
    papers = papers_of(context, state, base)
    fields = {"key": KEY, "round": 1, "commit": base, "image": "sha256:1", "deadline_ms": 1000}
    names = {}
    for kind in (Baseline, Check, Gate):
        order = commands_order(context, state, kind(**fields), papers)
        names[kind] = [command.name for command in order.commands]
        assert order.role is (Role.GATE if kind is Gate else Role.CHECK)
        assert (order.agent, order.proxy) == (None, None)
    assert names == {Baseline: ["unit", "full"], Check: ["unit"], Gate: ["full"]}
    assert isinstance(order.commands[0], Command)
