"""The cases of docs/dev/mistakes.md: what a user types, and what the product answers.

    python tests/readme/mistakes.py > target/mistakes.md

prints the page with the answers of today.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dynamic_kafka
from dynamic_kafka import errors
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

sys.path.insert(0, str(docs.ROOT / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Record, Testkit

PAGE = docs.ROOT / "docs" / "dev" / "mistakes.md"
# The broker of the page.
ADDRESS = "localhost:19092"
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.*?) ?\|$")
_CODE = re.compile(r"`([^`]+)`")
_CONDITION = re.compile(r"\[((?:DYNAMIC_KAFKA\.)?[A-Z_0-9.]+)\] (.*)", re.DOTALL)
_UNREACHABLE = "CLUSTER_UNREACHABLE"
# What is a mistake and no error.
ACCEPTED = "accepted"
# The answer is complete up to here; Spark's own texts continue with plans.
_END = re.compile(r"\s*(?:\nJVM stacktrace|;\n|\n=+|\n\tat | SQLSTATE|\nCurrent |\n\n).*", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """A row of the page."""

    section: str
    number: int
    mistake: str
    typed: str
    answer: str

    def __str__(self) -> str:
        return f"{self.number}: {self.mistake}"

    @property
    def code(self) -> list[str]:
        """What is typed, without Markdown."""
        return [text.replace("\\|", "|") for text in _CODE.findall(self.typed)]

    @property
    def condition(self) -> str:
        """The name of the condition, or of the exception of Python."""
        condition: str = _CODE.findall(self.answer)[0]
        return condition

    @property
    def text(self) -> str:
        """The text; `…` stands for what differs between runs."""
        if self.condition == ACCEPTED:
            return ""
        text: str = _CODE.findall(self.answer)[1]
        return text.replace("\\|", "|")


def cases() -> list[Case]:
    """The rows of the page."""
    found, section = [], ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        row = _ROW.match(line)
        if row:
            found.append(Case(section, int(row[1]), row[2], row[3], row[4]))
    return found


def document() -> str:
    """The metadata of the page."""
    (block,) = [block for block in docs.blocks("yaml") if block.document == docs.name(PAGE)]
    return block.text


class Session:
    """Runs the cases in one Spark session, each in a folder of its own."""

    def __init__(self, spark: SparkSession, folder: Path, address: str) -> None:
        self._spark, self._folder, self._address = spark, folder, address
        self._runs = 0
        self._kinds: dict[str, Callable[[Case, Path], None]] = {
            "Options of a read": self._read,
            "Options of a write": self._write,
            "Metadata": self._edit,
            "Clusters": self._edit,
            "Code": self._code,
            "Checkpoints": self._code,
        }

    def has(self, case: Case) -> bool:
        """Whether the case can be run in a session. The others have a test of their own."""
        return case.section in self._kinds

    def answer(self, case: Case) -> tuple[str, str]:
        """The condition and the text."""
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        self._metadata(folder, document())
        try:
            self._kinds[case.section](case, folder)
        except Exception as error:
            return self._described(error, folder)
        return ACCEPTED, ""

    def _metadata(self, folder: Path, text: str) -> None:
        (folder / "streams.yaml").write_text(text.replace(ADDRESS, self._address))

    def _options(self, folder: Path, **more: str) -> dict[str, str]:
        return {"metadataService": "file", "metadataService.path": str(folder / "streams.yaml"), **more}

    def _typed(self, case: Case, options: dict[str, str]) -> dict[str, str]:
        for code in case.code:
            name, given, value = code.partition("=")
            if given:
                options[name] = value.replace("streams.yaml", options.get("metadataService.path", ""))
            else:
                options.pop(name)
        return options

    def _read(self, case: Case, folder: Path) -> None:
        options = self._typed(case, self._options(folder, streamIds="orders"))
        self._run(self._spark.readStream.format("dynamic-kafka").options(**options).load(), folder / "checkpoint")

    def _write(self, case: Case, folder: Path) -> None:
        options = self._typed(case, self._options(folder, streamId="orders"))
        rows = self._spark.range(1).selectExpr("string(id) as value")
        rows.write.format("dynamic-kafka").options(**options).mode("append").save()

    def _edit(self, case: Case, folder: Path) -> None:
        text = document()
        edits = [code.replace("<tab>", "\t").replace("<newline>", "\n") for code in case.code]
        for new, old in zip(edits[::2], edits[1::2], strict=True):
            assert old in text, case
            text = text.replace(old, new)
        self._metadata(folder, text)
        limit = {"clusterRequestTimeoutMs": "3000"} if _UNREACHABLE in case.answer else {}
        options = self._options(folder, streamIds="orders", **limit)
        self._run(self._spark.readStream.format("dynamic-kafka").options(**options).load(), folder / "checkpoint")

    def _code(self, case: Case, folder: Path) -> None:
        names: dict[str, Any] = {name: getattr(dynamic_kafka, name) for name in dynamic_kafka.__all__}
        service = dynamic_kafka.FileMetadataService(folder / "streams.yaml")
        rows = self._spark.range(1).selectExpr("string(id) as value", "'blue' as cluster")
        builder = dynamic_kafka.DynamicKafka.builder(self._spark).set_kafka_metadata_service(service)
        writer = dynamic_kafka.DynamicKafka.writer(rows).set_kafka_metadata_service(service)
        names |= {
            "spark": self._spark,
            "options": self._options(folder),
            "builder": builder,
            "orders": builder.set_stream_ids("orders").load(),
            "rows": rows,
            "writer": writer.set_stream_id("orders"),
            "run": lambda frame, checkpoint: self._run(frame, self._folder / checkpoint),
            "start": lambda frame, checkpoint: self._writer(frame, folder / checkpoint).start(),
        }
        (code,) = case.code
        try:
            exec(code, names)
        finally:
            for query in self._spark.streams.active:
                query.stop()

    def _run(self, frame: Any, checkpoint: Path) -> None:
        self._writer(frame, checkpoint).trigger(availableNow=True).start().awaitTermination()

    def _writer(self, frame: Any, checkpoint: Path) -> Any:
        return frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))

    def _described(self, error: Exception, folder: Path) -> tuple[str, str]:
        # The connector's error is the cause of the query's.
        ours = re.search(r"\[DYNAMIC_KAFKA\.\w+\] .*", str(error), re.DOTALL)
        # In which the text is lost between stack traces.
        assert ours is None or not isinstance(error, Py4JJavaError), error
        found = _CONDITION.search(ours[0] if ours else str(error))
        if found is None or isinstance(error, TypeError | ValueError):
            condition, text = type(error).__name__, str(error)
        else:
            condition, text = found[1].removeprefix("DYNAMIC_KAFKA."), found[2]
        text = _END.sub("", text).strip()
        text = re.sub(r"\s+", " ", text).replace(self._address, ADDRESS)
        text = text.replace(f"{folder}/", "").replace(str(self._folder), "…")
        return condition, text


def matches(shown: str, text: str) -> bool:
    """Whether the text is the one that the page shows, where code cannot have backticks."""
    pattern = ".*".join(map(re.escape, shown.split("…")))
    return re.fullmatch(pattern, text.replace("`", "'"), re.DOTALL) is not None


def definitions() -> dict[str, str]:
    """The texts of all conditions, of the connector and of the Python package; parameters are `…`."""
    file = docs.ROOT / "jvm/formats/src/main/resources/error/dynamic-kafka-error-conditions.json"
    conditions = json.loads(file.read_text())["DYNAMIC_KAFKA"]["subClass"]
    found = {name: re.sub(r"<\w+>", "…", " ".join(each["message"])) for name, each in conditions.items()}
    any_value = "…"
    raised = (
        errors.pyspark_missing(),
        errors.unsupported_spark(any_value, [any_value]),
        errors.session_running([any_value]),
        errors.no_session(),
        errors.session_stopped(),
        errors.connect_unsupported(any_value),
        errors.jar_missing(any_value),
        errors.repository_incomplete(any_value, Path(any_value), [Path(any_value)], is_connector=False),
        errors.version_mismatch(any_value, any_value, any_value),
        errors.gateway_dead(any_value),
    )
    for error in raised:
        condition, _, text = str(error).removeprefix("[DYNAMIC_KAFKA.").partition("] ")
        found[condition] = text
    return found


def _remedy(condition: str) -> str:
    """What every text of the condition ends with."""
    return definitions().get(condition, "").rpartition("…")[2].lstrip("'. ")


@contextmanager
def running(folder: Path) -> Iterator[Session]:
    """The session, with a broker, and the checkpoints that the page names."""
    jars = sorted(docs.ROOT.glob("jvm/connector/target/jars/*.jar"))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost")
    spark = dynamic_kafka.DynamicKafka.configure(builder, jars=jars).getOrCreate()
    with Testkit() as testkit:
        blue = testkit.start("blue", properties={"auto.create.topics.enable": "false"})
        blue.create_topic("orders", partitions=1)
        blue.produce("orders", [Record(0, None, "7")])
        kafka = {"kafka.bootstrap.servers": blue.bootstrap_servers, "subscribe": "orders"}
        rate = {"rowsPerBatch": "1"}
        for name, source, options in (("of-kafka", "kafka", kafka), ("of-rate", "rate-micro-batch", rate)):
            frame = spark.readStream.format(source).options(**options).load()
            writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / name))
            writer.trigger(once=True).start().awaitTermination()
        yield Session(spark, folder, blue.bootstrap_servers)
    spark.stop()


def main() -> None:
    """Print the page with the answers of today."""
    rows: dict[int, Case] = {}
    remedies: set[str] = set()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as session:
        for case in cases():
            if session.has(case):
                condition, text = session.answer(case)
                print(case, condition, text[:80], sep=" | ", file=sys.stderr)
            else:
                condition = case.condition
                text = definitions()[condition]
            rows[case.number] = case
            if condition == ACCEPTED or (case.answer.startswith(f"`{condition}`: `") and matches(case.text, text)):
                continue
            remedy = _remedy(condition)
            if remedy in remedies:
                text = text.removesuffix(remedy) + "…"
            remedies |= {remedy} - {""}
            text = re.sub(r"'[\w-]{22}'", "'…'", text).replace(str(Path.cwd()), "…")
            text = text.replace("`", "'").replace("|", "\\|")
            rows[case.number] = replace(case, answer=f"`{condition}`: `{text}`")
    for line in PAGE.read_text().splitlines():
        row = _ROW.match(line)
        if row:
            shown = rows[int(row[1])]
            line = f"| {shown.number} | {shown.mistake} | {shown.typed} | {shown.answer} |"
        print(line)


if __name__ == "__main__":
    main()
