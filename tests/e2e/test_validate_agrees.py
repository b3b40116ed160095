"""``validate`` and the connector accept the same metadata files, beyond the cases in tests/conformance."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

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

jars, documents = json.load(sys.stdin)
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

print(json.dumps([line(document) for document in documents]))
spark.stop()
"""


def changed(text: str, source: random.Random) -> str:
    """The text with one or two characters deleted, inserted or replaced."""
    for _ in range(source.randint(1, 2)):
        at = source.randrange(len(text) + 1)
        text = text[:at] + source.choice(["", source.choice(CHARACTERS)]) + text[at + source.randint(0, 1) :]
    return text


def test_both_agree_on_changed_documents() -> None:
    source = random.Random(SEED)
    files = sorted((ROOT / "tests/conformance/metadata").glob("*.json"))
    good = ["\n".join(c["document"]) for f in files for c in json.loads(f.read_text("utf-8")) if "streams" in c]
    documents = [changed(document, source) for document in good for _ in range(PER_DOCUMENT)]
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
    assert len(lines) - lines.count(None) > 10
    for document, line in zip(documents, lines, strict=True):
        errors = read(document).errors
        # `validate` reports all errors, the connector the first one.
        assert bool(errors) == (line is not None), (document, errors, line)
        assert line is None or line in [error.line or 0 for error in errors], (document, errors, line)
