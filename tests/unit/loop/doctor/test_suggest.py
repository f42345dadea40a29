from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from loop.cli import main
from loop.config import Config, parse_config
from loop.doctor.suggest import name_of, proposal, propose
from loop.doctor.suggest_files import MAX_FILE_BYTES, READ, read_files
from loop.git.checkout import find_checkout
from loop.git.errors import GitError
from support.gitkit import make_repo

MAKEFILE = b"VERSION := 1\n.PHONY: test\ntest: build\n\ttrue\nlint:\n\ttrue\n"


def proposed(files: dict[str, str]) -> Config:
    return parse_config(proposal(files, "shop").encode())


def runs(files: dict[str, str]) -> dict[str, str]:
    return {name: check.run for name, check in proposed(files).checks.items()}


def set_up(files: dict[str, str]) -> list[str]:
    return [command.run for command in proposed(files).cached]


def test_a_proposal_names_the_file_and_line_of_each_command(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "My Shop")
    repo.commit({"Makefile": MAKEFILE})
    before = sorted(path for path in repo.root.rglob("*") if ".git" not in path.parts)

    text = propose(repo.root)

    assert '[repo]\nname = "my-shop"' in text
    assert 'run = "make test"   # Makefile:3' in text
    assert 'run = "make lint"   # Makefile:5' in text
    assert parse_config(text.encode()).gate == ("test", "lint")
    assert sorted(path for path in repo.root.rglob("*") if ".git" not in path.parts) == before


def test_what_is_not_committed_is_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit({"a": b""})
    repo.write({"Makefile": MAKEFILE})

    assert "make test" not in propose(repo.root)


def test_where_nothing_is_found_a_sentence_and_a_form_say_what_to_write(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit({"a": b""})

    text = propose(repo.root)

    assert "# Nothing in this repository says how it is checked" in text
    assert parse_config(text.encode()).checks == {}
    unmarked = "\n".join(line.removeprefix("# ") for line in text.split("\n") if not line.startswith("# Not"))
    filled = unmarked[unmarked.index("[repo]") :]
    assert parse_config(filled.encode()).gate == ("test",)


def test_a_repository_without_a_commit_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitError):
        propose(make_repo(tmp_path / "r").root)


def test_links_large_files_and_odd_names_are_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    (repo.root / "Makefile").symlink_to("/etc/passwd")
    repo.commit(
        {
            "package.json": b'{"scripts": {"test": "x"}}' + b" " * MAX_FILE_BYTES,
            ".github/workflows/a\nb.yml": b"on: push\njobs: {a: {steps: [{run: pytest}]}}",
            ".github/workflows/sub/c.yml": b"",
        }
    )

    files = read_files(find_checkout(repo.root), "main")

    assert dict(files) == {"package.json": ""}


def test_foreign_bytes_and_line_ends_do_no_harm(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit({"Makefile": b"\xef\xbb\xbftest:\r\n\t\xff\xfe\x00\r\nlint:\r\n"})

    assert 'run = "make lint"   # Makefile:3' in propose(repo.root)


def test_yaml_that_grows_without_end_is_read_in_no_time() -> None:
    rows = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))
    bomb = f"a0: &a0 [x]\n{rows}\non: push\njobs: *a39\n"
    deep = "on: push\njobs: " + "[" * 50_000

    assert (
        runs({".github/workflows/a.yml": bomb, ".gitlab-ci.yml": deep, ".travis.yml": "script: !!python/x y"})
        == {}
    )


def test_ci_goes_before_targets_and_targets_before_what_is_usual() -> None:
    ci = "on: push\njobs: {a: {steps: [{run: go test -short ./...}]}}"
    files = {"go.mod": "module x\n\ngo 1.24.1\n"}
    assert runs(files) == {"test": "go test ./...", "lint": "go vet ./..."}
    files |= {"Makefile": "test:\nvet:\n"}
    assert runs(files) == {"test": "make test", "lint": "make vet"}
    files |= {".github/workflows/ci.yml": ci}
    assert runs(files) == {"test": "go test -short ./...", "lint": "make vet"}
    assert set_up(files) == ["go mod download"]
    assert proposed(files).image.base == "golang:1.24"


def test_what_nobody_runs_is_no_check_beside_what_somebody_runs() -> None:
    project = '[project]\nname = "x"\n[tool.pytest]\n[tool.mypy]\n'

    assert runs({"pyproject.toml": project}).keys() == {"test", "types"}
    assert runs({"pyproject.toml": project, "Makefile": "test:\n"}).keys() == {"test"}


def test_quick_tests_are_for_work_and_the_whole_suite_for_the_gate() -> None:
    config = proposed({"Makefile": "test:\ntest-unit:\nlint:\nfmt-check:\ntypecheck:\ncheck:\nformat:\n"})

    assert config.fast == ("quick", "lint", "format", "types")
    assert config.gate == ("test", "lint", "format", "types", "check")
    assert config.checks["test"].timeout_s == 1800


def test_a_target_that_sets_up_goes_before_what_is_usual() -> None:
    assert set_up({"Makefile": "setup:\ntest:\n", "package.json": "{}"}) == ["make setup"]


def test_a_python_project_gets_an_environment_with_what_its_checks_call() -> None:
    extras = '[project.optional-dependencies]\ntest = ["pytest"]\n'
    project = f'[project]\nname = "x"\n{extras}[tool.pytest]\n[tool.ruff]\n'
    files = {"pyproject.toml": project, "requirements-dev.txt": "coverage\n"}

    assert set_up(files) == [
        "python3 -m venv .venv && .venv/bin/pip install -r requirements-dev.txt -e '.[test]' ruff"
    ]
    assert runs(files) == {
        "test": ". .venv/bin/activate && pytest",
        "lint": ". .venv/bin/activate && ruff check --no-fix .",
    }
    assert proposed(files).inputs == ("pyproject.toml", "requirements-dev.txt")


def test_a_bare_pip_of_ci_gets_an_environment_too() -> None:
    ci = "on: push\njobs:\n  a:\n    steps:\n      - run: |\n          pip install -e .\n          pytest\n"

    assert set_up({".github/workflows/a.yml": ci}) == [
        "python3 -m venv .venv",
        ". .venv/bin/activate && pip install -e .",
    ]
    assert runs({".github/workflows/a.yml": ci}) == {"test": ". .venv/bin/activate && pytest"}


@pytest.mark.parametrize(
    ("lock", "setup", "test"),
    [
        ("uv.lock", "uv sync --locked", "uv run --no-sync pytest"),
        ("poetry.lock", "poetry install", "poetry run pytest"),
        ("pdm.lock", "pdm install", "pdm run pytest"),
    ],
)
def test_a_lock_file_chooses_the_program_and_the_set_up_brings_it(lock: str, setup: str, test: str) -> None:
    files = {"pyproject.toml": "[tool.pytest]\n", lock: ""}
    program = setup.split(maxsplit=1)[0]

    assert set_up(files) == [
        f"python3 -m venv ~/.tools && ~/.tools/bin/pip install {program}",
        f"export PATH=~/.tools/bin:$PATH && {setup}",
    ]
    assert runs(files) == {"test": f"export PATH=~/.tools/bin:$PATH && {test}"}
    assert proposed(files).inputs == (lock, "pyproject.toml")


def test_a_newer_python_than_the_default_base_has_is_an_image() -> None:
    def base(version: str) -> str | None:
        return proposed({"pyproject.toml": f'[project]\nrequires-python = ">={version}"\n'}).image.base

    assert base("3.13") == "python:3.13"
    assert base("3.9") is None


def test_runners_of_environments_fill_them_where_there_is_a_network() -> None:
    hooks = "repos:\n- repo: x\n  hooks: [{id: y}]\n"
    path = "export PATH=~/.tools/bin:$PATH && "

    assert set_up({"tox.ini": "[testenv]\n", "setup.py": ""})[-1] == (
        ". .venv/bin/activate && tox run -e py --notest"
    )
    assert set_up({".pre-commit-config.yaml": hooks})[-1] == f"{path}pre-commit install-hooks"
    assert runs({".pre-commit-config.yaml": hooks}) == {"lint": f"{path}pre-commit run --all-files"}
    assert proposed({".pre-commit-config.yaml": hooks}).inputs == (".pre-commit-config.yaml",)
    assert runs({".pre-commit-config.yaml": "repos: []\n"}) == {}


def test_scripts_run_by_the_program_whose_lock_lies_there() -> None:
    scripts = '{"scripts": {"test": "vitest", "test:unit": "x", "lint": "eslint --fix .", "lint2": "x"}}'
    files = {"package.json": scripts, "pnpm-lock.yaml": "", ".nvmrc": "v22.1\n"}
    path = "export PATH=~/.tools/bin:$PATH && "

    assert runs(files) == {"test": f"{path}pnpm test", "quick": f"{path}pnpm run test:unit"}
    assert set_up(files) == [
        "npm install -g --prefix ~/.tools pnpm",
        f"{path}pnpm install --frozen-lockfile",
    ]
    assert proposed(files).image.base == "node:22"
    assert (
        runs({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}) == {}
    )


@pytest.mark.parametrize(
    ("files", "test"),
    [
        ({"Cargo.toml": "", "Cargo.lock": ""}, "cargo test --locked"),
        ({"Gemfile": "", ".rspec": ""}, "bundle exec rspec"),
        ({"pom.xml": "", "mvnw": ""}, "./mvnw -B -o test"),
        ({"build.gradle.kts": ""}, "gradle --no-daemon --offline check"),
        ({"composer.json": '{"require-dev": {"phpunit/phpunit": "*"}}'}, "vendor/bin/phpunit"),
        ({"composer.json": '{"scripts": {"test": "x"}, "a": "phpunit/phpunit"}'}, "composer test"),
        ({"mix.exs": ""}, "mix test"),
        ({"justfile": "test arg:\n  x\nci:\n  x\n"}, "just ci"),
        ({"noxfile.py": "", "setup.py": ""}, ". .venv/bin/activate && nox --reuse-existing-virtualenvs"),
    ],
)
def test_each_kind_of_repository_is_known(files: dict[str, str], test: str) -> None:
    assert next(iter(runs(files).values())).endswith(test)


def test_cmake_runs_ctest_where_there_are_tests() -> None:
    text = proposal({"CMakeLists.txt": "project(x)\nenable_testing()\n"}, "x")

    assert "ctest --test-dir build" in text
    assert "# usual with CMakeLists.txt:2" in text
    assert "ctest" not in proposal({"CMakeLists.txt": "project(x)\n"}, "x")


def test_several_languages_need_one_image_and_are_told_so() -> None:
    text = proposal({"go.mod": "go 1.25\n", "package.json": "{}"}, "x")

    assert "several languages: node:lts (package.json:1), golang:1.25 (go.mod:1)" in text


def test_any_folder_gives_a_name() -> None:
    assert name_of("My_Shop.git") == "my-shop"
    assert name_of("日本") == "repo"
    assert len(name_of("a-" * 100)) <= 50


NAMES = [name for name in READ if "*" not in name] + [
    ".github/workflows/ci.yml",
    "requirements.txt",
    "uv.lock",
]
PIECES = [
    *(
        "test:",
        "lint: x\n",
        "\n",
        "\ton: push\n",
        "jobs:\n",
        "  a:\n",
        "    steps:\n",
        "      - run: pytest\n",
    ),
    *(
        '      - run: "make test"\n',
        "script: [tox]\n",
        "[tool.pytest]\n",
        "[project]\n",
        'name = "x"\n',
        "go 1.99",
    ),
    *(
        "repos: [{hooks: [1]}]\n",
        '{"scripts": {"test": "jest", "check": 3}}',
        "\x00",
        '"',
        "\\",
        "${{ x }}",
        "é\u2028",
    ),
    *(
        "3.14",
        'requires-python = ">=3.99999999"\n',
        "&a [*a]",
        "run: |\n  uv run pytest\n",
        "working-directory: ../x\n",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=10), max_size=12).map("".join)


@given(st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=6))
def test_whatever_the_files_hold_the_proposal_is_valid(files: dict[str, str]) -> None:
    config = proposed(files)

    assert set(config.fast) | set(config.gate) == set(config.checks)


def test_the_command_prints_the_proposal_alone(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit({"Makefile": MAKEFILE})
    ask = ["doctor", "--suggest", "--repo"]

    done = CliRunner().invoke(main, [*ask, str(repo.root)])
    refused = CliRunner().invoke(main, [*ask, str(tmp_path)])

    assert (done.exit_code, done.stdout) == (0, propose(repo.root))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "is in no git repository" in refused.stderr


def test_a_runner_that_makes_environments_comes_after_a_tool_that_needs_none() -> None:
    ci = "on: push\njobs: {a: {steps: [{run: tox -e py}, {run: 'uv run --locked mypy'}]}}"
    files = {".github/workflows/a.yml": ci, "uv.lock": "", "pyproject.toml": "[tool.pytest]\n"}
    path = "export PATH=~/.tools/bin:$PATH && "

    assert runs(files) == {
        "test": f"{path}uv run --no-sync pytest",
        "types": f"{path}uv run --no-sync --locked mypy",
    }
