"""What is usual for a repository with the files of a language, one function each.

Pure: no I/O. Commands that need a network stand in the set-up alone: a check has none.
"""

import json
import re
from collections.abc import Iterator

from loop.doctor.suggest_found import Fact, Files, Found, Image, Note, Part, Rank, line_of
from loop.doctor.suggest_targets import package_manager

_NODE_SETUP = {"pnpm": "pnpm install --frozen-lockfile", "yarn": "yarn install --frozen-lockfile"}
_NODE_LOCKS = ("package-lock.json", "pnpm-lock.yaml", "yarn.lock")


def read_node(files: Files) -> Iterator[Fact]:
    """Packages by the lock file's program; the checks are package.json's scripts."""
    if "package.json" not in files:
        return
    lock = next((name for name in _NODE_LOCKS if name in files), None)
    program = package_manager(files)
    usual = "npm ci" if lock else "npm install --no-package-lock"
    inputs = ("package.json", *([lock] if lock else []))
    yield Found(Part.SETUP, _NODE_SETUP.get(program, usual), lock or "package.json", 1, Rank.GUESS, inputs)
    file = next((name for name in (".nvmrc", ".node-version") if name in files), None)
    match = re.match(r"v?(\d{1,3})\b", files[file].strip()) if file else None
    yield Image(f"node:{match[1]}" if match else "node:lts", file if match and file else "package.json", 1)


def read_go(files: Files) -> Iterator[Fact]:
    """Modules, tests and vet."""
    text = files.get("go.mod")
    if text is None:
        return
    inputs = ("go.mod", *(["go.sum"] if "go.sum" in files else []))
    yield Found(Part.SETUP, "go mod download", "go.mod", 1, Rank.GUESS, inputs)
    yield Found(Part.TEST, "go test ./...", "go.mod", 1, Rank.GUESS)
    yield Found(Part.LINT, "go vet ./...", "go.mod", 1, Rank.GUESS)
    match = re.search(r"(?m)^go (\d{1,2}\.\d{1,3})", text)
    yield Image(
        f"golang:{match[1]}" if match else "golang:1", "go.mod", line_of(text, match[0] if match else "")
    )


def read_rust(files: Files) -> Iterator[Fact]:
    """Crates and tests; the format where it is configured."""
    text = files.get("Cargo.toml")
    if text is None:
        return
    locked = " --locked" if "Cargo.lock" in files else ""
    inputs = ("Cargo.toml", *(["Cargo.lock"] if locked else []))
    yield Found(Part.SETUP, f"cargo fetch{locked}", "Cargo.toml", 1, Rank.GUESS, inputs)
    yield Found(Part.TEST, f"cargo test{locked}", "Cargo.toml", 1, Rank.GUESS)
    if file := next((name for name in ("rustfmt.toml", ".rustfmt.toml") if name in files), None):
        yield Found(Part.FORMAT, "cargo fmt --check", file, 1, Rank.GUESS)
    yield Image("rust:1", "Cargo.toml", 1)


def read_ruby(files: Files) -> Iterator[Fact]:
    """Gems, and rspec or rake."""
    if "Gemfile" not in files:
        return
    inputs = ("Gemfile", *(name for name in files if name == "Gemfile.lock" or name.endswith(".gemspec")))
    yield Found(Part.SETUP, "bundle install", "Gemfile", 1, Rank.GUESS, inputs)
    if ".rspec" in files or "spec" in files:
        yield Found(Part.TEST, "bundle exec rspec", ".rspec" if ".rspec" in files else "spec", 1, Rank.GUESS)
    elif "Rakefile" in files:
        yield Found(Part.TEST, "bundle exec rake", "Rakefile", 1, Rank.GUESS)
    match = re.match(r"(?:ruby-)?(\d\.\d+)", files.get(".ruby-version", "").strip())
    yield Image(f"ruby:{match[1]}" if match else "ruby:3", ".ruby-version" if match else "Gemfile", 1)


def read_java(files: Files) -> Iterator[Fact]:
    """Maven or Gradle, by the repository's own wrapper where it has one."""
    if "pom.xml" in files:
        program = "./mvnw" if "mvnw" in files else "mvn"
        run = f"{program} -B -q dependency:go-offline"
        yield Found(Part.SETUP, run, "pom.xml", 1, Rank.GUESS, ("pom.xml",))
        yield Found(Part.TEST, f"{program} -B -o test", "pom.xml", 1, Rank.GUESS)
        yield Image("maven:3-eclipse-temurin-21", "pom.xml", 1)
    elif file := next((name for name in ("build.gradle", "build.gradle.kts") if name in files), None):
        program = "./gradlew" if "gradlew" in files else "gradle"
        yield Found(Part.SETUP, f"{program} --no-daemon testClasses", file, 1, Rank.GUESS, (file,))
        yield Found(Part.TEST, f"{program} --no-daemon --offline check", file, 1, Rank.GUESS)
        yield Image("gradle:jdk21", file, 1)


def read_php(files: Files) -> Iterator[Fact]:
    """Composer's packages; its script `test`, else phpunit where it is required."""
    text = files.get("composer.json")
    if text is None:
        return
    inputs = ("composer.json", *(["composer.lock"] if "composer.lock" in files else []))
    yield Found(Part.SETUP, "composer install --no-interaction", "composer.json", 1, Rank.GUESS, inputs)
    if '"phpunit/phpunit"' in text:
        line = line_of(text, '"phpunit/phpunit"')
        yield Found(Part.TEST, "vendor/bin/phpunit", "composer.json", line, Rank.GUESS)
    try:
        scripts = json.loads(text).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        scripts = None
    if isinstance(scripts, dict) and "test" in scripts:
        yield Found(Part.TEST, "composer test", "composer.json", line_of(text, '"test"'), Rank.TARGET)
    yield Note("composer.json:1: PHP needs an image with php and composer: name yours in [image]")


def read_elixir(files: Files) -> Iterator[Fact]:
    """Dependencies and tests of mix."""
    if "mix.exs" not in files:
        return
    run = "mix local.hex --force && mix local.rebar --force && mix deps.get && MIX_ENV=test mix deps.compile"
    inputs = ("mix.exs", *(["mix.lock"] if "mix.lock" in files else []))
    yield Found(Part.SETUP, run, "mix.exs", 1, Rank.GUESS, inputs)
    yield Found(Part.TEST, "mix test", "mix.exs", 1, Rank.GUESS)
    yield Image("elixir:1", "mix.exs", 1)


def read_cmake(files: Files) -> Iterator[Fact]:
    """Configure, build and ctest in one, in a folder of its own."""
    if "CMakeLists.txt" not in files:
        return
    text = files["CMakeLists.txt"]
    has_tests = re.search(r"(?im)^[ \t]*(?:enable_testing|include[ \t]*\([ \t]*ctest)\b", text)
    test = " && ctest --test-dir build --output-on-failure" if has_tests else ""
    line = line_of(text, has_tests[0].strip()) if has_tests else 1
    run = f'cmake -S . -B build && cmake --build build -j "$(nproc)"{test}'
    yield Found(Part.TEST, run, "CMakeLists.txt", line, Rank.GUESS)
    yield Note(
        "CMakeLists.txt:1: name an image with cmake and a compiler in [image]; the default one has none"
    )
