"""The manifests of examples/kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kubernetes"
# What does not need the operator.
CORE = ("rights.yaml", "streams.yaml", "driver.yaml")
Manifest = dict[str, Any]


def manifests(file: str) -> list[Manifest]:
    """The documents of a file."""
    return [document for document in yaml.safe_load_all((FOLDER / file).read_text()) if document]


def manifest(file: str, kind: str) -> Manifest:
    """The only document of this kind in a file."""
    (found,) = (document for document in manifests(file) if document["kind"] == kind)
    return found


def pod() -> Manifest:
    """The pod of driver.yaml."""
    spec: Manifest = manifest("driver.yaml", "StatefulSet")["spec"]["template"]["spec"]
    return spec


def submit_arguments() -> list[str]:
    """What driver.yaml gives to `spark-submit`."""
    arguments: list[str] = pod()["containers"][0]["args"]
    return arguments


def configuration() -> dict[str, str]:
    """The Spark properties of driver.yaml."""
    prefix = "--conf="
    settings = (argument[len(prefix) :] for argument in submit_arguments() if argument.startswith(prefix))
    return dict(setting.split("=", 1) for setting in settings)
