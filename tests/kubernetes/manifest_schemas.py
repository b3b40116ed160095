"""The manifests of examples/kubernetes, against schemas of Kubernetes and the operator: `make extra NAME=kubernetes`.

Not a name that pytest looks for, because the schemas are 108 MB.
"""

from __future__ import annotations

import copy
from typing import Any

import kubernetes_validate
import pytest
from kubeflow_spark_api.models.spark_v1beta2_spark_application import SparkV1beta2SparkApplication

from tests.kubernetes.manifests import CORE, Manifest, manifest, manifests

KUBERNETES = "1.34"


@pytest.mark.parametrize("file", CORE)
def test_kubernetes_accepts_them(file: str) -> None:
    for document in manifests(file):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


@pytest.mark.parametrize(("field", "value"), [("replica", 1), ("replicas", "one")])
def test_an_unknown_field_and_a_wrong_type_are_found(field: str, value: Any) -> None:
    document = copy.deepcopy(manifest("driver.yaml", "StatefulSet"))
    document["spec"][field] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_the_operator_accepts_its_resource() -> None:
    assert _unknown(manifest("spark-operator.yaml", "SparkApplication")) == set()


def test_fields_that_the_operator_does_not_know_are_found() -> None:
    document = copy.deepcopy(manifest("spark-operator.yaml", "SparkApplication"))
    document["spec"]["driver"]["serviceAcount"] = "spark-driver"
    document["spec"]["executor"]["secrets"][0]["kind"] = "Generic"
    assert _unknown(document) == {"spec.driver.serviceAcount", "spec.executor.secrets.0.kind"}


def _unknown(document: Manifest) -> set[str]:
    """The fields that a resource loses when it is read as the type of the operator."""
    read = SparkV1beta2SparkApplication.from_dict(document)
    assert read is not None
    return _paths(document) - _paths(read.to_dict())


def _paths(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {found for key, item in value.items() for found in _paths(item, f"{path}.{key}" if path else key)}
    if isinstance(value, list):
        return {found for i, item in enumerate(value) for found in _paths(item, f"{path}.{i}")}
    return {path}
