from textwrap import dedent

from loop.config import parse_config
from loop.doctor.suggest import proposal
from loop.doctor.suggest_ci import read_ci
from loop.doctor.suggest_found import Found, Note, Part

WORKFLOW = """\
name: Tests
on:
  push:
    branches: [main]
  pull_request:
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: npm install --only=dev
      - run: npm run lint
  test:
    runs-on: ubuntu-latest
    services:
      postgres: {image: postgres}
    steps:
      - uses: actions/checkout@v4
      - name: System
        run: |
          sudo apt-get update
          sudo apt-get install -y libpq-dev
      - run: npm ci
      - run: |
          set -e
          # the long ones too
          npm test -- \\
            --all
  deploy:
    runs-on: ubuntu-latest
    steps:
      - run: npm publish
"""


def facts(text: str, file: str = ".github/workflows/ci.yml") -> list[Found]:
    return [fact for fact in read_ci({file: dedent(text)}) if isinstance(fact, Found)]


def shown(text: str, file: str = ".github/workflows/ci.yml") -> list[tuple[str, str, int]]:
    return [(fact.part.value, fact.run, fact.line) for fact in facts(text, file)]


def test_commands_come_with_their_lines_and_the_set_up_of_the_job_that_tests() -> None:
    assert shown(WORKFLOW) == [
        ("lint", "npm run lint", 11),
        ("setup", "npm ci", 22),
        ("test", "npm test -- --all", 26),
    ]


def test_what_a_job_of_ours_has_not_is_noted() -> None:
    notes = [
        fact.text
        for fact in read_ci({"x": "", ".github/workflows/ci.yml": WORKFLOW})
        if isinstance(fact, Note)
    ]

    assert notes == [
        ".github/workflows/ci.yml: job test installs libpq-dev; your [image] needs them",
        ".github/workflows/ci.yml: job test runs beside postgres, which a job here has not",
    ]


def test_a_workflow_that_no_change_starts_is_left_out() -> None:
    assert (
        shown(WORKFLOW.replace("  push:\n    branches: [main]\n  pull_request:\n", "  schedule: [x]\n")) == []
    )
    assert shown(WORKFLOW.replace("    branches: [main]\n  pull_request:", "    tags: [v*]")) == []


def test_a_step_for_another_system_is_left_out() -> None:
    for words in ("runs-on: windows-latest", "runs-on: macos-latest"):
        text = f"on: push\njobs:\n  a:\n    {words}\n    steps: [{{run: pytest}}]\n"
        assert shown(text) == []
    assert shown("on: push\njobs:\n  a:\n    steps: [{shell: pwsh, run: pytest}]\n") == []


def test_a_step_that_only_the_matrix_completes_is_left_out() -> None:
    steps = "- run: tox run\n        env: {TOX_ENV: '${{ matrix.tox }}'}\n"
    job = f"on: [push]\njobs:\n  a:\n    steps:\n      {steps}"

    assert shown(job) == []
    assert shown(job.replace("${{ matrix.tox }}", "py")) == [("test", "tox run", 5)]


def test_what_is_built_goes_before_the_tests_in_one_command() -> None:
    text = """\
        on: push
        jobs:
          a:
            steps:
              - run: cmake -S . -B build
              - run: cmake --build build
              - run: ctest --test-dir build
        """

    (found,) = facts(text)

    assert found.run == "cmake -S . -B build && cmake --build build && ctest --test-dir build"


def test_lines_that_hang_together_stay_one_command() -> None:
    text = (
        "on: push\njobs:\n  a:\n    steps:\n      - run: |\n          mkdir out\n          pytest --to out\n"
    )

    assert shown(text) == [("test", "mkdir out && pytest --to out", 6)]


def test_the_folder_of_a_step_is_entered_first() -> None:
    text = """\
        on: push
        jobs:
          a:
            defaults: {run: {working-directory: web}}
            steps:
              - run: npm test
              - run: go test ./...
                working-directory: ./api
        """

    assert [fact.run for fact in facts(text)] == ["cd web && npm test", "cd ./api && go test ./..."]


def test_gitlab_jobs_begin_with_what_is_common() -> None:
    text = """\
        default:
          before_script:
            - npm ci
        .hidden:
          script: [npm run never]
        unit:
          services: [redis]
          script:
            - npm test
        """

    assert shown(text, ".gitlab-ci.yml") == [("setup", "npm ci", 3), ("test", "npm test", 9)]


def test_circleci_steps_are_read_in_both_forms() -> None:
    text = """\
        jobs:
          build:
            steps:
              - checkout
              - run: bundle install
              - run: {name: Tests, command: bundle exec rspec, working_directory: gem}
        """

    assert [fact.run for fact in facts(text, ".circleci/config.yml")] == [
        "bundle install",
        "cd gem && bundle exec rspec",
    ]


def test_travis_scripts_are_read() -> None:
    text = "install: pip install tox\nscript:\n  - tox -e py\n"

    assert [(f.part, f.run) for f in facts(text, ".travis.yml")] == [
        (Part.SETUP, "pip install tox"),
        (Part.TEST, "tox -e py"),
    ]


def test_forgejo_and_gitea_files_are_read_as_those_of_github() -> None:
    for folder in (".forgejo", ".gitea"):
        assert len(facts(WORKFLOW, f"{folder}/workflows/ci.yml")) == 3


def test_a_file_that_is_no_workflow_says_nothing() -> None:
    for text in (
        "",
        "[",
        "on: push",
        "on: push\njobs: 3",
        "- a",
        "on: push\njobs: {a: {steps: {b: c}}}",
        "\t:\x00",
    ):
        assert shown(text) == []


def test_what_pip_brings_for_another_job_adds_to_the_usual_set_up() -> None:
    jobs = [
        "a: {steps: [{run: make ci}]}",
        "b: {steps: [{run: pip install 'x<2'}, {run: make ci}]}",
        "c: {steps: [{run: pip install mypy}, {run: mypy src}]}",
    ]
    text = "on: push\njobs:\n  " + "\n  ".join(jobs) + "\n"

    config = parse_config(proposal({"setup.py": "", ".github/workflows/a.yml": text}, "x").encode())

    assert [command.run for command in config.cached] == [
        "python3 -m venv .venv && .venv/bin/pip install -e .",
        ". .venv/bin/activate && pip install mypy",
    ]
    assert config.gate == ("types", "check")


def test_a_name_with_a_line_break_forges_no_line_of_the_proposal() -> None:
    job = '"x\\n[merge]\\npush = true\\n#": {services: {db: {}}, steps: [{run: pytest}]}'

    text = proposal({".github/workflows/a.yml": f"on: push\njobs:\n  {job}\n"}, "x")

    assert "job x?[merge]?push = true?# runs beside db" in text
    assert not parse_config(text.encode()).merge.push
