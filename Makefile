# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` set up all they need on a bare Debian 12.

JOBS ?= 2
# Sources compiled together make a build from scratch quick; JOIN=OFF makes one after a change quick.
JOIN ?= ON
VENV ?= .venv
FUZZ_SECONDS ?= 600
PYTHON_IN_VENV := $(VENV)/bin/python
export VENV

.PHONY: help setup build demo test bench bench-peers wheels docs asan tsan fuzz format lint clean

help:  ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 16

setup:  ## Install the Debian packages and the virtual environment.
	@tools/setup.sh

build: setup  ## Compile the library, its tests and the Python extension.
	@cmake --preset release -DLOOPSMITH_BUILD_PYTHON=ON -DLOOPSMITH_JOIN_SOURCES=$(JOIN) \
	  -DPython_EXECUTABLE=$(abspath $(PYTHON_IN_VENV)) >/dev/null
	@cmake --build --preset release --parallel $(JOBS)

demo: build  ## Run the examples of examples/quickstart and print their table.
	@$(PYTHON_IN_VENV) examples/quickstart/run.py

test: build  ## Run every test and every check.
	@$(PYTHON_IN_VENV) tools/run_tests.py --jobs $(JOBS)

bench: build  ## Measure the compiler and its kernels beside their peers.
	@cmake --preset release -DLOOPSMITH_BUILD_BENCH=ON >/dev/null
	@cmake --build --preset release --parallel $(JOBS)
	@$(PYTHON_IN_VENV) bench/run.py

bench-peers: build  ## Measure kernels beside other libraries and compilers; PEERS="--quick --filter product".
	@$(PYTHON_IN_VENV) bench/peers/install.py
	@$(PYTHON_IN_VENV) bench/peers/run.py $(PEERS)

wheels: setup  ## Build a wheel for each interpreter found, and try each in a clean environment.
	@SKBUILD_CMAKE_DEFINE=LOOPSMITH_JOIN_SOURCES=$(JOIN) \
	  $(PYTHON_IN_VENV) tools/wheels.py $(if $(BESIDE),--beside $(BESIDE))

docs: setup  ## Build the guide as a site, in build/site.
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r tools/requirements_docs.txt
	@$(VENV)/bin/mkdocs build -q

asan: setup  ## Run the unit tests of all floors under the address and undefined-behaviour sanitizers.
	@$(PYTHON_IN_VENV) tools/run_tests.py --jobs $(JOBS) asan

tsan: setup  ## Run the runtime's unit tests under the thread sanitizer.
	@$(PYTHON_IN_VENV) tools/run_tests.py --jobs $(JOBS) tsan

fuzz: build  ## Fuzz the readers and the engine for FUZZ_SECONDS each; it may take any time you give.
	@tools/setup.sh fuzz
	@$(PYTHON_IN_VENV) tools/fuzz.py --jobs $(JOBS) --seconds $(FUZZ_SECONDS)

format: setup  ## Format all sources in place.
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-22 -i
	@$(VENV)/bin/ruff check -q --fix-only && $(VENV)/bin/ruff format -q

lint: build  ## Check format, style, types and the order of the floors; count places to touch.
	@$(PYTHON_IN_VENV) tools/run_tests.py --jobs $(JOBS) format includes words ruff mypy tidy
	@$(PYTHON_IN_VENV) tools/places.py

clean:  ## Delete what was built; keep the virtual environment.
	@rm -rf build dist python/loopsmith/_core.*
