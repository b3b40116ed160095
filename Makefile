# Everything here needs JDK 17, Python 3.10+ and make on the machine, and brings the rest along.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JARS := jvm/connector/target/jars/.ready

.PHONY: help demo test test-scala test-python soak bench lint format docs-options jars clean

help: ## What there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(JARS) ## The main job on two local clusters, with the verdict at the end
	$(RUN) examples/demo.py

test: test-scala test-python ## All tests

test-scala: $(VENV)/ready ## Suites, on real brokers
	@mkdir -p target
	./sbt test 2>&1 | tee target/scalatest.log
	@awk '/Tests: succeeded/ { gsub(",", ""); for (i = 1; i < NF; i++) { if ($$i == "succeeded") ok += $$(i + 1); if ($$i == "failed") bad += $$(i + 1) } } \
	  END { printf "scalatest: %d passed, %d failed\n", ok, bad; exit bad > 0 }' target/scalatest.log

test-python: $(JARS) ## Python's tests and those from end to end, on real brokers
	cd python && ../$(RUN) -m pytest -q
	$(RUN) -m pytest -q tests

soak: $(JARS) ## At least 200 random events under load; SEED=n repeats a run
	$(RUN) -m tests.soak --events 200 $(if $(SEED),--seed $(SEED))

bench: $(JARS) ## Ratios against Spark's built-in source; prints a table, writes JSON; BENCH="--steps scale" for a part
	$(RUN) -m benchmark $(BENCH)

lint: $(VENV)/ready ## Formatting, lint, types, warnings as errors
	./sbt scalafmtCheckAll scalafmtSbtCheck Test/compile
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	cd python && ../$(RUN) -m mypy

docs-options: $(VENV)/ready ## docs/options.md from the option table
	./sbt "connector/Test/runMain io.github.dynamickafka.config.OptionsDocFile"

format: $(VENV)/ready ## Puts all sources in order
	./sbt scalafmtAll scalafmtSbt
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

jars: $(JARS) ## The connector's jar and those it needs beside Spark, in jvm/connector/target/jars

clean: ## Removes all that was made here
	rm -rf $(VENV) target project/target project/project jvm/*/target

$(JARS): $(VENV)/ready $(shell git ls-files 'jvm/*/src/main' build.sbt version.sbt project 2>/dev/null)
	./sbt connector/localJars testkit/testkitClasspath benchmark/package
	touch $@

$(VENV)/ready: requirements-dev.txt version.sbt python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e python
	touch $@
