# Everything here sets itself up: a virtual environment in .venv with the project and its tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
BASE := $(VENV)/.base
READY := $(VENV)/.ready
JOBS ?= auto

.PHONY: demo test test-all lint format bench bundle knowledge knowledge-accept clean

# What running needs, and what developing needs beside it.
$(BASE): pyproject.toml
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv is missing, on Debian: apt-get install python3-venv"; \
	  [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y python3-venv; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	$(PIP) install --editable .
	$(BIN)/python -m compileall -q logaudit
	touch $@

$(READY): $(BASE)
	$(PIP) install --editable '.[dev]'
	touch $@

demo: $(BASE)
	$(BIN)/logaudit report fixtures/kimi-k25-tp8.log --model-config fixtures/models/kimi-k25.json
	$(BIN)/logaudit report fixtures/kimi-k25-tp8.log --model-config fixtures/models/kimi-k25.json --force -o logaudit-report.html
	@echo "The same as a page: logaudit-report.html"

test: $(READY)
	$(BIN)/pytest -n $(JOBS)

test-all: $(READY)
	LOGAUDIT_TEST_ALL=1 $(BIN)/pytest -n $(JOBS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m bench

# One archive to install from without a network: MACHINE is x86_64 or aarch64, PYTHONS the versions that it serves.
bundle: $(READY)
	$(BIN)/python -m bundle $(if $(MACHINE),--machine $(MACHINE)) $(if $(PYTHONS),--python $(PYTHONS))

# What a release of SGLang changes for this project: SGLANG is a release number or a wheel's path, the newest without it.
knowledge: $(READY)
	$(BIN)/python -m upkeep $(SGLANG)

knowledge-accept: $(READY)
	$(BIN)/python -m upkeep $(SGLANG) --accept

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
