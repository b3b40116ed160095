"""Validates metadata files with their JSON Schema."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from dynamic_kafka._tools.metadata_file.place import Path, place_of
from dynamic_kafka._tools.metadata_file.problem import Problem
from dynamic_kafka._tools.metadata_file.tree import Ambiguous, Tree
from dynamic_kafka.model import SUBSCRIPTIONS

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
}


def schema_text() -> str:
    """Returns the schema file of this package."""
    return (resources.files("dynamic_kafka") / "metadata.schema.json").read_text("utf-8")


def problems(tree: Tree) -> dict[Path, Problem]:
    """Returns the errors by path: all missing keys, and otherwise the first error of each place."""
    found: dict[Path, Problem] = {}
    for error in _validator().iter_errors(tree.value):
        for path, reason in _explained(error, tree):
            at: Path = (*path, reason) if error.validator == "required" else path
            found.setdefault(at, Problem(tree.line(path), reason, place_of(path, tree.value)))
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns `` Did you mean 'x'?``, or an empty text if no known name is similar."""
    closest = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{closest[0]}'?" if closest else ""


def unknown_version(version: str) -> str:
    """Returns the error of a version other than 1."""
    return f"version {version} is unknown; this release supports version 1"


@cache
def _validator() -> Validator:
    with_pattern: type[Validator] = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": _pattern}
    )
    return with_pattern(json.loads(schema_text()))


def _pattern(_: Validator, pattern: str, instance: object, __: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Matches a pattern as ECMAScript does: ``$`` does not match before a line break at the end."""
    if isinstance(instance, str) and not re.search(re.sub(r"(?<!\\)\$", r"\\Z", pattern), instance):
        yield ValidationError("does not match")


def _explained(error: ValidationError, tree: Tree) -> Iterator[tuple[Path, str]]:
    """Returns paths and reasons. The validator's own text contains values and is not used."""
    path: Path = tuple(error.absolute_path)
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    instance: Any = error.instance
    wanted: Any = error.validator_value
    match error.validator:
        case _ if isinstance(instance, Ambiguous):
            yield path, Ambiguous.REASON
        case "type" if schema.get("title") == "partition" and isinstance(instance, (bool, float)):
            pass  # `checks` reports this, with the text of the connector.
        case "type":
            yield path, _wrong_type(wanted, tree.shape(path))
        case "required":
            # There is one error for each missing key, which only its text names.
            for name in wanted:
                if name not in instance:
                    hint = ", write 'version: 1'" if name == "version" else ""
                    yield path, f"'{name}' is missing{hint}"
        case "additionalProperties":
            known = list(schema["properties"])
            names = ", ".join(f"'{name}'" for name in known)
            for name in instance:
                if name not in schema["properties"]:
                    hint = did_you_mean(name, known)
                    yield (*path, name), f"there is no such key here, the keys are {names}.{hint}"
        case "oneOf" if isinstance(instance, Mapping):
            # An entry has exactly one of the three keys that name topics.
            given = [name for name in instance if name in SUBSCRIPTIONS]
            if given:
                yield (*path, given[1]), f"is specified together with '{given[0]}'; {schema['description']}"
            else:
                yield path, f"'topics' is missing; {schema['description']}"
        case "oneOf":
            pass  # There is also an error of its type.
        case "uniqueItems":
            for index, topic in enumerate(instance):
                if topic in instance[:index]:
                    yield (*path, index), f"topic '{topic}' is duplicate"
        case "enum" if schema["title"] == "version":
            yield path, unknown_version(tree.text(path))
        case "enum":
            text, valid = tree.text(path), _listed([f"'{value}'" for value in wanted])
            yield path, f"'{text}' is not a valid {schema['title']}, use {valid}.{did_you_mean(text, wanted)}"
        case _ if schema.get("title") == "position":
            pass  # `checks` reports this as well.
        case _ if "propertyNames" in error.absolute_schema_path:
            yield (*path, instance), _wrong_value(instance, schema)
        case _:
            yield path, _wrong_value(tree.text(path), schema)


def _wrong_type(types: str | list[str], shape: str) -> str:
    wanted = [types] if isinstance(types, str) else types
    quotes = ": put it in quotes" if wanted == ["string"] and shape in ("a number", "true or false") else ""
    return f"must be {_listed([_TYPES[name] for name in wanted])}, but is {shape}{quotes}"


def _listed(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _wrong_value(text: str, schema: Mapping[str, Any]) -> str:
    """Returns the reason. Only values of schemas with a title are quoted: others could be secrets."""
    if "title" in schema and text:
        return f"'{text}' is not a valid {schema['title']}: {schema['description']}"
    return str(schema["description"])
