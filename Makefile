# Two commands for everybody: `make demo` and `make test`. Both do their own set-up.
# `make ready` is everything that continuous integration checks.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

ROOT := $(CURDIR)
VENV := $(ROOT)/.venv
PY := $(VENV)/bin/python
SETUP := $(ROOT)/.tools
export CARGO_TERM_COLOR ?= never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests and the demo find ripgrep where the set-up put it.
export PATH := $(VENV)/bin:$(PATH)
export ZUNO_TEST_RG := $(VENV)/bin/rg
# Both sides of every build use the same profile and features, so nothing is compiled twice.
NATIVE := $(ROOT)/bindings-python/python/zuno/_zuno.abi3.so

.PHONY: demo test ready setup build format format-check lint docs docs-check drift bless \
	rust-test python-test python-types python-stubs clean

demo: build ## Set up, build, and run the demo host on this checkout
	$(PY) examples/python/review.py

test: build rust-test python-test python-types node-types node-test c-test conformance ## Set up, build, and pass every test
	@echo "all suites passed"

ready: build format-check lint docs-check test python-stubs ## What CI checks
	@echo "ready"

# --- set-up -----------------------------------------------------------------------------------------------------------

setup: $(SETUP)/system $(SETUP)/python

# A C compiler for SQLite and the grammars, bubblewrap for confined commands, git for the demo's checkout.
$(SETUP)/system: tools/setup-system
	mkdir -p $(SETUP)
	tools/setup-system
	touch $@

$(SETUP)/python: tools/requirements.txt
	mkdir -p $(SETUP)
	test -x $(PY) || python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --requirement tools/requirements.txt
	touch $@

# --- build ------------------------------------------------------------------------------------------------------------

build: setup
	cargo build --quiet --workspace
	tools/place-module $(ROOT) $(NATIVE)
	tools/link-package $(ROOT) $(PY)

include bindings-node/node.mk
include ffi/ffi.mk
include tests/conformance/conformance.mk

# --- checks -----------------------------------------------------------------------------------------------------------

format:
	cargo fmt --all

format-check: setup
	cargo fmt --all --check

lint: setup
	cargo clippy --quiet --workspace --all-targets -- -D warnings

docs-check: setup
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps

rust-test: build
	cargo test --quiet --workspace

python-test: build
	$(PY) -m pytest -q bindings-python/tests

python-types: build
	tools/check-types $(PY)

# The stub of the native module is generated from it; `ZUNO_BLESS=1 make python-stubs` writes it anew. Last, because
# maturin builds with an environment of its own.
python-stubs: build
	tools/check-stubs $(ROOT) $(VENV)

# Writes the generated files anew: schemas, and the types that are made from them.
bless: setup node-setup
	ZUNO_BLESS=1 cargo test --quiet -p zuno --test schema_drift
	ZUNO_BLESS=1 cargo test --quiet -p zuno-ffi --test header
	cd $(NODE_DIR) && npm run --silent generate

clean:
	rm -rf target .venv .tools bindings-node/node_modules bindings-node/dist bindings-node/build bindings-node/*.node
