import pytest

from instrument.schema.state import Caps
from instrument.schema.vocabulary import LadderStep, RuntimeName, StopReason
from jobs.order import MIB, Command, Limits
from loop.config import PROTECTED, SETUP_TIMEOUT_S, Config, parse_config
from loop.problems import Problems

REPO = '[repo]\nname = "pkg"\n'
WHOLE = """
[repo]
name = "my-pkg"
branch = "trunk"
remote = "upstream"
[image]
base = "debian:13"
[setup]
cached = ["pip install -r r.txt", "make deps"]
inputs = ["r.txt"]
always = ["make gen"]
[checks.unit]
run = "make unit"
timeout_s = 60
env = { CI = "1" }
[checks.full]
run = '''
make full
'''
[checks]
fast = ["unit"]
gate = ["full", "unit"]
[paths]
protected = ["secrets/**"]
generated = ["*.lock"]
tests = ["spec/**"]
[agent]
runtime = "claude"
model = "claude-sonnet-4-5"
context_limit_tokens = 50000
[agent.command]
coder = "sh code.sh"
reviewer = "sh review.sh"
resolver = "sh resolve.sh"
[ladder]
steps = ["machine", "strong"]
runtime = "command"
strong = "claude-opus-4-1"
[ladder.caps]
machine = 3
[ladder.reasons]
blocked = []
bad_job_output = ["strong"]
[reviewer]
runtime = "command"
model = "claude-opus-4-1"
[limits]
memory = "512m"
cpus = 1
pids = 100
disk = "2g"
job_min = 0.5
first_call_s = 7
patch_mb = 1.5
patch_files = 10
same_command = 0
[caps]
check = 1
review = 2
gate = 0
main_moved = 4
interruptions = 5
[job]
env = ["CI"]
container_runtime = "sysbox-runc"
docker = true
[merge]
push = true
auto = true
author = "A Bot <bot@example.org>"
[egress]
allow = ["packages.example.org", "*.example.net:8443"]
agents = true
[prompts]
coder = "prompts/coder.md.j2"
[provider.anthropic]
base_url = "http://gateway.internal:4000/anthropic"
auth = "bearer"
[[provider.anthropic.fallback]]
[[provider.anthropic.fallback]]
base_url = "http://127.0.0.1:8080"
key_env = "LOCAL_KEY"
"""


def parse(text: str) -> Config:
    return parse_config(text.encode())


def faults(text: str | bytes) -> list[str]:
    with pytest.raises(Problems) as caught:
        parse_config(text.encode() if isinstance(text, str) else text)
    return [str(problem) for problem in caught.value.problems]


def test_every_key_reaches_the_configuration() -> None:
    config = parse(WHOLE)

    assert (config.repo.name, config.repo.branch, config.repo.remote) == ("my-pkg", "trunk", "upstream")
    assert (config.image.base, config.image.dockerfile) == ("debian:13", None)
    assert [c.run for c in config.cached] == ["pip install -r r.txt", "make deps"]
    assert config.inputs == ("r.txt",)
    assert config.always == (Command("always.1", "make gen", SETUP_TIMEOUT_S),)
    assert config.checks == {
        "unit": Command("unit", "make unit", 60, {"CI": "1"}),
        "full": Command("full", "make full\n"),
    }
    assert (config.fast, config.gate) == (("unit",), ("full", "unit"))
    assert config.protected == (*PROTECTED, "secrets/**", "/prompts/coder.md.j2")
    assert config.generated == ("*.lock",)
    assert config.tests == ("spec/**",)
    assert (config.agent.runtime, config.agent.model) == (RuntimeName.CLAUDE, "claude-sonnet-4-5")
    assert config.agent.context_limit_tokens == 50_000
    assert (config.agent.command.coder, config.agent.command.reviewer) == ("sh code.sh", "sh review.sh")
    assert config.agent.command.resolver == "sh resolve.sh"
    ladder = config.ladder
    assert ladder is not None
    assert (ladder.steps, ladder.runtime) == ((LadderStep.MACHINE, LadderStep.STRONG), RuntimeName.COMMAND)
    assert (ladder.small, ladder.strong) == (None, "claude-opus-4-1")
    assert (ladder.caps.machine, ladder.caps.strong) == (3, 1)
    assert ladder.reasons == {StopReason.BLOCKED: (), StopReason.BAD_JOB_OUTPUT: (LadderStep.STRONG,)}
    assert (config.reviewer.runtime, config.reviewer.model) == (RuntimeName.COMMAND, "claude-opus-4-1")
    numbers = (512 * MIB, 1.0, 100, 2048 * MIB, 30.0, 7.0, 3 * MIB // 2, 10, 0)
    assert config.limits == Limits(*numbers, container_runtime="sysbox-runc", has_docker=True)
    assert config.caps == Caps(check=1, review=2, gate=0, main_moved=4, interruptions=5)
    assert config.job_env == ("CI",)
    assert (config.merge.push, config.merge.auto) == (True, True)
    assert config.merge.author == "A Bot <bot@example.org>"
    assert (config.prompts.coder, config.prompts.reviewer) == ("prompts/coder.md.j2", None)
    assert config.provider.anthropic.base_url == "http://gateway.internal:4000/anthropic"
    assert config.provider.anthropic.key_variable == "ANTHROPIC_AUTH_TOKEN"
    first, second = config.provider.anthropic.fallback
    assert (first.base_url, first.auth) == ("https://api.anthropic.com", "api_key")
    assert (second.base_url, second.key_variable) == ("http://127.0.0.1:8080", "LOCAL_KEY")
    assert config.provider.openai.fallback == ()
    assert config.egress is not None
    assert (config.egress.allow[1], config.egress.agents) == ("*.example.net:8443", True)
    assert config.provider.openai.base_url == "https://api.openai.com"
    assert config.provider.openai.key_variable == "OPENAI_API_KEY"


def test_defaults_are_those_of_the_contract() -> None:
    config = parse(REPO)

    assert config.caps == Caps(check=3, review=4, gate=2, main_moved=3, interruptions=3)
    assert config.limits == Limits()
    assert (config.limits.deadline_s, config.limits.first_call_s) == (1800, 120)
    assert config.limits.same_command == 10
    assert (config.merge.push, config.merge.auto, config.repo.branch) == (False, False, None)
    assert (config.agent.runtime, config.agent.model) == (RuntimeName.CLAUDE, None)
    assert config.provider.anthropic.key_variable == "ANTHROPIC_API_KEY"
    assert config.protected == PROTECTED
    assert config.tests == ()
    assert config.ladder is None


def test_a_ladder_that_says_nothing_has_all_steps_and_small_caps() -> None:
    ladder = parse(REPO + '[ladder]\nsmall = "a"\nstrong = "b"\n').ladder

    assert ladder is not None
    assert ladder.steps == tuple(LadderStep)
    assert (ladder.caps.machine, ladder.caps.small, ladder.caps.strong) == (2, 1, 1)
    assert ladder.reasons == {}


def test_set_up_without_inputs_runs_always_and_first() -> None:
    config = parse(REPO + '[setup]\ncached = ["a"]\nalways = ["b"]\n')

    assert config.cached == ()
    assert [command.run for command in config.always] == ["a", "b"]


def test_all_faults_come_at_once_each_with_its_line() -> None:
    tables = (
        "agent, caps, checks, egress, image, job, ladder, limits, merge, paths, prompts, provider, repo, "
    )
    tables += "reviewer, setup"
    name = "small letters and digits, parted by single -, _ or ."
    repo, checks = 'x = 1\n[repo]\nname = "P Q"\n', '[checks]\nfast = ["unti"]\n[checks.unit]\nrum = "x"\n'

    assert faults(repo + checks + "[caps]\nreview = 0\n") == [
        f'factory.toml:1: unknown key "x"; known: {tables}',
        f"factory.toml:3: [repo] name must be {name}, such as my-package",
        'factory.toml:5: [checks] fast: unknown check "unti"; did you mean "unit"?',
        "factory.toml:6: [checks.unit] run is missing",
        'factory.toml:7: unknown key "rum" in [checks.unit]; did you mean "run"?',
        "factory.toml:9: [caps] review must be at least 1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agent]\nruntme = 1\n", '4: unknown key "runtme" in [agent]; did you mean "runtime"?'),
        ("[agent.command]\ncode = 1\n", '4: unknown key "code" in [agent.command]; did you mean "coder"?'),
        (
            '[paths]\ntests = ["./t"]\n',
            '4: [paths] tests, item 1 "./t" matches nothing; write it from the root',
        ),
        ("[limits]\nsame_command = -1\n", "4: [limits] same_command must be at least 0"),
        (
            "[egress]\nallow = ['https://x']\n",
            "4: [egress] allow, item 1 must be a host, host:port or *.domain, also with =address",
        ),
        (
            "[egress]\nallow = []\nagent = true\n",
            '5: unknown key "agent" in [egress]; did you mean "agents"?',
        ),
        (
            '[ladder]\nsteps = ["strong", "small"]\n',
            "3: [ladder] steps takes each of machine, small, strong at most once, in this order",
        ),
        (
            '[ladder]\nsteps = ["machine", "machine"]\n',
            "3: [ladder] steps takes each of machine, small, strong at most once, in this order",
        ),
        (
            '[ladder]\nsteps = ["person"]\n',
            "4: [ladder] steps, item 1 must be one of machine, small or strong",
        ),
        (
            '[ladder]\nsteps = ["machine"]\nsmall = "m"\n',
            "3: [ladder] has a model for small, which is not among the steps; take it out",
        ),
        ("[ladder]\nsteps = []\n", "3: [ladder] has no steps; name some, or take the table out"),
        ("[ladder.caps]\nmachine = 0\n", "4: [ladder.caps] machine must be at least 1"),
        ("[ladder.caps]\nstron = 1\n", '4: unknown key "stron" in [ladder.caps]; did you mean "strong"?'),
        (
            '[ladder]\nsteps = ["machine"]\n[ladder.reasons]\nblocked = ["small"]\n',
            "3: [ladder] reasons.blocked names small, which is not among the steps",
        ),
        (
            '[ladder.reasons]\nblocked = ["machine"]\n',
            "3: [ladder] reasons.blocked: machine cannot help there; take it out",
        ),
        (
            '[ladder.reasons]\nsecret_found = ["strong"]\n',
            "3: [ladder] reasons.secret_found: strong cannot help there; take it out",
        ),
        ("[ladder.reasons]\nstuck = []\n", "4: [ladder.reasons] stuck must be one of ready_to_merge, "),
        ("[merge]\npush = 1\n", "4: [merge] push must be true or false"),
        ('[limits]\npids = "many"\n', "4: [limits] pids must be a whole number"),
        ("[limits]\npids = 99.5\n", "4: [limits] pids must be a whole number"),
        ("[limits]\ncpus = true\n", "4: [limits] cpus must be a number"),
        ("[limits]\ncpus = inf\n", "4: [limits] cpus must be a finite number"),
        ("[limits]\ncpus = 0\n", "4: [limits] cpus must be above 0"),
        ("[limits]\njob_min = 2000\n", "4: [limits] job_min must be at most 1440"),
        ("[limits]\njob_min = 2020-01-01\n", "4: [limits] job_min must be a number"),
        ("[limits]\nmemory = 4\n", "4: [limits] memory must be a text in quotes"),
        (
            '[limits]\nmemory = "4GB"\n',
            '4: [limits] memory must be a size from "64m" up, such as "512m" or "4g"',
        ),
        (
            '[limits]\nmemory = "63m"\n',
            '4: [limits] memory must be a size from "64m" up, such as "512m" or "4g"',
        ),
        ("[setup]\nalways = 3\n", '4: [setup] always must be a list, such as ["one", "two"]'),
        ('[setup]\nalways = ["x", " "]\n', "4: [setup] always, item 2 must be a shell command"),
        (
            '[setup]\ninputs = ["x"]\n',
            "3: [setup] has inputs without cached commands; they have no effect, take them out",
        ),
        ('[setup]\ncached = ["x"]\ninputs = ["./x"]\n', "5: [setup] inputs, item 1 "),
        ('[image]\nbase = "x"\ndockerfile = "y"\n', "3: [image] takes base or dockerfile, not both"),
        ('[image]\ndockerfile = "../y"\n', "4: [image] dockerfile must be a path from the root"),
        ('[image]\nbase = "--privileged"\n', "4: [image] base must be an image's name"),
        ('[prompts]\ncoder = "/etc/passwd"\n', "4: [prompts] coder must be a path from the root"),
        ("caps = 3\n", '3: unknown key "caps" in [repo]'),
        ("[checks.Unit]\nrun = 'x'\n", "3: [checks] Unit is no name for a check"),
        ("[checks.'../x']\nrun = 'x'\n", "3: [checks] ../x is no name for a check"),
        ("[checks]\nunit = 'x'\n", "4: [checks] unit must be a table"),
        ("[checks.fast]\nrun = 'x'\n", '3: [checks] fast must be a list, such as ["one", "two"]'),
        ("[checks.u]\nrun = 'x'\nenv = {A = 1}\n", "5: [checks.u] env.A must be a text in quotes"),
        ("[checks.u]\nrun = 'x'\nenv = {'a b' = 'c'}\n", "5: [checks.u] env.a b must be the name of an env"),
        ('[checks.u]\nrun = "a\\u0000b"\n', "4: [checks.u] run must be a shell command"),
        (
            "[agent]\nruntime = 'aider'\n",
            "4: [agent] runtime must be one of claude, opencode, codex or command",
        ),
        ("[agent]\nmodel = 'a b'\n", "4: [agent] model must be a model id as the provider writes it"),
        ("[merge]\nauthor = 'me'\n", "4: [merge] author must look like Name <mail@example.org>"),
        ('[merge]\nauthor = "a\\nb <a@b>"\n', "4: [merge] author must look like Name <mail@example.org>"),
        (
            "[provider.anthropic]\nauth = 'none'\n",
            "4: [provider.anthropic] auth must be one of api_key or bearer",
        ),
        (
            "[provider.anthropic]\nbase_url = 'ftp://x'\n",
            "4: [provider.anthropic] base_url must be an address such as",
        ),
        (
            "[provider.anthropic]\nbase_url = 'https://u:p@x'\n",
            "4: [provider.anthropic] base_url must be an address such as",
        ),
        (
            "[provider.anthropic]\nbase_url = 'https://x:99999'\n",
            "4: [provider.anthropic] base_url must be an address such as",
        ),
        ("[job]\nenv = ['A B']\n", "4: [job] env, item 1 must be the name of an environment variable"),
        (
            "[job]\nenv = ['ANTHROPIC_API_KEY']\n",
            "4: [job] env: ANTHROPIC_API_KEY holds the provider's key, which no job may have",
        ),
        (
            "[job]\nenv = ['OPENAI_API_KEY']\n",
            "4: [job] env: OPENAI_API_KEY holds the provider's key, which no job may have",
        ),
        (
            "[job]\nenv = ['K']\n[provider.openai]\nkey_env = 'K'\n",
            "4: [job] env: K holds the provider's key, which no job may have",
        ),
        (
            "[[provider.openai.fallback]]\nkey_env = 'A'\n[[provider.openai.fallback]]\nbase_url = 'x'\n",
            "6: [provider.openai.fallback] base_url, item 2 must be an address such as",
        ),
        (
            "[[provider.openai.fallback]]\nkey_env = 'A'\n[[provider.openai.fallback]]\nauth = 'bearer'\n",
            '6: unknown key "auth" in [provider.openai.fallback]; known: base_url, key_env',
        ),
        (
            "[[provider.anthropic.fallback]]\nprices = {}\n",
            '4: unknown key "prices" in [provider.anthropic.fallback]; known: auth, base_url, key_env',
        ),
        (
            "[provider.anthropic]\nfallback = 'x'\n",
            "4: [provider.anthropic] fallback must be a list, such as",
        ),
        ("[provider.openai]\nfallback = ['x']\n", "4: [provider.openai] fallback, item 1 must be a table"),
        (
            "[[provider.anthropic.fallback]]\nkey_env = 'A'\n" * 2,
            "3: [provider] anthropic has one base_url with one key twice in its fallbacks; take one out",
        ),
        (
            "[[provider.openai.fallback]]\n",
            "3: [provider] openai has one base_url with one key twice in its fallbacks; take one out",
        ),
        (
            "[job]\nenv = ['SECOND_KEY']\n[[provider.openai.fallback]]\nkey_env = 'SECOND_KEY'\n",
            "4: [job] env: SECOND_KEY holds the provider's key, which no job may have",
        ),
        ("[paths]\nprotected = ['[Z-a]']\n", "4: [paths] protected, item 1 "),
        (
            "[job]\ncontainer_runtime = '--privileged'\n",
            "4: [job] container_runtime must be a name that `docker info` lists under Runtimes",
        ),
        (
            "[job]\ndocker = true\ncontainer_runtime = 'runsc'\n",
            "3: [job] has docker = true, but with runsc no job can run a daemon of its own; set container_r",
        ),
        (
            "[job]\ndocker = true\n",
            "3: [job] has docker = true, but with the engine's default container runtime no job can run",
        ),
    ],
)
def test_each_fault_is_one_sentence_with_its_line(text: str, said: str) -> None:
    found = faults(REPO + text)

    assert len(found) == 1
    assert found[0].startswith(f"factory.toml:{said}")


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "/a", "a/", "a//b", "@{-1}"])
def test_a_branch_that_git_could_take_for_something_else_is_refused(branch: str) -> None:
    assert faults(f'{REPO}branch = "{branch}"\n') == [
        "factory.toml:3: [repo] branch must be the plain name of a branch, such as main"
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "factory.toml: [repo] is missing"),
        (b"[repo]\n", "factory.toml:1: [repo] name is missing"),
        (b"a = \n", "factory.toml:1: the TOML is broken: invalid value"),
        (b"[repo]\nname = 'x'\nname = 'y'\n", "factory.toml:3: the TOML is broken: cannot overwrite a value"),
        (b"[repo]\nname = '", 'factory.toml:2: the TOML is broken: expected "\'"'),
        (b"[repo]\nname = '\xff'\n", "factory.toml:2: the file is not UTF-8; save it as UTF-8"),
        (
            b"\xef\xbb\xbf[repo]\n",
            "factory.toml:1: the file begins with a byte order mark; save it as UTF-8 without",
        ),
        (b"a = " + b"9" * 5000, "factory.toml: a value is too long or nested too deep"),
        (b"a = " + b"[" * 100_000, "factory.toml: a value is too long or nested too deep"),
        (b"a." * 3000 + b"a = 1", "factory.toml: a value is too long or nested too deep"),
    ],
)
def test_a_file_that_is_no_toml_is_one_sentence(data: bytes, said: str) -> None:
    assert faults(data) == [said]


def test_windows_line_ends_are_fine_in_toml() -> None:
    assert parse(REPO.replace("\n", "\r\n")).repo.name == "pkg"
