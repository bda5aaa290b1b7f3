# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

BIN := $(VENV)/bin
SETUP_FILES := setup.py setup.cfg pyproject.toml package.xml
MESSAGES := mb_contact/ros/message_packages.py $(wildcard mb_contact/ros/embedded/*definitions.py)
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# These targets use the wheels of $(VENV) alone: a sourced ROS 2 would put its own libraries before them.
ifdef ROS_DISTRO
unexport PYTHONPATH LD_LIBRARY_PATH AMENT_PREFIX_PATH
endif
unexport PYTHONHOME RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Without the bytecode of the last run each process would compile all that it imports, and the suite begins hundreds.
unexport PYTHONDONTWRITEBYTECODE

# The short suite: files with small cases of every room, by their markers, and those that cover what has changed.
CHECK = $(shell grep -rlE "mark\.(quick|nojit)" test) $(shell $(BIN)/python test/covers.py)

# The files with a test that runs as plain Python too: to collect all of them takes longer than to run those.
NOJIT = $(shell grep -rl "mark\.nojit" test)

.DEFAULT_GOAL := help
.PHONY: help run check test test-all lint docs measurements wheel release clean

help:
	@echo "make run       set up $(VENV), then simulate: two arms lift a box, over DDS; results in out/"
	@echo "               VIEW=1 shows it in the browser too, BACKEND=rclpy runs it on ROS 2's own rclpy (from PyPI)"
	@echo "make check     the short suite, with the tests of what has changed: at most 2 minutes once kernels are compiled"
	@echo "make test      set up $(VENV), then run the test suite (ARGS=... goes to pytest, WORKERS=... says how many)"
	@echo "make test-all  the same with the tests that take long"
	@echo "make lint      ruff and mypy"
	@echo "make docs      these pages and the reference of all functions as a site, in out/site"
	@echo "make measurements  the tables of docs/measurements anew, of those programs that take minutes"
	@echo "make wheel     a wheel in dist/ that carries compiled kernels, for the Python of $(VENV) and this platform"
	@echo "make release   check versions and changelog, then that wheel and the sources in dist/"
	@echo "make clean     remove everything that these targets made, $(VENV) included"
	@echo "PYTHON=/path/to/python3 chooses the interpreter (3.10 to 3.14) of a new $(VENV)"

run: $(VENV)/.ready-run $(if $(VIEW),$(VENV)/.ready-view) $(if $(filter rclpy,$(BACKEND)),$(VENV)/.ready-ros)
	$(BIN)/mb-contact demo lift --out out $(if $(VIEW),--view) $(if $(BACKEND),--backend $(BACKEND))

check: $(VENV)/.ready-test
	$(PYTEST) -m "not slow and not long" $(sort $(CHECK)) $(ARGS)

test: $(VENV)/.ready-test
	$(PYTEST) -m "not slow" $(ARGS)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m nojit $(NOJIT) $(ARGS)

test-all: $(VENV)/.ready-test
	$(PYTEST) $(ARGS)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m nojit $(NOJIT) $(ARGS)

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.ready-test
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs out/site

measurements: $(VENV)/.ready-test
	$(BIN)/python benchmarks/measurements.py $(ARGS)

wheel: $(VENV)/.ready-run
	@$(PIP_INSTALL) "setuptools>=70.1" "cmeel-eigen>=3.4,<4"
	rm -rf build
	MB_CONTACT_PRECOMPILE=1 $(BIN)/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist .

release: lint
	$(BIN)/python .ci/check_release.py
	$(MAKE) wheel
	@$(PIP_INSTALL) build
	$(BIN)/python -m build --sdist --outdir dist .

clean:
	rm -rf $(VENV) out build dist install log *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready-run: $(SETUP_FILES) | $(BIN)/python
	@echo "Installing mb_contact and its libraries into $(VENV) (once; some minutes)"
	@$(PIP_INSTALL) --editable '.[plot]'
	@touch $@

$(VENV)/.ready-view: $(VENV)/.ready-run
	@echo "Installing the web view into $(VENV) (once)"
	@$(PIP_INSTALL) --editable '.[viewer]'
	@touch $@

$(VENV)/.ready-ros: $(VENV)/.ready-run $(MESSAGES)
	@echo "Installing ROS 2's rclpy into $(VENV) and making the messages that have no wheels (once)"
	@$(PIP_INSTALL) --editable '.[ros]'
	@$(BIN)/python -m mb_contact.ros.message_packages
	@touch $@

$(VENV)/.ready-test: $(SETUP_FILES) $(MESSAGES) | $(BIN)/python
	@echo "Installing mb_contact, its libraries and the test tools into $(VENV) (once; some minutes)"
	@$(PIP_INSTALL) --editable '.[test]'
	@$(BIN)/python -m mb_contact.ros.message_packages || echo "Tests that need these messages on rclpy are skipped"
	@touch $(VENV)/.ready-run $(VENV)/.ready-view $(VENV)/.ready-ros $@

# Each refusal is one line that says what to do.
define refuse
{ echo "$(1)" >&2; exit 1; }
endef

$(BIN)/python:
	@"$(PYTHON)" -c pass >/dev/null 2>&1 || $(call refuse,'$(PYTHON)' does not run: install Python 3.10 to 3.14 or name one: make PYTHON=/path/to/python3)
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' \
	    || $(call refuse,mb_contact needs Python 3.10 to 3.14 and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1): name another one: make PYTHON=/path/to/python3)
	@"$(PYTHON)" -c 'import ensurepip, venv' >/dev/null 2>&1 \
	    || $(call refuse,'$(PYTHON)' cannot make virtual environments: on Debian and Ubuntu run: sudo apt install python3-venv)
	@"$(PYTHON)" -m venv --clear "$(VENV)" || { rm -rf "$(VENV)"; exit 1; }
	@$(PIP_INSTALL) "pip>=25" || { rm -rf "$(VENV)"; exit 1; }  # 23.0 looks for half an hour for what goes together
