"""Scala has the words of the Python package: a Python example that is carried over changes only the case of names."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import dynamic_kafka
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs
from dynamic_kafka import ClusterMetadata, KafkaStream, OffsetsInitializer
from dynamic_kafka._base import DynamicKafkaBuilder
from dynamic_kafka.services import JvmMetadataService

CONNECTOR = docs.ROOT / "jvm/connector/src/main/scala/io/github/dynamickafka"
SERVICES = sorted(
    name
    for name, found in inspect.getmembers(dynamic_kafka)
    if inspect.isclass(found) and issubclass(found, JvmMetadataService) and found is not JvmMetadataService
)
# Python's base class, and what only a session in Python needs.
NOT_IN_SCALA = {"to_options", "to_metadata"}


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def parameters(found: type) -> list[str]:
    return [camel(name) for name in inspect.signature(found).parameters]


def scala_parameters(text: str, start: str) -> list[str]:
    """The names of the parameters of the definition that begins with this text."""
    begin = text.index(f"{start}(") + len(start) + 1
    depth, end = 1, begin
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return re.findall(r"(?:^|,)\s*(\w+):", text[begin : end - 1])


@pytest.mark.parametrize("name", SERVICES)
def test_metadata_services_have_the_same_parameters(name: str) -> None:
    text = (CONNECTOR / "BuiltInMetadataService.scala").read_text()
    assert scala_parameters(text, f"case class {name}") == parameters(getattr(dynamic_kafka, name))


def declared(service: str) -> dict[str, bool]:
    """The arguments of a service in docs/options.md, which is made of its spec: whether each is required."""
    rows = re.findall(
        r"^- ((?:`[\w-]+`(?:, )?)+): `(\w+)[^`]*`(?:, ([^.]*))?\.",
        (docs.ROOT / "docs/options.md").read_text().partition("## Arguments of the metadata service")[2],
        re.M,
    )
    return {
        name.removesuffix("Ms"): facts == "required"
        for services, name, facts in rows
        if f"`{service}`" in services
    }


@pytest.mark.parametrize("name", SERVICES)
def test_the_parameters_of_a_metadata_service_are_the_arguments_of_its_spec(name: str) -> None:
    found = getattr(dynamic_kafka, name)
    taken = {
        camel(one.name): one.default is inspect.Parameter.empty
        for one in inspect.signature(found).parameters.values()
    }
    if name == "StaticMetadataService":
        taken["document"] = taken.pop("streams")
    assert taken == declared(found._service)


@pytest.mark.parametrize("found", [ClusterMetadata, KafkaStream], ids=lambda c: c.__name__)
def test_streams_have_the_same_parameters(found: type) -> None:
    text = (CONNECTOR / "metadata" / f"{found.__name__}.scala").read_text()
    assert scala_parameters(text, "def apply") == parameters(found)


@pytest.mark.parametrize(
    "found",
    [dynamic_kafka.DynamicKafkaReaderBuilder, dynamic_kafka.DynamicKafkaWriterBuilder, OffsetsInitializer],
    ids=lambda c: c.__name__,
)
def test_builders_have_the_same_methods(found: type) -> None:
    files = [found.__name__] + (["DynamicKafkaBuilder"] if issubclass(found, DynamicKafkaBuilder) else [])
    text = "".join((CONNECTOR / f"{name}.scala").read_text() for name in files)
    public = {name for name, _ in inspect.getmembers(found, callable) if not name.startswith("_")} - NOT_IN_SCALA
    assert public
    assert {name for name in public if not re.search(rf"\bdef {camel(name)}\b", text)} == set()
