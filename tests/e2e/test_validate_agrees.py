"""``validate`` and the connector judge a metadata file alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# The documents of the Python tests are no package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))

from bad_documents import GOOD, TABLE
from dynamic_kafka._metadata_file.document import read

from tests.harness.jars import connector_jars

# Where two YAML parsers could differ, or a schema and a parser.
ODD = [
    "version: 1\t# a tab\nstreams: {}",
    "version: 1\nstreams: {}\t",
    "version: 1.0\nstreams: {}",
    "version: 01\nstreams: {}",
    "version: '1'\nstreams: {}",
    "%YAML 1.2\n---\nversion: 1\nstreams: {}\n...\n",
    "\ufeffversion: 1\r\nstreams: {}\r\n",
    'version: 1\nstreams: {"a\\/b": {clusters: {}}}',
    'version: 1\nstreams: {"\\U00110000": {clusters: {}}}',
    "version: 1\nstreams: !<tag:example.com,2000:x> {}",
    "version: 1\nstreams: !!unknown {}",
    "version: 1\nstreams: &x {clusters: *x}",
    "&a version: 1\n*a : 1",
    "- {streamId: 5, clusterMetadataList: [{clusterId: 1e5, bootstrapServers: b, topics: ['1']}]}",
    "- {streamId: a, clusterMetadataList: [{clusterId: +1, bootstrapServers: b, topics: [a]}]}",
    *(GOOD.replace("[orders]", topics) for topics in ("[1e5]", "[12:30]", "[yes]", "['7']", '["a\\n"]', "[..]")),
    *(
        GOOD.replace("topics: [orders]", way)
        for way in (
            "topic_pattern: a.*",
            "topic_pattern: 5",
            "topic_pattern: 2026-01-01",
            "topic_pattern:",
            "partitions: {a: [0, '1', +2], 7: [3]}",
            "partitions: {a: [1.0]}",
            "partitions: {a: [0x10]}",
            "partitions: {a: [true]}",
            "partitions: {a: [2147483648]}",
            "partitions: {a: 0}",
            "partitions: {a: [~]}",
            "partitions: {a: [0]}, topics: [a]",
        )
    ),
    *(
        GOOD.replace("{topics: [orders]}", f"{{topics: [orders], write: {write}}}")
        for write in (
            "true",
            "false",
            "True",
            "FALSE",
            "yes",
            "off",
            "y",
            "'true'",
            "!!bool false",
            "!!bool no",
            "1",
        )
    ),
    *(
        GOOD.replace("stopping_offsets: latest", f"stopping_offsets: {position}")
        for position in (
            "LATEST",
            "earliest",
            "timestamp:5",
            '\'timestamp: {"a": {"0": 5}}\'',
            "{a: {0: -1}}",
            "{a: {0: -2}}",
            "{a: {00: 1, 0: 1}}",
        )
    ),
]

# Prints for each document the line of its error; 0 for an error without a line, None for none.
CONNECTOR = """
import json, re, sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from dynamic_kafka import DynamicKafka

jars, documents = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
builder = builder.config("spark.driver.host", "localhost")
spark = DynamicKafka.configure(builder, jars=jars).getOrCreate()
parser = spark._jvm.io.github.dynamickafka.metadata.MetadataDocument

def line(document):
    try:
        parser.parse(document, "a file")
        return None
    except PySparkException as e:
        found = re.search(r"a file, line (\\d+)", str(e))
        return int(found[1]) if found else 0

print(json.dumps([line(document) for document in documents]))
spark.stop()
"""


def test_validate_says_of_a_file_what_the_connector_says() -> None:
    documents = [GOOD, *ODD, *(bad.document for bad in TABLE)]
    jars = [str(jar) for jar in connector_jars()]
    done = subprocess.run(
        [sys.executable, "-c", CONNECTOR],
        input=json.dumps([jars, documents]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout.splitlines()[-1])
    assert lines.count(None) > 10
    for document, line in zip(documents, lines, strict=True):
        errors = read(document).errors
        # It tells all errors, the connector the first that it meets.
        assert bool(errors) == (line is not None), (document, errors, line)
        assert line is None or line in [error.line or 0 for error in errors], (document, errors, line)
