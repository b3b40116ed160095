"""``validate`` and the connector accept the same metadata files, beyond the cases in tests/conformance."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from dynamic_kafka._tools.metadata_file.ddl import TYPES, unknown_types
from dynamic_kafka._tools.metadata_file.document import read

from tests.harness.jars import connector_jars

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261122
PER_DOCUMENT = 10
# Characters with a meaning in YAML or JSON, and characters of values that YAML 1.1 and 1.2 read differently.
CHARACTERS = "\n\r\t \\/&*!|>%@`'\"#:-?,[]{}<=~0123456789_+.eExonyNTZ\ufeff\u0085\u2028é"

# Prints for each document the line of its error; 0 for an error without a line, None without an error.
CONNECTOR = """
import json, re, sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from dynamic_kafka import DynamicKafka

jars, documents, schemas = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
builder = builder.config("spark.driver.host", "localhost")
spark = DynamicKafka.configure(builder, jars=jars).getOrCreate()
parser = spark._jvm.io.github.dynamickafka.metadata.document.MetadataDocument

def line(document):
    try:
        parser.parse(document, "a file")
        return None
    except PySparkException as e:
        found = re.search(r"a file, line (\\d+)", str(e))
        return int(found[1]) if found else 0

def accepts(schema):
    try:
        spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(schema)
        return True
    except PySparkException:
        return False

print(json.dumps([[line(document) for document in documents], [accepts(schema) for schema in schemas]]))
spark.stop()
"""


def changed(text: str, source: random.Random) -> str:
    """The text with one or two characters deleted, inserted or replaced."""
    for _ in range(source.randint(1, 2)):
        at = source.randrange(len(text) + 1)
        text = text[:at] + source.choice(["", source.choice(CHARACTERS)]) + text[at + source.randint(0, 1) :]
    return text


def changed_name(name: str, source: random.Random) -> str:
    """The name with one letter deleted, inserted or replaced."""
    at = source.randrange(len(name))
    letter = source.choice(["", source.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
    return name[:at] + letter + name[at + source.randint(0, 1) :]


def test_both_agree_on_changed_documents_and_types() -> None:
    source = random.Random(SEED)
    files = sorted((ROOT / "tests/conformance/metadata").glob("*.json"))
    good = ["\n".join(c["document"]) for f in files for c in json.loads(f.read_text("utf-8")) if "streams" in c]
    documents = [changed(document, source) for document in good for _ in range(PER_DOCUMENT)]
    # A changed name that is a type again, such as INT, may need more than the name.
    names = sorted({changed_name(name, source) for name in TYPES for _ in range(3)} - TYPES)
    schemas = [f"a {name}" for name in names] + [f"a ARRAY<STRUCT<b: {name}>>" for name in names]
    jars = [str(jar) for jar in connector_jars()]
    done = subprocess.run(
        [sys.executable, "-c", CONNECTOR],
        input=json.dumps([jars, documents, schemas]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    lines, accepted = json.loads(done.stdout.splitlines()[-1])
    assert lines.count(None) > 10
    assert len(lines) - lines.count(None) > 10
    for document, line in zip(documents, lines, strict=True):
        errors = read(document).errors
        # `validate` reports all errors, the connector the first one.
        assert bool(errors) == (line is not None), (document, errors, line)
        assert line is None or line in [error.line or 0 for error in errors], (document, errors, line)
    assert accepted.count(False) > len(schemas) // 2
    for schema, right in zip(schemas, accepted, strict=True):
        assert right == (not list(unknown_types(schema))), schema
