"""Every code block of the documents is run, or parsed by the program that it is for."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import sys
import threading
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

sys.path.insert(0, str(docs.ROOT / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Record, Testkit

from tests.harness.command import command as run_command
from tests.harness.own_jvm import own_jvm
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

JARS = sorted(docs.ROOT.glob("jvm/connector/target/jars/*.jar"))
# The documents whose steps take two minutes and more.
LONG = {"docs/moving.md", "docs/change-data.md"}
PYTHON_DOCUMENTS = [
    pytest.param(document, marks=pytest.mark.test_all if document in LONG else ())
    for document in sorted({block.document for block in docs.blocks("python")})
]
AWAIT_TERMINATION = StreamingQuery.awaitTermination
# The addresses of blue and green in the documents.
ADDRESSES = {"blue": "localhost:19092", "green": "localhost:29092"}
# The copy of green.
STANDBY = {"standby": "localhost:39092"}
# The stream that the documents write to, with the 200 orders, and the other one of a query that writes to two.
WRITTEN = "shipments"
AUDIT = "audit"
ORDERS = 200
# The document whose metadata files replace each other.
MOVING = "docs/moving.md"
COMMAND = "$ python -m dynamic_kafka "
STATEMENT = "sql> "


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classes of docs/extending.md, as a jar."""
    folder = tmp_path_factory.mktemp("classes")
    _compile([docs.ROOT / "examples" / "Extending.scala"], folder)
    jar = folder.with_suffix(".jar")
    with zipfile.ZipFile(jar, "w") as archive:
        for file in folder.rglob("*.class"):
            archive.write(file, file.relative_to(folder).as_posix())
    return jar


@pytest.fixture(scope="module")
def spark(classes: Path) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.sql.shuffle.partitions", 1).config("spark.driver.host", "localhost")
    with own_jvm():
        session = DynamicKafka.configure(builder, jars=[*JARS, classes]).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def testkit() -> Iterator[Testkit]:
    with Testkit() as testkit:
        yield testkit


@pytest.fixture(scope="module")
def clusters(testkit: Testkit) -> list[Cluster]:
    """Blue and green, with a few records in each topic that the documents read, and the topics that they write to."""
    started = testkit.start_all(*ADDRESSES)
    for cluster in started:
        for written in (WRITTEN, AUDIT):
            cluster.create_topic(written, partitions=2)
        for topic in ("orders", "payments"):
            cluster.create_topic(topic, partitions=2)
            cluster.produce(topic, [Record(n % 2, None, str(n)) for n in range(100)])
    return started


@pytest.fixture(scope="module")
def consul(clusters: list[Cluster]) -> Iterator[str]:
    """The address of a server with the answer that Consul has in docs/extending.md."""
    entries = [
        {"Key": f"kafka/orders/{c.name}", "Value": base64.b64encode(c.bootstrap_servers.encode()).decode()}
        for c in clusters
    ]

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/v1/kv/kafka/?recurse=true"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(json.dumps(entries if found else []).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def here(tmp_path: Path, clusters: list[Cluster]) -> Path:
    """A folder with the metadata file of the documents."""
    streams = (docs.ROOT / "examples" / "streams.yaml").read_text()
    more = "  payments: {clusters: {green: {topics: [payments]}}}\n"
    for stream in (WRITTEN, AUDIT):
        more += f"  {stream}: {{clusters: {{blue: {{topics: [{stream}]}}, green: {{topics: [{stream}]}}}}}}\n"
    more += "".join(f"  orders-{id}: {{clusters: {{{id}: {{topics: [orders]}}}}}}\n" for id in ADDRESSES)
    # For the documents that use the format of the metadata.
    streams = streams.replace("  orders:\n", "  orders:\n    format: string\n")
    (tmp_path / "streams.yaml").write_text(_with_addresses(streams, clusters) + more)
    return tmp_path


@pytest.mark.parametrize("document", PYTHON_DOCUMENTS)
def test_python_runs(
    document: str,
    spark: SparkSession,
    testkit: Testkit,
    clusters: list[Cluster],
    here: Path,
    consul: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Runs the blocks of a document one after the other, as a reader would."""
    monkeypatch.setattr(StreamingQuery, "awaitTermination", _read_all_and_stop)
    # A catalog keeps its settings as long as its session.
    session = spark.newSession()
    # The names that a document expects a reader of the README to have.
    names: dict[str, Any] = {
        "spark": session,
        "DynamicKafka": DynamicKafka,
        "FileMetadataService": FileMetadataService,
        "OffsetsInitializer": OffsetsInitializer,
    }
    standby: Cluster | None = None
    for block in docs.blocks("python", "text", "properties", "yaml"):
        if block.document != document:
            continue
        if block.language == "text":
            _run_command(block.text, session, here)
        elif block.language == "properties":
            standby = _mirrored(block.text, testkit, clusters)
        elif block.language == "yaml":
            if document == MOVING and standby is None:
                (here / "streams.yaml").write_text(_with_addresses(block.text, clusters))
            elif standby is not None:
                # What the metadata become.
                (here / "next.yaml").write_text(_with_addresses(block.text, [*clusters, standby]))
                standby.produce("payments", [Record(n % 2, None, "after") for n in range(10)])
        else:
            if (here / "next.yaml").exists():
                (here / "next.yaml").replace(here / "streams.yaml")
            if '"replacedClusterPolicy"' in block.text:
                # Payments keep arriving: their offsets are committed to the group.
                _of("green", clusters).produce("payments", [Record(n % 2, None, "more") for n in range(20)])
            text = block.text.replace('"streams.yaml"', repr(str(here / "streams.yaml")))
            text = text.replace('"/checkpoints/', f'"{here}/checkpoints/').replace("http://localhost:8500", consul)
            before = _written(clusters)
            code = compile(_with_addresses(text, clusters), str(block), "exec")
            exec(code, names)
            if f'"{WRITTEN}")' in text:
                assert _written(clusters) - before == ORDERS
            if f'"{AUDIT}")' in text:
                assert _written(clusters, AUDIT) == ORDERS
            for frame in ("orders", "counts"):
                if isinstance(names.get(frame), DataFrame):
                    _run(names.pop(frame), here / f"checkpoint-{frame}-{block.line}")
    if standby is not None:
        # Each partition has 60 payments on the old cluster and 5 on the copy, where they begin at another offset.
        assert {row.partition: row["count"] for row in session.table("totals").collect()} == {0: 65, 1: 65}


def _mirrored(properties: str, testkit: Testkit, clusters: list[Cluster]) -> Cluster:
    """Start a copy of green, with MirrorMaker as a document configures it, and wait until all is copied.

    The copy has other offsets: the topic had ten records in each partition before.
    """
    green = _of("green", clusters)
    standby = testkit.start("standby")
    standby.create_topic("payments", partitions=2)
    standby.produce("payments", [Record(n % 2, None, "before") for n in range(20)])
    lines = _with_addresses(properties, [green, standby]).splitlines()
    of_document = dict(line.split(" = ", 1) for line in lines)
    testkit.mirror(
        green, standby, alias="green", target_alias="standby", topics=[], groups=[], properties=of_document
    )
    until(
        "checkpoints of the last offsets",
        lambda: standby.committed_offsets("totals").get("payments") == {0: 70, 1: 70},
    )
    return standby


def _run_command(text: str, spark: SparkSession, here: Path) -> None:
    """Compare the output of a command or a statement with that in a document."""
    command, _, output = text.partition("\n")
    if command.startswith(STATEMENT):
        statement = command.removeprefix(STATEMENT).replace("/checkpoints/", f"{here}/checkpoints/")
        statement = statement.replace("'streams.yaml'", f"'{here}/streams.yaml'")
        printed = StringIO()
        with redirect_stdout(printed):
            spark.sql(statement).show(truncate=False)
        assert printed.getvalue().strip() == output.strip()
    elif command.startswith(COMMAND):
        arguments = command.removeprefix(COMMAND).replace("/checkpoints/", f"{here}/checkpoints/")
        for file in ("streams.yaml", "next.yaml"):
            arguments = arguments.replace(f" {file}", f" {here}/{file}")
        reply = run_command(*shlex.split(arguments))
        assert (reply.stdout + reply.stderr).replace(str(here), "") == output


@pytest.mark.parametrize("block", docs.blocks("yaml"), ids=str)
def test_yaml_is_metadata(block: docs.Block, spark: SparkSession) -> None:
    assert _streams(block.text, spark).contains("orders")


def test_metadata_of_the_example(spark: SparkSession) -> None:
    assert _streams((docs.ROOT / "examples" / "streams.yaml").read_text(), spark).contains("orders")


@pytest.mark.parametrize("block", docs.blocks("json"), ids=str)
def test_json_is_read(block: docs.Block, spark: SparkSession, here: Path) -> None:
    parsed = json.loads(block.text)
    if "version" in parsed:
        codec = _connector(spark).offset.CompositeOffsetJson
        assert json.loads(codec.write(codec.read(block.text))) == parsed
    else:
        service = FileMetadataService(here / "streams.yaml")
        builder = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
        assert builder.set_option("startingOffsets", block.text).load().isStreaming


def test_scala_compiles(tmp_path: Path) -> None:
    """Compiles with the Scala compiler that is part of PySpark."""
    sources = [docs.ROOT / "examples" / "Quickstart.scala"]
    for number, block in enumerate(docs.blocks("scala")):
        source = tmp_path / f"Block{number}.scala"
        spark = "def spark: org.apache.spark.sql.SparkSession = ???"
        source.write_text(f"object Block{number} {{\n{spark}\n{block.text}\n}}\n")
        sources.append(source)
    _compile(sources, tmp_path)


def _compile(sources: list[Path], to: Path) -> None:
    class_path = ":".join(map(str, [*Path(pyspark.__file__).parent.glob("jars/*.jar"), *JARS]))
    compiler = ["java", "-cp", class_path, "scala.tools.nsc.Main", "-usejavacp", "-d", str(to)]
    done = subprocess.run([*compiler, *map(str, sources)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _connector(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.io.github.dynamickafka


def _streams(text: str, spark: SparkSession) -> Any:
    return _connector(spark).metadata.document.MetadataDocument.parse(text, "a document")


def _of(name: str, clusters: list[Cluster]) -> Cluster:
    return next(cluster for cluster in clusters if cluster.name == name)


def _with_addresses(text: str, clusters: list[Cluster]) -> str:
    for cluster in clusters:
        text = text.replace((ADDRESSES | STANDBY)[cluster.name], cluster.bootstrap_servers)
    return text


def _written(clusters: list[Cluster], topic: str = WRITTEN) -> int:
    return sum(len(cluster.dump(topic, committed_only=True)) for cluster in clusters)


def _run(frame: Any, checkpoint: Path) -> None:
    """Read all available records: a query that is not started would prove little."""
    if not frame.isStreaming:
        assert frame.count() > 0
        return
    read: dict[int, int] = defaultdict(int)
    writer = frame.writeStream.foreachBatch(lambda batch, number: read.update({number: batch.count()}))
    mode = "complete" if "count" in frame.columns else "append"
    query = (
        writer.option("checkpointLocation", str(checkpoint)).outputMode(mode).trigger(availableNow=True).start()
    )
    assert AWAIT_TERMINATION(query, 120)
    assert sum(read.values()) > 0


def _read_all_and_stop(query: StreamingQuery, timeout: int | None = None) -> bool:
    query.processAllAvailable()
    query.stop()
    return True
