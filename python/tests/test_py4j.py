"""Calls through py4j, with a few lines of Java instead of the connector."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dynamic_kafka._version import JAR_VERSION

SOURCES = {
    "PythonMetadataService": """
        public interface PythonMetadataService {
          String getAllStreams();
          String describeStreams(String ids);
          boolean isClusterActive(String id);
          void close();
        }""",
    # Like an object that scalac compiles.
    "PythonApi$": """
        public final class PythonApi$ {
          public static final PythonApi$ MODULE$ = new PythonApi$();
          private PythonMetadataService service;
          public String version() { return "VERSION"; }
          public void check(boolean writes, String cluster, String name, String value) {
            if (name.equals("wrong")) throw new IllegalArgumentException(writes + " " + cluster + " " + value);
          }
          public String register(PythonMetadataService given) {
            service = given;
            return "handle";
          }
          public String all() { return service.getAllStreams(); }
          public String describe() throws Exception {
            String[] answer = new String[1];
            Thread thread = new Thread(() -> {
              try { answer[0] = service.describeStreams("[\\"orders\\"]") + service.isClusterActive("blue"); }
              catch (RuntimeException e) { answer[0] = e.getMessage(); }
            });
            thread.start();
            thread.join();
            return answer[0];
          }
        }""",
}


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("needs a JDK")
    for name, source in SOURCES.items():
        text = "package io.github.dynamickafka;" + source.replace("VERSION", JAR_VERSION)
        (tmp_path / f"{name}.java").write_text(text)
    files = [str(tmp_path / f"{name}.java") for name in SOURCES]
    subprocess.run([javac, "-d", str(tmp_path / "classes"), *files], check=True)
    with zipfile.ZipFile(tmp_path / "connector.jar", "w") as archive:
        for file in (tmp_path / "classes").rglob("*.class"):
            archive.write(file, file.relative_to(tmp_path / "classes").as_posix())
    return tmp_path / "connector.jar"


def test_a_jar_added_by_configure_is_found_and_calls_python(jar: Path, run_python: Callable[[str], str]) -> None:
    shown = run_python(
        f"""
import gc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from dynamic_kafka import ClusterMetadata, DynamicKafka, KafkaMetadataService, KafkaStream, _bridge, _jvm

class Registry(KafkaMetadataService):
    def get_all_streams(self):
        raise ConnectionError("registry is down")
    def describe_streams(self, stream_ids):
        blue = ClusterMetadata(["o"], {{"bootstrap.servers": "blue:9092"}})
        return {{id: KafkaStream(id, {{"blue": blue}}) for id in stream_ids}}
    def close(self):
        print("closed")

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = DynamicKafka.configure(builder, jars=[{str(jar)!r}]).getOrCreate()
DynamicKafka.configure(SparkSession.builder)  # Accepted, because the session has the jar.
prepared = DynamicKafka.builder(spark).set_kafka_metadata_service(Registry())._prepared(spark)
print(prepared)
misspelt = DynamicKafka.builder(spark)
of_cluster = lambda: misspelt.set_cluster_property("blue", "wrong", True)
for attempt in (lambda: misspelt.set_options({{"wrong": 1}}), of_cluster):
    try:
        attempt()
    except PySparkException as e:
        print(type(e).__name__, e, misspelt.options())
gc.collect()
api = _jvm.api(spark.sparkContext._gateway)
print(api.describe())
try:
    api.all()
except Exception as e:
    print("ConnectionError: registry is down" in str(e), "raise ConnectionError" in str(e))
spark.stop()
"""
    )
    options, *refused, described, failure, closed = shown.splitlines()
    assert options == "{'metadataService': 'registered', 'metadataService.handle': 'handle'}"
    assert refused == ["IllegalArgumentException false null 1 {}", "IllegalArgumentException false blue true {}"]
    assert described.startswith('{"version":1,')
    assert described.endswith("true")
    assert failure == "True False"  # The message, without the service's traceback.
    assert closed == "closed"
