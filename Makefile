# Which source next? Every command works on a fresh clone with Python 3.11 to 3.14; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: book check lint test proofs coq run page lab live browser serve pdf release bench mutants lock clean help

PY      ?= $(shell for p in python3.12 python3.11 python3.13 python3.14 python3; do $$p -c 'import sys; sys.exit(not (3,11) <= sys.version_info < (3,15))' 2>/dev/null && echo $$p && break; done)
PROFILE ?= paper
PORT    ?= 8000
# What a user types reaches the program as it was typed: Make expands no dollar sign in it.
TYPED   := PROFILE PORT BASEURL REPOSITORY NB P NAME SOURCES TRACE SIGNALS FROM BENCH LIVE LAB MUTANTS
$(foreach name,$(TYPED),$(eval override $(name) := $$(value $(name))))
export $(TYPED)
# Compiled kernels are kept in the environment, each until code that it is made from changes.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/numba
export NUMBA_CACHE_LOCATOR_CLASSES := analysis.kernel_cache.Locator,UserProvidedCacheLocator,IPythonCacheLocator
# Python's own compiled modules lie in the environment too: also where the shell says to write none (beside the sources).
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache
unexport PYTHONDONTWRITEBYTECODE

BIN     := .venv/bin
READY   := .venv/ready
REPORT  := $(BIN)/python -m scorecard

book: $(READY)  ## install what is locked, run the notebooks, render the book (PROFILE=quick|paper|full)
	@$(REPORT) book --profile "$$PROFILE"

# Tests that a target runs: which of them, and from where.
NO_BOOK := not book and not browser and not process and not slow and not rerun
TESTS   := not slow and not rerun
PYTEST  := $(BIN)/python -m pytest -n auto --dist loadfile
SOURCES_OF_TESTS := --doctest-modules analysis scorecard tests

# What needs one processor only, lint, runs beside the tests; they run also where it complains. There is
# one process more than processors: what builds the book, opens a browser or crawls lets its own wait.
test: $(READY)  ## all of check, what starts processes, and the quick-profile book: executed, re-executed, rendered, opened in a browser
	@$(MAKE) --no-print-directory lint & lint=$$!; failed=0; \
	$(PYTEST) -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --no-loadscope-reorder -m "$(TESTS)" $(SOURCES_OF_TESTS) || failed=1; \
	wait $$lint || { failed=1; echo "make lint fails: see above"; }; \
	exit $$failed

check: lint  ## the author's loop, without a book: lint, types, contracts, examples, unit tests
	@$(PYTEST) -m "$(NO_BOOK)" $(SOURCES_OF_TESTS)

lint: $(READY)  ## style, types and import contracts alone
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache

proofs: $(READY)  ## checks that take many minutes: the switching curve, long families, all that `make test` samples, a wider random search
	@$(PYTEST) -m slow tests
	@WHOLE=1 $(PYTEST) --no-loadscope-reorder -m "sampled or book or browser" tests
	@WHOLE=1 $(BIN)/python -m pytest -m rerun tests/book/test_rerun_truth.py
	@$(PYTEST) -m "$(NO_BOOK)" --hypothesis-profile search tests

coq:  ## check the proof of the switching curve with Coq (8.16 or later; apt-get install coq), and print what it proves and assumes
	@$(MAKE) --no-print-directory -C proofs

run: $(READY)  ## one notebook with other parameters: NB=four-sources P="budget=2 horizon=200" [SOURCES=my.csv] [TRACE=my.csv] [SIGNALS=pings.csv]
	@$(REPORT) run "$$NB" --parameters "$$P" --sources "$$SOURCES" --trace "$$TRACE" --signals "$$SIGNALS"

page: $(READY)  ## the skeleton of a new page: text, study, test, contents (NAME=ephemeral/my-page)
	@$(REPORT) page "$$NAME"

lab: $(READY)  ## open copies of the notebooks in JupyterLab (PROFILE=quick|paper, LAB="--no-browser")
	@$(REPORT) lab --profile "$$PROFILE" --options "$$LAB"

live: $(READY)  ## crawl feeds on this machine for a minute, policies side by side, with a page to watch (LIVE="--seconds 20")
	@$(BIN)/python -m analysis.crawl live $$LIVE

browser: $(READY)  ## put Python for browsers into the built book, so that pages recompute there (FROM=folder or archive with its files, QUICK=1)
	@$(REPORT) browser --from "$$FROM" $(if $(QUICK),--quick)

serve: $(READY)  ## serve the built book on this machine (PORT=8000)
	@$(REPORT) serve --port "$$PORT"

pdf: $(READY)  ## one PDF of the whole book, and one of the paper on the switching curve (needs Debian's chromium)
	@$(REPORT) pdf

release: $(READY)  ## from a tagged commit: one archive of the book, its PDF, data and reports, with its SHA-256 (BASEURL=https://... DIRTY=1)
	@$(REPORT) release $(if $(DIRTY),--dirty)

bench: $(READY)  ## speed against peers, as ratios in one run (BENCH="robots scale" for some of them)
	@$(call INSTALL,--require-hashes -r benchmarks/requirements.lock) || echo "mdpsolver has no wheel for this machine: its rows are left out"
	@$(BIN)/python -m benchmarks $$BENCH

mutants: $(READY)  ## do the tests notice one wrong token? a sample of it, half an hour and more (MUTANTS="scorecard --seed 2")
	@$(call INSTALL,--require-hashes -r mutants/requirements.lock)
	@$(BIN)/python -m mutants $$MUTANTS

LOCK := uv pip compile -q --universal --generate-hashes --no-emit-index-url --python-version 3.11 --custom-compile-command 'make lock' pyproject.toml
lock:  ## refresh the locks from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(LOCK) build.in --only-binary :all: --extra book --extra lab --extra cluster --extra crawl --extra gym --extra test -o requirements.lock
	$(LOCK) --only-binary :all: --extra bench -c requirements.lock -o benchmarks/requirements.lock
	$(LOCK) --only-binary :all: --no-binary yattag --extra mutants -c requirements.lock -o mutants/requirements.lock

clean:  ## remove what was built; the environment stays
	@$(MAKE) --no-print-directory -C proofs clean
	rm -rf book/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 9

# Packages are installed into the environment; uv is used where it is there, since it takes seconds.
INSTALL = if command -v uv >/dev/null; then uv pip install -q --python $(BIN)/python $(1); \
  else $(BIN)/python -m pip install -q --disable-pip-version-check $(1); fi

# The environment is remade when the lock changes.
$(READY): requirements.lock pyproject.toml
	@case "$(OS) $$(uname -sm)" in \
	  Windows*) echo "the book is built on Linux and macOS; on Windows use WSL"; exit 1 ;; \
	  *"Darwin x86_64") echo "Numba has no wheels for Macs with Intel processors: use Linux, or a Mac with an Apple processor"; exit 1 ;; \
	esac
	@test -n "$(PY)" || { echo "Python 3.11 to 3.14 is needed: name one with PY=/path/to/python"; exit 1; }
	@echo "installing what requirements.lock names into .venv"
	@if command -v uv >/dev/null; then uv venv -q --clear --seed --python "$(PY)" .venv; else $(PY) -m venv --clear .venv; fi
	@$(call INSTALL,--require-hashes -r requirements.lock)
	@$(call INSTALL,--no-deps --no-build-isolation -e .)
	@# rfc3987-syntax builds a parser of addresses at every start, for two seconds; jsonschema does without it, and no address is checked here.
	@$(BIN)/python -m pip uninstall -q -y --disable-pip-version-check rfc3987-syntax
	@touch $@
