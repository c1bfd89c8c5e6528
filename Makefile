# fedspec: everything a contributor runs. `make` alone prints the targets.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
JOBS ?= 2
# Whoever is done takes tests from the other's rest: some take minutes.
SIDE_BY_SIDE = -n $(JOBS) --dist worksteal
# Extra arguments for pytest, as in: make quick ARGS=-x
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_PIN := torch==2.13.0
# The other distributions, which the tests need.
BESIDE := ./impl[privacy,simulate] ./proofs_check[certify,privacy,solvers]

# The seeds of `make soak`, and how many cases: quick, full, soak.
SEEDS ?= 1 2 3 4 5 6 7 8 9 10
PROFILE ?= full

# What the demo judges, of the bundled subjects.
SUBJECTS ?= flwr:new torch_optim pytorch_optimizer optax fedn

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The tests start hundreds of commands; without compiled files each compiles the whole suite again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show the targets (the default)
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET\n" } \
	  /^[a-z][a-z-]*:.*## / { printf "  %-20s %s\n", $$1, $$2 }' Makefile

.PHONY: check-python
check-python:
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo "error: no '$(PYTHON)' on the PATH; fedspec needs Python 3.11 or newer (set PYTHON=...)" >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: fedspec needs Python 3.11 or newer; '$(PYTHON)' is $$('$(PYTHON)' -V 2>&1) (set PYTHON=...)" >&2; exit 1; }
	@'$(PYTHON)' -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "error: '$(PYTHON)' lacks the venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }

.PHONY: venv
venv: $(STAMP) ## Create .venv with the pinned development environment

$(STAMP): pyproject.toml impl/pyproject.toml proofs_check/pyproject.toml constraints.txt | check-python
	@echo "installing into $(VENV) (about a minute)"
	@'$(BIN)/python' -m pip --version >/dev/null 2>&1 || '$(PYTHON)' -m venv --clear $(VENV)
	@# uv, where it can be had, as pip is set to; without it pip itself.
	@$(BIN)/python -m pip install -qq -c constraints.txt uv || echo 'no uv; pip installs'
	@printf '%s\n' '-c ../constraints.txt' '-e .[dev]' $(BESIDE:%='-e %') >$(VENV)/requirements.txt
	@$(BIN)/python -P judge/fedspec_suite/subjects/installing.py $(VENV)/requirements.txt
	@touch $@

.PHONY: demo
demo: venv ## Judge real packages, each in an environment of its own, and print the table
	@# Exit code 1 says that something does not conform, which is what the table is there to show.
	@$(BIN)/fedspec check $(SUBJECTS) --profile quick --jobs $(JOBS) --report out/demo.jsonl || [ $$? -eq 1 ]
	@echo "fedspec is $(BIN)/fedspec"

.PHONY: conformance
conformance: venv ## Judge every bundled package again; writes docs/conformance (half an hour of CPU)
	$(BIN)/python scripts/conformance.py --jobs $(JOBS)

.PHONY: reproduced
reproduced: venv ## Run every recipe at its large size again; writes docs/reproduced
	for id in $$(ls impl/fedspec_torch/recipes/known | sed 's/\.toml$$//'); do \
	  $(BIN)/fedspec reproduce "$$id" --store docs/reproduced; done

.PHONY: lint
lint: venv ## Check style, formatting, the generated tables of the documents and the JSON schemas
	@# No cache: ruff's does not see that a folder has become a package, which changes the order of imports.
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/python docs/tables.py --check
	$(BIN)/python scripts/schemas.py --check
	$(BIN)/python scripts/conformance.py --check

.PHONY: format
format: venv ## Apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: types
types: venv ## Check the types of the nine packages (mypy --strict)
	$(BIN)/mypy --strict

.PHONY: tests
tests: venv ## Run the tests that take no seconds, and some cases of each table
	FEDSPEC_PROFILE=test $(BIN)/pytest $(SIDE_BY_SIDE) $(ARGS)

.PHONY: quick
quick: venv ## Run the same with a tenth of each table (under two minutes)
	FEDSPEC_PROFILE=quick $(BIN)/pytest $(SIDE_BY_SIDE) $(ARGS)

.PHONY: soak
soak: venv ## Judge what must conform on other SEEDS, run every test, name every mutant (for the night; reports in out/)
	@mkdir -p out; failed=0; for seed in $(SEEDS); do echo "seed $$seed"; \
	  $(BIN)/fedspec check spec torch examples/gossip_trace.py --profile $(PROFILE) --seed $$seed \
	    --jobs $(JOBS) --report out/soak-$$seed.jsonl > out/soak-$$seed.txt || { failed=1; \
	    grep -E 'does not conform|inconclusive|error' out/soak-$$seed.txt || true; }; \
	  tail -n 2 out/soak-$$seed.txt; done; \
	FEDSPEC_PROFILE=soak $(BIN)/pytest $(SIDE_BY_SIDE) -q || failed=1; exit $$failed

# Edits of each module that `make mutate` looks at, and more options, as in: make mutate ARGS='fedspec.client.*' SAMPLE=0
SAMPLE ?= 12

.PHONY: mutate
mutate: venv ## Edit the rules and play the vectors alone on them (SAMPLE=0: every edit)
	OMP_NUM_THREADS=1 $(BIN)/python scripts/mutate.py --sample $(SAMPLE) $(ARGS)

# Options of `make bench`, as in: make bench ARGS='--quick'; see ARGS='--help'
DEVICE ?= cpu

.PHONY: bench
bench: venv ## Measure ours and its peers side by side (ARGS='--quick': three minutes; DEVICE=cuda)
	$(BIN)/python -m fedspec_bench --device $(DEVICE) $(ARGS)
	$(if $(findstring quick,$(ARGS)),,OMP_NUM_THREADS=1 $(BIN)/python benchmarks/optimisers.py)

# The fused kernel without a GPU: Triton takes 1.1 GB, so it has a folder of its own, beside the environment.
TRITON_PIN := triton==3.9.0
FUSED := out/$(subst ==,-,$(TRITON_PIN))

.PHONY: scale
scale: venv ## Measure ours over a plain loop, by parameters and clients; goes on where it stopped (ARGS='--help')
	OMP_NUM_THREADS=1 $(BIN)/python -m fedspec_bench.scale $(ARGS)

.PHONY: fused
fused: $(FUSED)/.installed ## Hold the fused GPU kernel to the specification in Triton's interpreter (installs Triton)
	PYTHONPATH=$(FUSED) $(BIN)/pytest impl/test_mirror/test_fused.py $(ARGS)
	PYTHONPATH=$(FUSED) FEDSPEC_DEVICE=cpu TRITON_INTERPRET=1 $(BIN)/pytest -m gpu impl/test_gpu $(ARGS)

$(FUSED)/.installed: | venv
	@echo "installing $(TRITON_PIN) into $(FUSED) (285 MB to fetch, 1.1 GB unpacked)"
	@$(BIN)/python -m pip install -qq --no-deps --target $(FUSED) '$(TRITON_PIN)'
	@touch $@

# What the mirror imports beside torch and NumPy, to be taken to a machine without a network; see docs/training.md.
.PHONY: bare
bare: venv ## Gather what a machine with a GPU, torch and NumPy alone lacks, in out/bare
	rm -rf out/bare
	$(BIN)/python -m pip install -qq --no-deps --target out/bare -c constraints.txt \
	  array-api-compat jaxtyping safetensors wadler-lindig

.PHONY: claims
claims: venv ## Run the evidence of every claim of the ledger again
	$(BIN)/fedspec claims run --all --jobs $(JOBS)

# Claims whose stored run took at most so many seconds.
UPTO ?= inf

.PHONY: recheck
recheck: venv ## The same, with short searches beside what they found last
	$(BIN)/fedspec claims run --all --recheck --upto $(UPTO) --jobs $(JOBS)

.PHONY: kernel
kernel: venv ## Have Coq's kernel check the certificates and refuted theorems (installs Coq by apt-get)
	$(BIN)/python scripts/kernel.py --install

# What the site is built with, and what drives a browser over it, join the environment when they are asked for.
.PHONY: site
site: $(VENV)/.site ## Build the site in out/site, to be opened from the disk (half a minute)
	@rm -rf out/site out/site-source
	PYTHONPATH=site $(BIN)/python -m fedspec_site out/site-source
	PYTHONPATH=site $(BIN)/python -m sphinx -q -W --keep-going -j $(JOBS) -c site -d out/site-source/.doctrees \
	  out/site-source out/site
	@echo "out/site/index.html"

.PHONY: browser
browser: $(VENV)/.browser ## Install what drives Chromium over the site (site/test_site; make outside)

$(VENV)/.site $(VENV)/.browser: $(VENV)/.%: $(STAMP)
	@printf '%s\n' '-c ../constraints.txt' '-e .[$*]' >$(VENV)/$*.txt
	@$(BIN)/python -P judge/fedspec_suite/subjects/installing.py $(VENV)/$*.txt
	@touch $@

.PHONY: wheel
wheel: venv ## Build the three wheels and prove them in an empty environment
	@rm -rf dist
	for project in . impl proofs_check; do $(BIN)/python -m build --wheel --no-isolation --outdir dist $$project; done
	bash scripts/wheel_smoke.sh '$(BIN)/python' dist

.PHONY: vectors-wheel
vectors-wheel: venv ## Build the vectors as a wheel that needs Python alone (dist)
	$(BIN)/python scripts/vectors_wheel.py

.PHONY: test
test: venv ## What must pass before a commit: lint, types, quick claims, tests
	@# Side by side: the types and the last tests take one core at a time.
	@$(MAKE) --no-print-directory -j 4 -Oline lint types recheck tests UPTO=0.3

.PHONY: outside
outside: venv ## What needs published packages, a browser or an empty environment, what is slow, more cases, every claim
	@# One more than there are cores: a quarter of the time was waiting for installations, servers and the browser.
	FEDSPEC_PROFILE=outside $(BIN)/pytest -n $$(( $(JOBS) + 1 )) --dist worksteal $(ARGS)
	@$(MAKE) --no-print-directory -j $(JOBS) -O recheck wheel

.PHONY: refresh-constraints
refresh-constraints: check-python ## Resolve the newest dependencies into constraints.txt
	bash scripts/refresh_constraints.sh '$(PYTHON)' '$(TORCH_PIN)'

.PHONY: clean
clean: ## Remove the environment, build outputs and caches
	rm -rf $(VENV) build dist out .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
