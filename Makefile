PYTHON := .venv/bin/python

.DEFAULT_GOAL := help

include docker.mk

.PHONY: help run report venv check test test-fast docs mutate

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

run: setup ## the main job on the example package: a real agent in a container, to a merged commit
	@$(PYTHON) -m loop.demo

report: ## what the demo cost
	@FACTORY_HOME=build/demo/home .venv/bin/instrument report --purpose demo

check: venv ## linter, strict types, import rules, generated docs, unit tests
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-cache
	@$(PYTHON) -m tests.tools.readme --check
	@.venv/bin/pytest -q -n 2 -m "not docker" tests

test-fast: venv ## the suite without Docker
	@.venv/bin/pytest -q -n 2 -m "not docker" tests

test: setup ## the whole suite, Docker tests included
	@.venv/bin/pytest -q -n 2 tests
