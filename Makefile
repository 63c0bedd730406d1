# `make demo` and `make test` need nothing but Python 3.11+ and a package index.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow test-lowest fuzz lint pictures bench clean

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

demo: .venv/installed-plot
	$(BIN)/rmgl demo --output demo --force
	@echo "Pictures: demo/embedding.png, demo/layers.png"

test: .venv/installed-dev
	$(BIN)/python -m pytest

# The longer tests, then all others with bounds checks compiled into the loops (a cache of their own).
test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -m slow
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/bounds-checked $(BIN)/python -m pytest

# The tests with the lowest version of every package that pyproject.toml allows; prints which they are.
test-lowest: .venv-lowest/installed
	.venv-lowest/bin/uv pip list --python .venv-lowest/bin/python
	.venv-lowest/bin/python -m pytest

.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

# About ten minutes; prints how many inputs were tried.
fuzz: .venv/installed-dev
	$(BIN)/python -m pytest -m slow -s tests/test_fuzz_cli.py tests/test_hypothesis.py tests/test_fuzz_arrays.py

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

pictures: demo
	mkdir -p docs/images
	cp demo/embedding.png demo/layers.png docs/images/

# Some hours with everything; `make bench QUICK=--quick` takes a minute. Competitors run where their environments are there.
bench: .venv/installed-bench
	$(BIN)/python -m benchmarks environments
	for suite in layer fit scale search eigen kernels; do $(BIN)/python -m benchmarks $$suite $(QUICK) || exit 1; done
	$(BIN)/python -m benchmarks report --output $(if $(QUICK),benchmarks/results/quick --results benchmarks/results/quick,docs)

clean:
	rm -rf .venv .venv-lowest demo .pytest_cache .mypy_cache .ruff_cache
