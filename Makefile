PYTHON := .venv/bin/python

.DEFAULT_GOAL := help

include docker.mk

.PHONY: help run report venv check lint docs test test-fast test-crash test-long test-engine bench bench-proxy bench-report mutate

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

run: setup ## the main job on the example package: a real agent in a container, to a merged commit
	@$(PYTHON) -m loop.demo

report: ## what the demo cost
	@FACTORY_HOME=build/demo/home .venv/bin/instrument report --purpose demo

check: lint test-fast ## linter, strict types, import rules, generated docs, the suite without Docker

lint: venv ## all of check but the tests
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-cache
	@$(PYTHON) -m tests.tools.readme --check

docs: venv ## renew the generated parts of README and docs
	@$(PYTHON) -m tests.tools.readme

venv:
	@scripts/setup --no-engine

test-fast: venv ## the suite without Docker
	@.venv/bin/pytest -q -n 3 --dist loadfile -m "not docker and not slow" tests

test: setup ## the whole suite, Docker tests included
	@.venv/bin/pytest -q -n 2 --dist loadfile -m "not slow" tests

test-crash: venv ## what takes longer: above all the kill matrix in full, every effect at every moment
	@.venv/bin/pytest -q -n 2 -m "slow and not docker" tests

test-long: setup ## everything slow, Docker tests included: the kill matrix, 200 captures, 100 jobs in a row
	@.venv/bin/pytest -q -n 2 --dist loadfile -m slow tests

test-engine: setup ## everything about the durable engine: the long tests, too, such as thirty tasks with kills
	@.venv/bin/pytest -q tests/engine tests/unit/engine

bench: setup ## docs/benchmarks.md, measured anew; ONLY=loop, jobs, scale, replay, proxy or report: that part
	@$(PYTHON) -m tests.bench.bench $(if $(ONLY),--only $(ONLY))

bench-proxy: venv ## what the proxy adds, against nginx and LiteLLM
	@$(PYTHON) -m tests.bench.bench --only proxy

bench-report: venv ## a report over 10,000 tasks and a million events, against reading the same bytes
	@$(PYTHON) -m tests.bench.bench --only report

mutate: venv ## break each rule of the machine in turn: a story must fail every time
	@$(PYTHON) -m tests.tools.mutate
