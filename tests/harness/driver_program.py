"""The driver program: a Spark session that starts and stops queries by commands in JSON lines.

    python -m tests.harness.driver_program FOLDER CONF

It reads commands from stdin and writes events to stdout. When stdin is closed, because the test has ended or was
killed, it kills itself and its JVM with SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from . import output_frames
from .jars import connector_jars, testkit_jar
from .options import set_all
from .services import SlowFileService
from .sink import Sink
from .steps import Steps


class Events:
    """Events for the test. Output of Spark is redirected to stderr."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def emit(self, event: str, **values: Any) -> None:
        """Write an event as one line."""
        line = json.dumps({"event": event, **values})
        with self._lock:
            self._out.write(line + "\n")
            self._out.flush()


class Progress(StreamingQueryListener):
    """Forwards the progress that Spark reports."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def onQueryStarted(self, event: Any) -> None:
        """Ignored: `start` has reported it."""

    def onQueryProgress(self, event: Any) -> None:
        """Report the progress of each batch, and of triggers without one from time to time."""
        progress = json.loads(event.progress.json)
        self._events.emit("progress", query=progress["name"], progress=progress)

    def onQueryIdle(self, event: Any) -> None:
        """Ignored."""

    def onQueryTerminated(self, event: Any) -> None:
        """Ignored: the thread that waits for the query reports it with more detail."""


class Driver:
    """The session and its queries."""

    def __init__(self, folder: Path, conf: dict[str, str]) -> None:
        self._events = Events()
        self._spark = _session(folder, conf)
        self._spark.streams.addListener(Progress(self._events))
        self._queries: dict[str, StreamingQuery] = {}
        self._runs: dict[str, int] = {}
        self._steps = Steps(self._spark, self._stuck)
        self._events.emit("ready", pid=os.getpid())

    def run(self) -> None:
        """Execute commands until stdin is closed. Commands run concurrently."""
        for line in sys.stdin:
            command = json.loads(line)
            threading.Thread(target=self._execute, args=(command,), daemon=True).start()

    def _execute(self, command: dict[str, Any]) -> None:
        name = command["query"]
        try:
            getattr(self, "_" + command["command"])(name, command)
        except Exception as error:
            self._events.emit("terminated", query=name, run=command["run"], error=str(error))

    def _start(self, name: str, command: dict[str, Any]) -> None:
        folder = Path(command["folder"])

        def emit(event: str, **values: Any) -> None:
            self._events.emit(event, query=name, run=command["run"], **values)

        sink = Sink(folder, command["fault"], emit)
        frame = output_frames.unchanged(self._frame(command), command["fault"], str(folder / "task-fault"))
        self._run(name, command, frame.writeStream.foreachBatch(sink))

    def _write(self, name: str, command: dict[str, Any]) -> None:
        """Start a query that writes to a stream."""
        fault = command["fault"]
        self._runs[name] = command["run"]
        if "step" in fault:
            self._steps.halt(name, fault["step"], fault["batch"])
        else:
            self._steps.forget(name)
        source = self._frame(command)
        if command["shape"] == "once":
            frame = output_frames.once(source)
        elif command["shape"] == "ordered":
            frame = output_frames.ordered(source, fault, str(Path(command["folder"]) / "task-fault"))
        elif command["shape"] == "both":
            frame = output_frames.both(source)
        elif command["shape"] == "counted":
            frame = output_frames.counted(source)
        else:
            frame = output_frames.mapped(source, fault, str(Path(command["folder"]) / "task-fault"))
        writer = frame.writeStream.outputMode("update").format("dynamic-kafka").options(**command["write"])
        self._run(name, command, writer)

    def _real_time(self, name: str, command: dict[str, Any]) -> None:
        """Start a query that copies a stream, with the trigger of real-time mode."""
        write = DynamicKafka.writer(self._frame(command).select("key", "value"))
        set_all(write, command["write"])
        self._run(name, command, write.write_stream().outputMode("update"))

    def _end(self, name: str, command: dict[str, Any]) -> None:
        DynamicKafka.stop(self._queries[name])

    def _release(self, name: str, command: dict[str, Any]) -> None:
        self._steps.release(name)

    def _stuck(self, name: str, step: str, batch: int) -> None:
        self._events.emit("stuck", query=name, run=self._runs[name], step=step, batch=batch)

    def _run(self, name: str, command: dict[str, Any], writer: DataStreamWriter) -> None:
        def emit(event: str, **values: Any) -> None:
            self._events.emit(event, query=name, run=command["run"], **values)

        checkpoint = Path(command["folder"]) / "checkpoint"
        writer = writer.queryName(name).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(**command["trigger"]).start()
        self._queries[name] = query
        emit("started")
        try:
            query.awaitTermination()
            emit("terminated", error=None)
        except Exception as error:
            emit("terminated", error=_whole(error))

    def _settle(self, name: str, command: dict[str, Any]) -> None:
        # A running trigger may have asked for end offsets before the call, the next one has not. Clusters are asked
        # ahead: on a busy machine, a trigger may use the response to the one before.
        for _ in range(5):
            self._queries[name].processAllAvailable()
            time.sleep(0.15)
        self._events.emit("settled", query=name, run=command["run"])

    def _stop(self, name: str, command: dict[str, Any]) -> None:
        self._queries[name].stop()

    def _explain(self, name: str, command: dict[str, Any]) -> None:
        """Report all texts in which Spark shows a plan."""
        frame = self._frame(command)
        plans = [frame._jdf.queryExecution().toString(), frame._jdf.logicalPlan().toJSON()]
        if name in self._queries:
            running = self._queries[name]._jsq
            plans += [running.explainInternal(True), running.toString(), str(self._queries[name].lastProgress)]
        self._events.emit("explained", query=name, run=command["run"], text="\n".join(plans))

    def _frame(self, command: dict[str, Any]) -> DataFrame:
        path = command["metadata"]
        service = SlowFileService(path) if command["service"] == "python" else FileMetadataService(path)
        builder = DynamicKafka.builder(self._spark).set_kafka_metadata_service(service)
        builder.set_stream_ids(*command["streams"])
        set_all(builder, command["options"])
        return builder.load()


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _whole(error: Exception) -> str:
    """The error with the JVM's text, which is what users find in logs."""
    origin = getattr(error, "_origin", None)
    return str(error) if origin is None else f"{error}\n{origin}"


def _session(folder: Path, conf: dict[str, str]) -> SparkSession:
    log = Path(__file__).with_name("log4j2.properties")
    builder = SparkSession.builder.master("local[2]").appName("dynamic-kafka-e2e")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Dlog4j2.configurationFile={log.as_uri()}",
        "spark.sql.shuffle.partitions": "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": _made(folder.resolve() / "events").as_uri(),
        "spark.sql.streaming.stopTimeout": "30s",
        # The default of 10 ms keeps a core busy while a query is idle.
        "spark.sql.streaming.pollingDelay": "100ms",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "spark"),
    }
    for name, value in (settings | conf).items():
        builder = builder.config(name, value)
    # The testkit is for faults in tasks.
    spark = DynamicKafka.configure(builder, jars=[*connector_jars(), testkit_jar()]).getOrCreate()
    # PySpark suppresses levels below WARN, whatever the file contains, until the level is changed.
    for level in ("WARN", "INFO"):
        spark.sparkContext.setLogLevel(level)
    return spark


if __name__ == "__main__":
    try:
        Driver(Path(sys.argv[1]), json.loads(sys.argv[2])).run()
    finally:
        os.killpg(os.getpgid(0), signal.SIGKILL)
