"""``metadata.schema.json``, for editors, agrees with the connector's parser where a schema can."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from conformance import cases
from conftest import REPOSITORY
from jsonschema import Draft202012Validator

SCHEMA = json.loads((REPOSITORY / "python/src/dynamic_kafka/metadata.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
Case = dict[str, Any]

# Errors of the structure. A schema cannot express references to other parts, positions and duplicate keys.
OF_STRUCTURE = ("' is missing", "but is ", "at least one ", "is not a valid state", "blank", "together with '")


class _Loader(yaml.SafeLoader):
    """Keys are text, however they are written."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


def valid(case: Case) -> bool:
    text = "\n".join(case["document"])
    value = json.loads(text) if text.lstrip("\ufeff \n").startswith("{") else yaml.load(text, _Loader)
    return not list(VALIDATOR.iter_errors(value))


def name(case: Case) -> str:
    return str(case["name"])


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("case", [case for case in cases("metadata") if "refused" not in case], ids=name)
def test_it_accepts_what_the_parser_accepts(case: Case) -> None:
    assert valid(case)


def is_of_structure(case: Case) -> bool:
    says = case.get("refused", {}).get("says", ())
    return any(part in said and "cannot" not in said for said in says for part in OF_STRUCTURE)


@pytest.mark.parametrize("case", [c for c in cases("metadata") if is_of_structure(c)], ids=name)
def test_it_refuses_what_the_parser_refuses(case: Case) -> None:
    assert not valid(case)
