"""The requests of the driver to the brokers for each trigger, with alignment and without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.context import Context
from benchmark.query import RecordsRead, checkpoint, jvm, noop, progress, running, wait
from benchmark.sources import StreamsFile, product
from benchmark.steps.event_time.queries import STEP
from benchmark.steps.event_time.rate import cases, level_members

# The connector's admin clients are not registered in JMX by default: what they count is read there.
COUNTED = {
    "auto.include.jmx.reporter": "true",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
}
BEANS = "kafka.admin.client:type=admin-client-metrics,*"


def run(bench: Context) -> None:
    """Count what the driver's admin clients have sent when a running query has read its backlog."""
    members = level_members(bench)
    file = StreamsFile(bench.folder / f"{STEP}-requests.yaml", members)
    rows = []
    for case in cases(bench):
        for name, options in (("without", case.plain), ("aligned", case.aligned)):
            requests, batches = _measure(bench, file.path, options, bench.sizes.records * len(members))
            bench.results.add(
                STEP, part="requests", case=case.name, options=dict(options), requests=requests, batches=batches
            )
            bench.say(f"{case.name}, {name}: {requests} requests in {batches} batches")
            each = requests / batches / len(members)
            rows.append([case.name, name, str(batches), str(requests), f"{each:.1f}"])
    bench.results.table(
        "Requests of the driver's admin clients from the start of a query until it has read its backlog, 2 clusters",
        ["case", "alignment", "batches", "requests", "per batch and cluster"],
        rows,
    )


def _measure(bench: Context, file: Path, options: Mapping[str, str], records: int) -> tuple[int, int]:
    # Clients of an earlier query may still be registered.
    before = _requests(bench)
    frame = product(bench.spark, file, properties=COUNTED, options=options)
    with checkpoint() as folder, running(noop(frame, folder).start()) as query:
        read = RecordsRead(query)
        wait(query, lambda: read.now() >= records, f"{records} records", timeout_s=600)
        now = _requests(bench)
        batches = sum(1 for batch in progress(query) if batch["numInputRows"] > 0)
    # The names of clients are not used again.
    return int(sum(n - before.get(name, 0) for name, n in now.items())), batches


def _requests(bench: Context) -> dict[str, float]:
    """The requests that each admin client of the driver has sent since it was opened, to all brokers."""
    beans = _jmx(bench, "queryNames", jvm(bench.spark).javax.management.ObjectName(BEANS), None)
    return {str(bean.toString()): float(_jmx(bench, "getAttribute", bean, "request-total")) for bean in beans}


def _jmx(bench: Context, method: str, *arguments: Any) -> Any:
    """Call a method of JMX's interface. The class of the server, where py4j would look for it, is not exported."""
    gateway: Any = bench.spark.sparkContext._gateway
    java = jvm(bench.spark).java
    methods = java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    values = gateway.new_array(java.lang.Object, len(arguments))
    for i, argument in enumerate(arguments):
        values[i] = argument
    server = java.lang.management.ManagementFactory.getPlatformMBeanServer()
    return next(m for m in methods if m.getName() == method).invoke(server, values)
