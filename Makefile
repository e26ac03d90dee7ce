# Every target does its own set-up: on a fresh Debian, as root, `make emulate` or `make test` is enough.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON_BIN := .venv/bin
SCENARIO ?= scenarios/quickstart.yaml
ARGS ?=

# Bytecode of the tree is kept even where the user's shell forbids it, because every command that the tests start would
# otherwise compile the modules it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup runs all base docker image emulator-image emulate test lint docs gauntlet proof bench smoke doctor proto dist \
	clean distclean

help: ## Show this help
	@echo 'Usage: make TARGET [SCENARIO=FILE] [ARGS="..."]'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Examples: make emulate'
	@echo '          make emulate SCENARIO=scenarios/quickstart.yaml ARGS="--seed 7 --runtime process"'
	@echo '          make test ARGS="tests/topology -k mean_degree"'

# $(call install,runs|all|tests): see setup/system.sh. The environment is filled while system packages are installed.
define install
	@setup/system.sh python
	@setup/venv.sh $(1) & environment=$$!; status=0; setup/system.sh $(1) || status=$$?; wait $$environment && exit $$status
	@setup/proto.sh
endef

# A host without Docker still runs the lower runtimes; `brokerlab emulate` states which, and the reason.
build_image = { setup/docker-daemon.sh && $(PYTHON_BIN)/python setup/image.py; } || \
	echo 'set-up: continuing without Docker; `make doctor` shows what cannot run without it' >&2

# What runs on this host need, without Spark and its Java, which are most of what is fetched for `make setup`.
runs:
	$(call install,runs)

all:
	$(call install,all)

base: ## Install what style, types, tests and the documentation need as well
	$(call install,tests)

docker: runs
	@setup/docker-daemon.sh

image: docker ## Build the broker image, unless this tree's exists
	@$(PYTHON_BIN)/python setup/image.py

# For hosts without Mininet and Java, so it does not depend on `runs`, which installs both.
emulator-image: ## Build the image of docker-compose's emulator and Spark: minutes, 1.4 GB, only when asked for
	@setup/system.sh images
	@setup/venv.sh
	@setup/proto.sh
	@setup/docker-daemon.sh
	@$(PYTHON_BIN)/python setup/image.py
	@$(PYTHON_BIN)/python setup/emulator_image.py

setup: all ## Install, generate, start and build what is missing for all commands
	@{ $(PYTHON_BIN)/python setup/spark_classes.py || echo 'set-up: continuing without the archive of classes' >&2; } & \
	$(build_image); wait
	@echo 'set-up: done; "make doctor" shows what this host can run, "make emulate" makes a first run'

proto: runs ## Generate the protobuf code again if proto/ changed

emulate: runs ## Run SCENARIO (the quickstart unless given), analyse it, print both verdicts
	@$(build_image)
	@$(PYTHON_BIN)/brokerlab emulate $(SCENARIO) $(ARGS)

# On several workers; tests/placement.py says which tests may run side by side. ARGS="-n0" is one process, for -s.
test: base setup lint ## Lint, type-check and test the sources; ARGS goes to pytest
	$(PYTHON_BIN)/python -m pytest -n auto $(ARGS)

lint: base ## Check style, format and types
	$(PYTHON_BIN)/ruff check
	$(PYTHON_BIN)/ruff format --check
	$(PYTHON_BIN)/mypy

docs: base ## Build the documentation's site in site/, to be read without a network
	@NO_MKDOCS_2_WARNING=1 $(PYTHON_BIN)/python -m mkdocs build --quiet
	@echo "the documentation: file://$(CURDIR)/site/index.html"

gauntlet: base ## Plant defects and see the verdicts name each: 15 minutes; ARGS="--only medym", "--part 1/5 --seed 7", "--list"
	@$(PYTHON_BIN)/python -m tests.gauntlet $(ARGS)

# Properties with sixteen times the examples, all tests of clusters, hosts and brokers of which `make test` runs a twelfth,
# the whole gauntlet, every recorded digest, then verdicts on real brokers, and the services of docker-compose, whose image
# takes too long for `make test`.
proof: base setup ## Prove at length what `make test` tries a part of: 2 hours 30 minutes; ARGS goes to pytest
	BROKERLAB_PROOF=1 $(PYTHON_BIN)/python -m pytest -n auto --timeout 7200 \
		-m 'not container and not host and not guest and not spark and not alone' \
		tests/properties tests/contracts tests/broker_service tests/scenario tests/command_line tests/wire \
		tests/analysis/judging/language $(ARGS)
	$(PYTHON_BIN)/python -m pytest -n auto -m proof $(ARGS)
	$(PYTHON_BIN)/python -m tests.gauntlet
	$(PYTHON_BIN)/python -m tests.unchanged.record --compare
	$(PYTHON_BIN)/python -m tests.fidelity_proof
	$(MAKE) emulator-image
	$(PYTHON_BIN)/python -m pytest tests/setup/test_compose.py

bench: base setup ## Run all benchmarks against their targets: 70 minutes; 5 with ARGS=quick; ARGS="NAME ..." for some of them
	@$(PYTHON_BIN)/python -m benchmarks $(ARGS)

smoke: image ## Three brokers on a plain compose network, no Mininet: a quick check of the image
	@setup/smoke.sh

doctor: runs ## Show what this host can run, what it lacks and how to get it
	@$(PYTHON_BIN)/brokerlab doctor

dist: base ## Build the wheel and the source distribution in dist/: `pip install dist/brokerlab-*.whl` needs no checkout
	@setup/dist.sh

# runs/ stays, because it is the user's. So does Docker, because others may use it by now.
clean: ## Remove leftovers of dead runs on this host, and the caches of the tools; keeps runs/
	@if [ -x $(PYTHON_BIN)/brokerlab ]; then $(PYTHON_BIN)/brokerlab clean; fi
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
	@find . -path ./.venv -prune -o -path ./runs -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## Undo set-up as well: the images, .venv, .cache, the Docker daemon if set-up started it; keeps runs/
	@if [ -x $(PYTHON_BIN)/python ]; then $(PYTHON_BIN)/python setup/remove_images.py; fi
	@setup/docker-daemon.sh stop
	@rm -rf .venv .cache dist *.egg-info {analysis,broker_service}/generated/*_pb2*.py*
