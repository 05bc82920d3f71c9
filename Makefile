# Two commands matter: `make demo` and `make test`. Both set up .venv first, which is quick when nothing changed; the
# tools that only tests and benchmarks need come with the latter.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
KERNELS := $(VENV)/.kernels
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE # what pip does not compile, Python does at the first import, and keeps it
T ?= tests
JOBS ?= 2

OLDEST := .venv-oldest

.PHONY: install tools demo test lint unit oldest bench docs format clean

install: $(KERNELS)

$(KERNELS): $(STAMP)
	@$(BIN)/refute prepare --kernels || true
	@touch $@

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Refute needs Python 3.11 or newer, and found no python3 on the PATH." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Refute needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@echo "Installing Refute and Spark into $(VENV) (Spark is large: downloading it may take some minutes)"
	@$(PIP) --editable '.[spark]'
	@touch $@

tools: $(TOOLS)

$(TOOLS): $(STAMP)
	@echo "Installing what tests and benchmarks need into $(VENV)"
	@$(BIN)/python .ci/requirements.py dev bench > $(VENV)/requirements.txt
	@$(PIP) --requirement $(VENV)/requirements.txt
	@$(BIN)/python -W ignore -m compileall -qq -j 0 $(VENV)/lib || true  # tests take warnings of the compiler for errors
	@$(BIN)/refute prepare --quiet || true
	@touch $@

demo: $(STAMP)  ## discover and check rules on the sample data that ships with Refute
	@$(BIN)/refute demo

test: lint unit  ## what CI runs

lint: tools  ## ruff and mypy
	@$(BIN)/ruff check src tests benchmarks
	@$(BIN)/ruff format --check src tests benchmarks
	@$(BIN)/mypy

unit: tools  ## the tests; one part: make unit T=tests/language
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --durations 15 $(T)

oldest:  ## the quick tests with the oldest packages that pyproject.toml allows, in a venv of their own
	@test -x $(OLDEST)/bin/python || "$(PYTHON)" -m venv $(OLDEST)
	@$(OLDEST)/bin/python .ci/requirements.py --oldest dev bench > $(OLDEST)/constraints.txt
	@$(OLDEST)/bin/python .ci/requirements.py dev bench > $(OLDEST)/requirements.txt
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check --constraint $(OLDEST)/constraints.txt \
		--editable . --requirement $(OLDEST)/requirements.txt
	@HYPOTHESIS_PROFILE=ci $(OLDEST)/bin/python -m pytest -n $(JOBS) -m 'not spark and not cluster' \
		--ignore tests/spark --ignore-glob '*_spark.py' $(T)

bench: tools  ## the benchmarks; one case: make bench CASE=import
	@$(BIN)/python -m benchmarks $(CASE)

docs: tools  ## the site of the documents, in site/
	@$(BIN)/python -c 'import mkdocs, mkdocstrings' 2>/dev/null \
		|| { $(BIN)/python .ci/requirements.py docs > $(VENV)/docs.txt && $(PIP) --requirement $(VENV)/docs.txt; }
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --site-dir site

format: tools  ## rewrite the code in the house style
	@$(BIN)/ruff check --fix src tests benchmarks
	@$(BIN)/ruff format src tests benchmarks

clean:
	rm -rf $(VENV) $(OLDEST) site .mypy_cache .ruff_cache .pytest_cache .hypothesis
