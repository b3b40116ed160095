"""The modules of the package import each other in one direction only."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dynamic_kafka

ROOT = Path(dynamic_kafka.__file__).parent.parent


def test_no_cycle() -> None:
    files = {_name(path): path for path in ROOT.glob("dynamic_kafka/**/*.py")}
    assert len(files) > 15
    graph = {name: set(_imports(name, path, set(files))) for name, path in files.items()}
    assert graph["dynamic_kafka.__main__"], "imports are found"
    _check(graph)


def test_the_command_line_imports_no_pyspark() -> None:
    assert run("import dynamic_kafka._command, sys; print('pyspark' in sys.modules)") == "False"


def test_the_public_names_are_found() -> None:
    code = "import dynamic_kafka as d; print(all(getattr(d, name) is vars(d)[name] for name in d.__all__))"
    assert run(code) == "True"
    assert run("from dynamic_kafka import *; print(DynamicKafka.__module__)") == "dynamic_kafka.entry"
    assert run("import dynamic_kafka; print(dynamic_kafka.model.History.__name__)") == "History"
    assert set(dynamic_kafka.__all__) <= set(dir(dynamic_kafka))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = dynamic_kafka.Nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        from dynamic_kafka import Nothing  # type: ignore[attr-defined]  # noqa: F401


def run(code: str) -> str:
    """Runs code in a Python of its own, where nothing is imported yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_cycle_is_found() -> None:
    with pytest.raises(AssertionError, match=r"a -> b -> a|b -> a -> b"):
        _check({"a": {"b"}, "b": {"a", "c"}, "c": set()})


def _check(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        raise AssertionError("modules import each other: " + " -> ".join(e.args[1])) from None


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(name: str, path: Path, modules: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports, in functions as well."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                found = f"{origin}.{alias.name}"
                if found in modules:
                    yield found
                elif origin in modules:
                    yield origin
