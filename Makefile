# `make demo` and `make test` need only Python 3.11+ and a package index.
PYTHON ?= python3
BIN := .venv/bin

# Runs tests in parallel on all cores; see tests/conftest.py.
SPREAD := --numprocesses auto

# Compiled loops with bounds checks have their own cache.
CHECK_BOUNDS := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/bounds-checked

.PHONY: demo demo-dask docs test test-all test-lowest fuzz lint hooks release-check pictures bench clean

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

# Installs the extras that the README uses.
demo: .venv/installed-plot,report,networkx
	$(BIN)/rmgl demo --output demo --force
	@echo "Figures: demo/embedding.png, demo/layers.png"

# Fits the digits and a mixture of 50,000 rows on two Dask worker processes; see docs/beyond_one_machine.md.
demo-dask: .venv/installed-dask
	$(BIN)/python scripts/demo_dask.py

# Runs all tests of mathematical laws, units and contracts; prints which took longest.
test: .venv/installed-dev
	$(BIN)/python -m pytest $(SPREAD) --durations=10 $(COVERAGE)

# Also tests programs, documents, benchmarks and kills, with short fuzzing; prints which lines and branches of src/rmgl no test has
# reached. Then repeats the tests that call the compiled loops most, with bounds checks compiled in.
test-all: .venv/installed-dev
	RMGL_EXAMPLES=25 $(MAKE) test COVERAGE='--cov --cov-report='
	$(BIN)/python -m pytest $(SPREAD) --durations=10 -m 'extended and not fuzz' --cov --cov-append --cov-report=term
	$(CHECK_BOUNDS) $(BIN)/python -m pytest $(SPREAD) tests/kernels tests/edges tests/layer tests/embedding tests/placing tests/test_border.py

# Runs the tests of `make test` with the lowest package versions that pyproject.toml allows, and prints these versions.
test-lowest: .venv-lowest/installed
	.venv-lowest/bin/uv pip list --python .venv-lowest/bin/python
	.venv-lowest/bin/python -m pytest $(SPREAD)

.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

# Tries random input for about ten minutes and prints how much was tried; then runs all other tests with bounds checks.
fuzz: .venv/installed-dev
	$(BIN)/python -m pytest -m fuzz -s
	$(CHECK_BOUNDS) $(BIN)/python -m pytest $(SPREAD) -m 'not fuzz'

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Checks style and types before every future commit.
hooks: .venv/installed-dev
	$(BIN)/pre-commit install

# Builds the packages into dist, installs the wheel into an empty environment and runs the self-test and the demo from it (see RELEASING.md).
# At a tag: make release-check RELEASE='--tag v1.0.0'.
release-check: .venv/installed-release
	$(BIN)/python scripts/check_release.py $(RELEASE)

# Creates the images in the README, the landing page and the tutorials; images of reports need a browser (apt-get install chromium).
pictures: demo .venv/installed-dev
	mkdir -p docs/images
	cp demo/embedding.png demo/layers.png docs/images/
	$(BIN)/python scripts/picture_of_page.py demo/report.html docs/images/report.png
	$(BIN)/python scripts/pictures_of_site.py

# Builds the site in docs/_build/html. This takes a few minutes, because the gallery runs. Warnings and dead links are errors.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html docs docs/_build/html
	$(BIN)/python scripts/check_links.py docs/_build/html

# Runs all benchmarks, which takes more than two hours; `make bench QUICK=--quick` takes a few minutes. The first full run creates the
# competitors' environments.
bench: .venv/installed-bench
	$(if $(QUICK),,$(BIN)/python -m benchmarks environments)
	$(BIN)/python -m benchmarks all $(QUICK)
	$(BIN)/python -m benchmarks report --output $(if $(QUICK),benchmarks/results/quick --results benchmarks/results/quick,docs)

clean:
	rm -rf .venv .venv-lowest demo dist docs/_build docs/built .coverage .pytest_cache .mypy_cache .ruff_cache
