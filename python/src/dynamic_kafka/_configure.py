"""Adds the connector's jar to a session that is about to be built."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dynamic_kafka import _artifact, _jvm, _repository, errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = "spark.jars.packages"
_JARS = "spark.jars"


def configure(
    builder: SparkSession.Builder,
    extra_packages: str | Iterable[str],
    jars: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None,
) -> SparkSession.Builder:
    """See DynamicKafka.configure."""
    line = _artifact.spark_line()
    _refuse_connect(builder)
    packages = _split(extra_packages)
    if jars is None:
        packages = [_artifact.coordinate(line), *packages]
    paths = _paths(jars)

    from pyspark import SparkContext

    running = SparkContext._gateway
    if running is None:
        if jars is None:
            _repository.check(_artifact.coordinate(line), builder._options)
        _append(builder, _PACKAGES, packages)
        _append(builder, _JARS, paths)
    else:
        _check_running(running, packages, paths, _artifact.coordinate(line))
    return builder


def _refuse_connect(builder: SparkSession.Builder) -> None:
    options = builder._options
    mode = options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))
    if (
        _jvm.is_connect(builder)
        or "spark.remote" in options
        or str(mode).lower() == "connect"
        or not os.environ.keys().isdisjoint(("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"))
    ):
        raise errors.connect_unsupported("DynamicKafka.configure")


def _check_running(gateway: object, packages: list[str], paths: list[str], coordinate: str) -> None:
    """Fails if a package or jar is missing: a running JVM does not load further jars."""
    from pyspark import SparkContext

    loaded = _jvm.load(gateway) is not None
    context = SparkContext._active_spark_context
    conf = context.getConf() if context is not None else None
    has_packages = _split(conf.get(_PACKAGES, "") or "") if conf else []
    has_jars = {_local(jar) for jar in _split(conf.get(_JARS, "") or "")} if conf else set()
    missing = [p for p in packages if p not in has_packages and not (loaded and p == coordinate)]
    missing += [p for p in paths if not loaded and _local(p) not in has_jars]
    if missing:
        raise errors.session_running(missing)


def _append(builder: SparkSession.Builder, key: str, values: list[str]) -> None:
    present = _split(str(builder._options.get(key) or ""))
    merged = list(dict.fromkeys([*present, *values]))
    if merged:
        builder.config(key, ",".join(merged))


def _paths(jars: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None) -> list[str]:
    if jars is None:
        return []
    given = [jars] if isinstance(jars, (str, os.PathLike)) else list(jars)
    paths = [path for jar in given for path in _split(os.fspath(jar))]
    if not paths:
        raise ValueError(
            "jars is empty: pass the connector's jar and the jars it depends on, or omit the argument"
        )
    for path in paths:
        if not urlsplit(path).scheme and "*" not in path and not os.path.exists(path):
            raise FileNotFoundError(f"no such jar: {path}")
    return paths


def _local(jar: str) -> str:
    return os.path.realpath(urlsplit(jar).path)


def _split(values: str | Iterable[str]) -> list[str]:
    listed = values.split(",") if isinstance(values, str) else values
    return [value.strip() for value in listed if value.strip()]
