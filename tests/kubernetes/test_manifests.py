"""The manifests of examples/kubernetes: properties that Spark has, a valid document, and names that agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pyspark.java_gateway import launch_gateway

from tests.kubernetes.manifests import CORE, FOLDER, configuration, manifest, manifests, pod, submit_arguments

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGE = "dynamic-kafka-jobs:1"


@pytest.mark.test_all
def test_each_property_is_one_of_spark(spark_properties: SparkProperties) -> None:
    prefixes = ("spark.kubernetes.executor.secrets.",)
    unknown = [
        name for name in configuration() if not name.startswith(prefixes) and not spark_properties.knows(name)
    ]
    assert unknown == []
    assert not spark_properties.knows("spark.kubernetes.driver.podname")


def test_the_document_of_the_config_map_is_valid() -> None:
    text = manifest("streams.yaml", "ConfigMap")["data"]["streams.yaml"]
    document = yaml.safe_load(text)
    schema = json.loads((REPOSITORY / "python/src/dynamic_kafka/metadata.schema.json").read_text("utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(document)) == []
    assert sorted(document["streams"]) == ["archive", "orders"]


def test_the_files_agree_with_each_other() -> None:
    accounts = {manifest("rights.yaml", "ServiceAccount")["metadata"]["name"]}
    operator = manifest("spark-operator.yaml", "SparkApplication")["spec"]
    assert {pod()["serviceAccountName"], operator["driver"]["serviceAccount"]} == accounts
    (container,) = pod()["containers"]
    assert {container["image"], operator["image"], configuration()["spark.kubernetes.container.image"]} == {IMAGE}
    program = f"COPY examples/kubernetes/{(FOLDER / 'query.py').name} {submit_arguments()[-2]}"
    assert program in (FOLDER / "Dockerfile").read_text().splitlines()
    assert operator["mainApplicationFile"] == f"local://{submit_arguments()[-2]}"
    assert operator["arguments"] == submit_arguments()[-1:]
    namespaces = {
        document["metadata"]["namespace"]
        for file in [*CORE, "spark-operator.yaml"]
        for document in manifests(file)
    }
    assert namespaces == {"data"}
    # Where the document refers to the file of the secret.
    (mount,) = container["volumeMounts"]
    secrets = {secret["path"] for role in ("driver", "executor") for secret in operator[role]["secrets"]}
    assert {
        mount["mountPath"],
        configuration()["spark.kubernetes.executor.secrets.kafka-credentials"],
        *secrets,
    } == {"/etc/kafka"}
    assert "${file:/etc/kafka/" in (FOLDER / "streams.yaml").read_text()
    service = manifest("driver.yaml", "Service")
    ports = {port["name"]: str(port["port"]) for port in service["spec"]["ports"]}
    assert ports == {
        "driver": configuration()["spark.driver.port"],
        "block-manager": configuration()["spark.driver.blockManager.port"],
    }
    labels = manifest("driver.yaml", "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert manifest("driver.yaml", "StatefulSet")["spec"]["serviceName"] == service["metadata"]["name"]


class SparkProperties:
    """The properties that Spark declares, those of its Kubernetes module among them."""

    def __init__(self, jvm: Any) -> None:
        # Declared when the class is initialized.
        jvm.java.lang.Class.forName("org.apache.spark.deploy.k8s.Config$")
        self._entries = jvm.org.apache.spark.internal.config.ConfigEntry

    def knows(self, name: str) -> bool:
        """Whether Spark reads it."""
        return self._entries.findEntry(name) is not None


@pytest.fixture(scope="module")
def spark_properties() -> Iterator[SparkProperties]:
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    yield SparkProperties(gateway.jvm)
    gateway.shutdown()
    # The JVM runs until its input ends.
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
