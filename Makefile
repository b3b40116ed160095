# Everything here needs JDK 17, Python 3.10+ and make on the machine, and brings the rest along.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JARS := jvm/connector/target/jars/.ready
BUILD_JARS := connector/localJars testkit/testkitClasspath benchmark/package
SOURCES := $(shell git ls-files 'jvm/*/src/main' build.sbt version.sbt project 2>/dev/null)

# A home of its own for what is published here, so that nobody's own ~/.m2 changes.
HOME_OF_TESTS := target/home
# One leaves cores idle while its tests wait; two keep both busy.
WORKERS := 2
PUBLISHED := $(HOME_OF_TESTS)/.ready
TO_HOME_OF_TESTS := -Dmaven.repo.local=$(CURDIR)/$(HOME_OF_TESTS)/.m2/repository

# The other Spark lines, each with jars and a PySpark of its own; that of `make` itself is the first of the table.
LINES := 4.1 4.2
LINE ?= 4.1
# PySpark that runs the jars of a line: of the table, or PYSPARK=4.3.0.
PYSPARK ?= $(shell awk -F'"' '/minor = "$(LINE)"/ { found = 1 } found && /spark = / { print $$2; exit }' project/SparkLines.scala)
LINE_VENV := target/venv-$(PYSPARK)
LINE_RUN := $(LINE_VENV)/bin/python
# What touches Spark's interfaces most.
LINE_SUITES := TopologyChangeSuite TriggerSuite RestartSuite GoldenCheckpointSuite MetricsSuite BundleReaderSuite WriteSuite ErrorConditionsSuite
SMOKE_TESTS := tests/lines tests/e2e/test_writer.py
LINE_TESTS := $(SMOKE_TESTS) tests/e2e/test_driver_killed.py

.PHONY: help demo test test-scala test-python test-lines test-line smoke-line smoke-lines soak soak-sink bench coverage lint format docs docs-options \
  jars published clean

help: ## What there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(JARS) ## The main job on two local clusters, with the verdict at the end
	$(RUN) examples/demo.py

test: test-scala test-python smoke-lines ## All tests

test-scala: $(VENV)/ready ## Suites, on real brokers; then what Python's tests need, in the same run of sbt
	@mkdir -p target
	./sbt $(TO_HOME_OF_TESTS) test $(BUILD_JARS) connector/publishM2 2>&1 | tee target/scalatest.log
	@awk '/Tests: succeeded/ { gsub(",", ""); for (i = 1; i < NF; i++) { if ($$i == "succeeded") ok += $$(i + 1); if ($$i == "failed") bad += $$(i + 1) } } \
	  END { printf "scalatest: %d passed, %d failed\n", ok, bad; exit bad > 0 }' target/scalatest.log
	@touch $(JARS) $(PUBLISHED)

test-python: $(JARS) $(PUBLISHED) ## Python's tests and those from end to end, on real brokers
	cd python && ../$(RUN) -m pytest -q
	$(RUN) -m pytest -q -n $(WORKERS) --dist loadfile tests --ignore tests/lines

smoke-lines: $(JARS) ## Each other Spark line: compiled with warnings as errors, one read and one write on real brokers
	@for line in $(LINES); do $(MAKE) --no-print-directory smoke-line LINE=$$line; done

smoke-line: $(JARS) $(LINE_VENV)/ready
	./sbt -DsparkLine=$(LINE) connector/localJars
	$(LINE_RUN) -m pytest -q $(SMOKE_TESTS)

test-lines: ## Each other Spark line in its short form, and PySpark 4.3 with the jars of 4.2
	@for line in $(LINES); do $(MAKE) --no-print-directory test-line LINE=$$line; done
	$(MAKE) --no-print-directory smoke-line LINE=4.2 PYSPARK=4.3.0

test-line: $(JARS) $(LINE_VENV)/ready ## One Spark line in its short form: LINE=4.1
	./sbt -DsparkLine=$(LINE) Test/compile connector/localJars "connector/testOnly $(addprefix *,$(LINE_SUITES))"
	$(LINE_RUN) -m pytest -q $(LINE_TESTS)

soak: $(JARS) ## At least 200 random events under load; SEED=n repeats a run
	$(RUN) -m tests.soak --events 200 $(if $(SEED),--seed $(SEED))

soak-sink: $(JARS) ## The same with a query that writes, exactly once: at least 100 events
	$(RUN) -m tests.soak --sink --events 100 $(if $(SEED),--seed $(SEED))

bench: $(JARS) ## Ratios against Spark's built-in source; prints a table, writes JSON; BENCH="--steps scale" for a part
	$(RUN) -m benchmark $(BENCH)

# All suites, or some: SUITES="*offset.*".
SUITES := *
coverage: $(VENV)/ready ## Lines and branches that the suites and python/tests run: a table, HTML in target/coverage; SUITES="*offset.*"
	rm -rf target/coverage && mkdir -p target/coverage
	./sbt -Dcoverage=true 'connector/testOnly $(SUITES)' connector/coverageReport
	cd python && ../$(RUN) -m coverage run -m pytest -q
	cd python && ../$(RUN) -m coverage html --quiet && ../$(RUN) -m coverage report

lint: $(VENV)/ready ## Formatting, lint, types, warnings as errors
	./sbt scalafmtCheckAll scalafmtSbtCheck Test/compile connector/mimaReportBinaryIssues
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	cd python && ../$(RUN) -m mypy

docs-options: $(VENV)/ready ## docs/options.md from the option table
	./sbt "connector/Test/runMain io.github.dynamickafka.config.OptionsDocFile"

docs: $(VENV)/ready ## API documentation: target/docs/scala and target/docs/python
	rm -rf target/docs
	./sbt connector/doc
	mkdir -p target/docs
	cp -r jvm/connector/target/scala-2.13/api target/docs/scala
	$(RUN) -m pdoc --docformat google --output-directory target/docs/python dynamic_kafka

format: $(VENV)/ready ## Puts all sources in order
	./sbt scalafmtAll scalafmtSbt
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

jars: $(JARS) ## The connector's jar and those it needs beside Spark, in jvm/connector/target/jars

clean: ## Removes all that was made here
	rm -rf $(VENV) target project/target project/project jvm/*/target

published: $(PUBLISHED) ## The connector in a Maven repository of its own, in target/home

$(JARS): $(VENV)/ready $(SOURCES)
	./sbt $(BUILD_JARS)
	touch $@

$(PUBLISHED): $(VENV)/ready $(SOURCES)
	./sbt $(TO_HOME_OF_TESTS) connector/publishM2
	touch $@

$(VENV)/ready: requirements-dev.txt version.sbt python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e python
	touch $@

target/venv-%/ready: requirements-dev.txt version.sbt python/pyproject.toml
	$(PYTHON) -m venv $(@D)
	sed 's/^pyspark==.*/pyspark==$*/' requirements-dev.txt > $(@D)/requirements.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(@D)/requirements.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e python
	touch $@
