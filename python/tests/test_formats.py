"""The builders and the schema of metadata files know all formats; `FormatListsSuite` compares the same list."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from conftest import REPOSITORY

from dynamic_kafka import DynamicKafkaReaderBuilder, DynamicKafkaWriterBuilder
from dynamic_kafka.options import Format, WrittenFormat

FORMATS: list[dict[str, Any]] = json.loads((REPOSITORY / "tests/conformance/formats.json").read_text("utf-8"))


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: str(format["name"]))
def test_a_format_is_known(format: dict[str, Any]) -> None:
    name = format["name"]
    assert name in get_args(Format) and (name in get_args(WrittenFormat)) == format["written"]
    assert f"``{name}``" in str(DynamicKafkaReaderBuilder.set_format.__doc__)
    assert (f"``{name}``" in str(DynamicKafkaWriterBuilder.set_format.__doc__)) == format["written"]


def test_the_schema_of_metadata_files_names_all_formats() -> None:
    schema = json.loads((REPOSITORY / "python/src/dynamic_kafka/metadata.schema.json").read_text("utf-8"))
    assert schema["$defs"]["formatName"]["examples"] == [format["name"] for format in FORMATS]
