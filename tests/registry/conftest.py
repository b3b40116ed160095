"""What the tests with registries share: two registries, two clusters, a session, clients of other projects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dynamic_kafka_testkit import Cluster, Testkit
from pyspark.sql import SparkSession

from tests.harness.session import session
from tests.registry.clients import Foreign
from tests.registry.server import Registry


@pytest.fixture(scope="session")
def registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, Registry]]:
    """The registries of blue and of green."""
    logs = tmp_path_factory.mktemp("registries")
    with Registry(logs / "one.log") as one, Registry(logs / "two.log") as two:
        yield one, two


@pytest.fixture(scope="session")
def clusters(testkit: Testkit) -> list[Cluster]:
    """Blue and green."""
    return testkit.start_all("blue", "green")


@pytest.fixture(scope="session")
def spark(clusters: list[Cluster]) -> Iterator[SparkSession]:
    """Ends before the clusters do."""
    with session({"spark.sql.session.timeZone": "UTC", "spark.sql.codegen.wholeStage": False}) as running:
        yield running


@pytest.fixture(scope="session")
def foreign() -> Iterator[Foreign]:
    with Foreign() as foreign:
        yield foreign
