import pytest

from loop.doctor.suggest_found import Part
from loop.doctor.suggest_words import is_silent, is_usable, part_of, part_of_name, system_packages


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("python -m pip install -e .[dev]", Part.SETUP),
        ("pip install pytest", Part.SETUP),
        ("uv sync --locked", Part.SETUP),
        ("npm ci", Part.SETUP),
        ("yarn", Part.SETUP),
        ("make deps", Part.SETUP),
        ("uv run --locked pytest -q", Part.TEST),
        ("CGO_ENABLED=0 go test ./...", Part.TEST),
        ("cargo test --locked", Part.TEST),
        ("bundle exec rake", Part.TEST),
        ("./gradlew --no-daemon check", Part.TEST),
        ("./mvnw -B verify", Part.TEST),
        ("npm test", Part.TEST),
        ("npm run test-ci", Part.TEST),
        ("make -j4 test", Part.TEST),
        ("make test-unit", Part.QUICK),
        ("make lint", Part.LINT),
        ("uv run --group pre-commit pre-commit run --all-files", Part.LINT),
        ("cargo clippy --all-targets", Part.LINT),
        ("cargo fmt -- --check", Part.FORMAT),
        ("ruff format . --check", Part.FORMAT),
        ("uv run tox run -e typing", Part.TYPES),
        ("mypy src", Part.TYPES),
        ("make check", Part.WHOLE),
        ("cmake -S . -B build", Part.BUILD),
        ("make", Part.BUILD),
        ("make docs", None),
        ("rm -rf build", None),
        ("echo hello", None),
    ],
)
def test_a_command_is_told_by_its_words(command: str, part: Part | None) -> None:
    assert part_of(command) is part


def test_a_target_that_writes_files_is_for_nothing() -> None:
    assert part_of_name("format") is None
    assert part_of_name("fmt") is None
    assert part_of_name("fmt_check") is Part.FORMAT
    assert part_of_name("test:unit") is Part.QUICK


@pytest.mark.parametrize(
    "command",
    [
        "pytest --junit ${{ matrix.out }}",
        "pytest $GITHUB_WORKSPACE",
        "sudo make test",
        "docker compose run test",
        "if true; then pytest; fi",
        "pytest && twine upload dist/*",
        "pnpm run lint --fix",
        "mvn verify -DskipTests",
        "cat <<EOF | pytest",
        "pytest $(git ls-files)",
        "pytest\x1b[2J",
        "pytest " + "x" * 1000,
        "pytest \\",
        "",
    ],
)
def test_what_a_job_cannot_run_is_not_proposed(command: str) -> None:
    assert not is_usable(command)


def test_a_plain_command_is_usable() -> None:
    assert is_usable("TESTS=all make -j4 test")


def test_a_line_that_only_tells_something_counts_for_nothing() -> None:
    assert is_silent("set -euo pipefail")
    assert is_silent("cargo -V")
    assert not is_silent("setup.sh")


def test_system_packages_are_read_from_an_installing_line() -> None:
    line = "sudo apt-get -y install --no-install-recommends libpq-dev pandoc && true"
    assert system_packages(line) == ("libpq-dev", "pandoc")
    assert system_packages("pip install pandoc") == ()
