from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream, _bridge

ORDERS = KafkaStream("orders", {"blue": ClusterMetadata(["orders"], {"bootstrap.servers": "blue:9092"})})


class Memory(KafkaMetadataService):
    def __init__(self, *streams: KafkaStream) -> None:
        self.streams = {s.stream_id: s for s in streams}

    def get_all_streams(self) -> list[KafkaStream]:
        return list(self.streams.values())

    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        return {id: self.streams[id] for id in stream_ids if id in self.streams}


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    yield
    _bridge._registered.clear()
    _bridge._offsets.clear()


def test_answers_are_metadata_documents() -> None:
    proxy = _bridge.ServiceProxy(Memory(ORDERS))
    expected = {
        "version": 1,
        "clusters": {"blue": {"properties": {"bootstrap.servers": "blue:9092"}}},
        "streams": {"orders": {"clusters": {"blue": {"topics": ["orders"], "state": "active"}}}},
    }
    assert json.loads(proxy.getAllStreams()) == expected
    assert json.loads(proxy.describeStreams('["orders","unknown"]')) == expected
    assert proxy.isClusterActive("blue") is True
    proxy.close()


def test_a_failure_is_reported_by_type_and_message_only() -> None:
    class Broken(Memory):
        def get_all_streams(self) -> list[KafkaStream]:
            try:
                raise KeyError("hunter2")
            except KeyError as e:
                raise ConnectionError("registry is down") from e

    with pytest.raises(ConnectionError) as error:
        _bridge.ServiceProxy(Broken()).getAllStreams()
    # py4j sends the traceback: the frames of this package, then the exception.
    sent = "".join(traceback.format_exception(error.value))
    assert sent.splitlines()[-1] == "ConnectionError: registry is down"
    assert "hunter2" not in sent
    assert "raise ConnectionError" not in sent


def test_answers_of_another_shape_are_failures() -> None:
    class Odd(Memory):
        def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
            return [ORDERS] if stream_ids == ["list"] else {"payments": ORDERS}  # type: ignore[return-value]

    proxy = _bridge.ServiceProxy(Odd())
    with pytest.raises(TypeError, match="a dict of KafkaStream by stream id"):
        proxy.describeStreams('["list"]')
    with pytest.raises(ValueError, match="under 'payments' has the id 'orders'"):
        proxy.describeStreams('["payments"]')


def test_a_service_is_registered_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.java_gateway.ensure_callback_server_started", lambda gateway: None)
    proxies: list[_bridge.ServiceProxy] = []

    def java_register(proxy: _bridge.ServiceProxy) -> str:
        proxies.append(proxy)
        return f"python-{len(proxies)}"

    api, gateway = SimpleNamespace(register=java_register), object()
    service = Memory(ORDERS)
    assert _bridge.register(service, gateway, api) == "python-1"
    assert _bridge.register(service, gateway, api) == "python-1"
    assert _bridge.register(Memory(ORDERS), gateway, api) == "python-2"
    assert _bridge.register(service, object(), api) == "python-3"
    assert set(_bridge._registered) == {"python-1", "python-2", "python-3"}
    assert _bridge._registered["python-1"] is proxies[0]


def test_services_are_closed_once_at_the_end() -> None:
    class Closing(Memory):
        closed = 0

        def close(self) -> None:
            self.closed += 1
            raise OSError("already gone")

    service = Closing()
    for handle in "ab":
        _bridge._registered[handle] = _bridge.ServiceProxy(service)
    _bridge._close_all()
    assert service.closed == 1
    assert not _bridge._registered


def test_offsets_are_json_by_partition() -> None:
    calls: list[tuple[str, str, Sequence[int]]] = []

    def starts(cluster: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        calls.append((cluster, topic, partitions))
        return {0: -2, 1: 42}

    assert json.loads(_bridge.OffsetsProxy(starts).offsets("blue", "orders", "[0,1]")) == {"0": -2, "1": 42}
    assert calls == [("blue", "orders", [0, 1])]


@pytest.mark.parametrize("answer", [None, [1], {0: "1"}, {0: 1.5}, {"0": 1}])
def test_offsets_of_another_type_are_failures(answer: Any) -> None:
    with pytest.raises(TypeError):
        _bridge.OffsetsProxy(lambda cluster, topic, partitions: answer).offsets("blue", "orders", "[0]")


def test_a_failing_function_is_reported_by_type_and_message_only() -> None:
    def starts(cluster: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        raise LookupError("no row")

    with pytest.raises(LookupError) as error:
        _bridge.OffsetsProxy(starts).offsets("blue", "orders", "[0]")
    assert "".join(traceback.format_exception(error.value)).splitlines()[-1] == "LookupError: no row"


def test_a_function_is_registered_once_for_each_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.java_gateway.ensure_callback_server_started", lambda gateway: None)
    handles: list[str] = []
    api = SimpleNamespace(registerOffsets=lambda handle, proxy: handles.append(handle))
    gateway = object()

    def starts(cluster: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return {}

    for each in (gateway, gateway, object()):
        _bridge.register_offsets("one", starts, each, api)
    assert handles == ["one", "one"]
