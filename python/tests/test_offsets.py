from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest

from dynamic_kafka import OffsetsInitializer as Offsets


def test_words() -> None:
    assert Offsets.earliest().to_options("starting") == {"startingOffsets": "earliest"}
    assert Offsets.latest().to_options("ending") == {"endingOffsets": "latest"}


def test_committed() -> None:
    assert Offsets.committed_offsets().to_options("starting") == {
        "startingOffsets": "committed",
        "committedOffsetsFallback": "fail",
    }
    with pytest.raises(ValueError, match="fallback"):
        Offsets.committed_offsets("none")  # type: ignore[arg-type]


def test_timestamp_of_a_moment_in_any_zone() -> None:
    utc = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    berlin = utc.astimezone(timezone(timedelta(hours=1)))
    assert Offsets.timestamp(utc) == Offsets.timestamp(berlin) == Offsets.timestamp(1767268800000)
    assert Offsets.timestamp(utc).to_options("starting") == {"startingTimestamp": "1767268800000"}


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Offsets.timestamp(datetime(2026, 1, 1))


def test_invalid_timestamps() -> None:
    with pytest.raises(ValueError, match="1970"):
        Offsets.timestamp(-1)
    with pytest.raises(TypeError, match="not bool"):
        Offsets.timestamp(True)
    with pytest.raises(TypeError, match="not str"):
        Offsets.timestamp("2026-01-01")  # type: ignore[arg-type]


def test_exact_offsets_have_one_spelling() -> None:
    one = Offsets.offsets({"green": {"t": {1: 7}}, "blue": {"orders": {2: -1, 0: 42}}})
    other = Offsets.offsets({"blue": {"orders": {0: 42, 2: -1}}, "green": {"t": {1: 7}}})
    assert one == other
    assert one.to_options("starting") == {
        "startingOffsets": '{"blue":{"orders":{"0":42,"2":-1}},"green":{"t":{"1":7}}}'
    }


def test_invalid_exact_offsets() -> None:
    with pytest.raises(ValueError, match="empty"):
        Offsets.offsets({})
    with pytest.raises(ValueError, match="cluster 'blue', topic 'orders'"):
        Offsets.offsets({"blue": {"orders": {0: -3}}})
    with pytest.raises(TypeError, match="cluster 'blue', topic 'orders'"):
        Offsets.offsets({"blue": {"orders": {"0": 1}}})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="cluster 'orders', topic '0'"):
        Offsets.offsets({"orders": {"0": 1}})  # type: ignore[dict-item]


def test_of_a_function() -> None:
    def starts(cluster: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 7)

    one = Offsets.of(starts)
    name = one.to_options("starting")["startingOffsets"]
    assert name.startswith("function:")
    assert name != Offsets.of(starts).to_options("starting")["startingOffsets"]
    with pytest.raises(ValueError, match="cannot be in metadata"):
        one.to_metadata("blue")
    with pytest.raises(TypeError, match="not str"):
        Offsets.of("starts")  # type: ignore[arg-type]
