"""What a shell command or a target's name is for, told by its words.

Pure: no I/O. Nothing is run or expanded: a command that cannot be told, or that needs more than a job has,
is nothing.
"""

import re

from loop.doctor.suggest_found import MAX_RUN_CHARS, Part

_NAMES = {
    Part.SETUP: "setup deps bootstrap install-deps dev-deps dev-setup install-dev develop venv get-deps",
    Part.QUICK: "test-fast fast-test test-unit unit unit-test unit-tests test-quick test-short",
    Part.TEST: "test tests",
    Part.LINT: "lint linter vet clippy style",
    Part.TYPES: "typecheck type-check types typing mypy pyright tsc check-types",
    Part.FORMAT: "fmt-check format-check check-format check-fmt fmtcheck lint-format prettier-check",
    Part.WHOLE: "check ci verify check-all test-all",
}
_PART_OF_NAME = {name: part for part, names in _NAMES.items() for name in names.split()}

_RUNNERS = r"(?:npm|pnpm|yarn|bun|make|just|composer|rake|poe|hatch|task)"
_TABLE = tuple(
    (part, re.compile(rf"(?:^|[\s;&/])(?:{pattern})(?=$|[\s;&:])"))
    for part, pattern in (
        (Part.SETUP, r"pip3? install|uv (?:sync|pip install)|poetry install|pdm (?:install|sync)"),
        (Part.SETUP, r"npm (?:ci|i|install)|pnpm (?:i|install)|yarn install|yarn$|bun install"),
        (Part.SETUP, r"bundle install|composer install|mix deps\.get|go mod download|cargo fetch"),
        (Part.SETUP, r"pre-commit install-hooks|rustup component add"),
        (
            Part.FORMAT,
            r"ruff format .*--(?:check|diff)|black .*--check|cargo fmt .*--check|mix format .*--check\S*",
        ),
        (Part.FORMAT, r"prettier .*(?:--check|-c)|gofmt -[ld]"),
        (Part.TYPES, r"(?:tox|nox)\b.* -[es] ?(?:typing|types|mypy|type-check)"),
        (Part.TYPES, r"mypy|pyright|basedpyright|tsc"),
        (Part.LINT, r"(?:tox|nox)\b.* -[es] ?(?:lint|style|flake8|pre-commit)"),
        (Part.LINT, r"pre-commit run|ruff check|flake8|pylint|eslint|golangci-lint run|go vet|cargo clippy"),
        (Part.LINT, r"rubocop|mix credo|phpstan|shellcheck|biome (?:check|ci|lint)"),
        (
            Part.TEST,
            r"pytest|py\.test|tox|nox|python3? -m unittest|hatch test|go test|cargo (?:nextest run|test)",
        ),
        (
            Part.TEST,
            r"rspec|rake|rails test|mvnw? (?:\S+ )*(?:test|verify)|gradlew? (?:\S+ )*(?:test|check|build)",
        ),
        (Part.TEST, r"phpunit|pest|mix test|ctest|vitest|jest|mocha|node --test|meson test|bats|swift test"),
        (Part.BUILD, r"cmake|meson (?:setup|compile)|ninja|cargo build|go build|npm run build"),
        (Part.BUILD, r"make(?: -\S+)*(?: all| build)?$"),
    )
)
_NAMED = re.compile(
    rf"(?:^|[\s;&/])(?P<runner>{_RUNNERS})(?: run| exec)?(?: -\S+)* (?P<name>[A-Za-z][\w:.-]*)"
)

_TEST_NAME = re.compile(r"test[-:_](?:ci|all|cov|coverage|node)")
_ASSIGNED = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S* )+")

_UNUSABLE = re.compile(
    r"\$\{\{|\$\(|`|<<|\$\{?(?:CI_|GITHUB_|RUNNER_|GITEA_|CIRCLE_|TRAVIS_)|\bsecrets\."  # what only CI knows
    r"|(?:^|[\s;&])(?:sudo|apt|apt-get|apk|dnf|yum|brew|choco|winget|docker|podman|ssh|scp|gh|aws|kubectl)\s"
    r"|(?:^|[\s;&])(?:if|for|while|until|case|function|trap|exit|then|fi|done|do|esac|else|elif)(?=$|[\s;])"
    r"|\b(?:publish|deploy|upload|twine|codecov|coveralls|release)\b|git (?:push|tag|commit)"
    r"|--(?:watch|fix|write|update-snapshots?)\b|skipTests\b|\btest\.skip\b"  # what writes, or is no test
)
_SILENT = re.compile(
    r"(?:echo|set|true|:|date|env|printenv|uname|pwd|ls|which)(?:\s|$)|[\w./-]+ (?:-V|-v|--version|version)$"
)
_SYSTEM = re.compile(r"(?:sudo (?:-\S+ )*)?apt(?:-get)? ")
_PACKAGES = re.compile(r"\bapt(?:-get)? (?:-\S+ )*install (.*)")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def part_of_name(name: str) -> Part | None:
    """What a target or script of this name is for; none: it says nothing, or it writes files."""
    return _PART_OF_NAME.get(re.sub(r"[:_]", "-", name.lower()))


def part_of(command: str) -> Part | None:
    """What a line of shell is for; its last command decides where that can be told."""
    last = command.rpartition("&&")[2].strip()
    return _part(last) or _part(command)


def _part(command: str) -> Part | None:
    head = _ASSIGNED.sub("", command)
    known = next((part for part, pattern in _TABLE if pattern.search(head)), None)
    if known is Part.SETUP:
        return known
    if named := _NAMED.search(head):
        name = named["name"]
        if part := part_of_name(name):
            return part
        if _TEST_NAME.fullmatch(name):
            return Part.TEST
    return known


def is_usable(command: str) -> bool:
    """Whether a job could run it: one printable line that names nothing that only CI or root has."""
    has_form = command.isprintable() and 0 < len(command) <= MAX_RUN_CHARS
    return has_form and not _UNUSABLE.search(command) and not command.endswith("\\")


def is_silent(command: str) -> bool:
    """Whether a line only tells something."""
    return _SILENT.match(command) is not None


def is_system(command: str) -> bool:
    """Whether a line is about packages of the system, which belong into an image."""
    return _SYSTEM.match(command) is not None


def system_packages(command: str) -> tuple[str, ...]:
    """The Debian packages that a line installs."""
    match = _PACKAGES.search(command)
    words = re.split(r"[;&|]", match[1])[0].split() if match else []
    return tuple(word for word in words if _PACKAGE.fullmatch(word))
