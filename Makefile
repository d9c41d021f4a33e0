# Two commands on a fresh machine: `make run` and `make test`. Everything else is in `make help`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/pip --disable-pip-version-check --quiet
CYCLES ?= 500

.DEFAULT_GOAL := help
.PHONY: help run test check fix bench chaos fuzz lock docs interop clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/run.stamp: requirements.lock pyproject.toml
	@echo "Making the virtual environment in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml
	@echo "Making the virtual environment for development in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/run.stamp

run: $(VENV)/run.stamp  ## start the gateway and the bundled receiver on channels.example.toml
	@$(BIN)/python tools/demo.py

test: $(VENV)/dev.stamp  ## install what tests need and run them (chaos in its short form)
	$(BIN)/python -m pytest -m "not interop"

check: $(VENV)/dev.stamp  ## format, lint, types, layers, tests with coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m coverage erase
	$(BIN)/python -m pytest -m "not interop" --cov --cov-report=
	$(BIN)/python tools/coverage_floor.py

fix: $(VENV)/dev.stamp  ## format and mend what can be mended by machine
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

tests/interop/node_modules/.stamp: tests/interop/package-lock.json
	npm ci --prefix tests/interop --no-audit --no-fund --silent
	@touch $@

interop: $(VENV)/dev.stamp tests/interop/node_modules/.stamp  ## let other people's senders talk to the gateway (needs node, npm, nc)
	$(BIN)/python -m pytest -m interop tests/interop

chaos: $(VENV)/dev.stamp  ## the long crash campaign (CYCLES=500)
	CHAOS_CYCLES=$(CYCLES) $(BIN)/python -m pytest -m chaos --timeout=0 tests/chaos

$(VENV)/fuzz.stamp: $(VENV)/dev.stamp tests/fuzz/requirements.lock
	@$(PIP) install --require-hashes -r tests/fuzz/requirements.lock
	@touch $@

fuzz: $(VENV)/fuzz.stamp  ## feed bytes nobody sane would send, guided by coverage (SECONDS=60 for each target)
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),60)

bench: $(VENV)/run.stamp  ## measure durable answers and settles as ratios to the disk's own sync rate
	$(BIN)/python -m gateway bench

docs: $(VENV)/dev.stamp  ## write the generated parts of docs/
	$(BIN)/python -m gateway.config.reference > docs/configuration.md

lock:  ## pin every version with hashes (needs the network)
	@$(PYTHON) -m venv $(VENV) && $(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml tools/build-requirements.in -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra postgres --extra dev pyproject.toml tools/build-requirements.in -o requirements-dev.lock

clean:  ## remove what was built, keep var/
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
