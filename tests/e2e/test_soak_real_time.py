"""A short soak test in real-time mode; DYNAMIC_KAFKA_SEED=random selects another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.scene import Scene
from tests.harness.seed import seed
from tests.soak.plan import Scope
from tests.soak.run import Length, soak

EVENTS = 10


@pytest.mark.test_all
def test_a_soak_of_a_query_in_real_time_mode(scene: Scene, tmp_path: Path) -> None:
    scope = Scope(real_time=True)
    print(soak(seed(), Length(EVENTS), tmp_path / "soak", scene.brokers, scene.drivers, scope=scope))
