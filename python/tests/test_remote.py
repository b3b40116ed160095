from __future__ import annotations

from datetime import timedelta

import pytest

from dynamic_kafka import (
    ClientCredentials,
    DynamicKafkaReaderBuilder,
    HttpMetadataService,
    JdbcMetadataService,
    KafkaTopicMetadataService,
    KubernetesConfigMapMetadataService,
    StrimziMetadataService,
)

Builder = DynamicKafkaReaderBuilder
TOKEN = "Bearer ${file:/etc/secrets/registry.properties:token}"


def test_http_service(builder: Builder) -> None:
    service = HttpMetadataService(
        "https://metadata/streams", {"Authorization": TOKEN}, timeout="5s", ttl=timedelta(0)
    )
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "http",
        "metadataService.url": "https://metadata/streams",
        "metadataService.headers.Authorization": TOKEN,
        "metadataService.timeoutMs": "5000",
        "metadataService.ttlMs": "0",
    }
    assert HttpMetadataService("http://r").to_options() == {
        "metadataService": "http",
        "metadataService.url": "http://r",
    }


def test_config_map_service(builder: Builder) -> None:
    service = KubernetesConfigMapMetadataService("data", "streams", "streams.yaml", ttl="1m")
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "configmap",
        "metadataService.namespace": "data",
        "metadataService.name": "streams",
        "metadataService.key": "streams.yaml",
        "metadataService.ttlMs": "60000",
    }
    assert repr(service) == "KubernetesConfigMapMetadataService('data', 'streams', 'streams.yaml')"


def test_strimzi_service(builder: Builder) -> None:
    service = StrimziMetadataService(
        "kafka", listener="tls", label="example.com/stream", properties={"client.id": "me"}, ttl="1m"
    )
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "strimzi",
        "metadataService.namespace": "kafka",
        "metadataService.listener": "tls",
        "metadataService.label": "example.com/stream",
        "metadataService.properties.client.id": "me",
        "metadataService.ttlMs": "60000",
    }
    assert repr(service) == "StrimziMetadataService('kafka')"
    assert StrimziMetadataService("a,b").to_options() == {
        "metadataService": "strimzi",
        "metadataService.namespace": "a,b",
    }


def test_jdbc_service(builder: Builder) -> None:
    service = JdbcMetadataService("jdbc:postgresql://db/meta", "table topics", {"user": "reader"}, timeout=500)
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "jdbc",
        "metadataService.url": "jdbc:postgresql://db/meta",
        "metadataService.query": "table topics",
        "metadataService.properties.user": "reader",
        "metadataService.timeoutMs": "500",
    }


def test_kafka_topic_service(builder: Builder) -> None:
    service = KafkaTopicMetadataService("k:9092", "streams", {"security.protocol": "SSL"}, timeout="5s")
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "kafka-topic",
        "metadataService.bootstrapServers": "k:9092",
        "metadataService.topic": "streams",
        "metadataService.properties.security.protocol": "SSL",
        "metadataService.timeoutMs": "5000",
    }
    assert repr(service) == "KafkaTopicMetadataService('k:9092', 'streams')"


def test_client_credentials() -> None:
    secret = "${env:SECRET}"
    oauth = ClientCredentials("https://login/token", "reader", secret, scope="streams")
    assert HttpMetadataService("https://r", oauth=oauth).to_options() == {
        "metadataService": "http",
        "metadataService.url": "https://r",
        "metadataService.oauth.tokenUrl": "https://login/token",
        "metadataService.oauth.clientId": "reader",
        "metadataService.oauth.clientSecret": secret,
        "metadataService.oauth.scope": "streams",
    }
    assert (
        "metadataService.oauth.scope"
        not in HttpMetadataService(
            "https://r", oauth=ClientCredentials("https://login/token", "reader", secret)
        ).to_options()
    )


def test_another_service_replaces_the_first(builder: Builder) -> None:
    builder.set_kafka_metadata_service(HttpMetadataService("http://r", {"X-Y": "z"}, "5s"))
    builder.set_kafka_metadata_service(KubernetesConfigMapMetadataService("a", "b", "c"))
    assert [name for name in builder.options() if "header" in name or "timeout" in name or "url" in name] == []


@pytest.mark.parametrize(
    "service",
    [
        HttpMetadataService("https://me:hunter2@r/s?token=hunter2", {"Authorization": "hunter2"}),
        JdbcMetadataService("jdbc:mysql://me:hunter2@db/meta", "select 'hunter2'", {"password": "hunter2"}),
        KafkaTopicMetadataService("k:9092", "streams", {"sasl.jaas.config": "hunter2"}),
        StrimziMetadataService("kafka", properties={"sasl.jaas.config": "hunter2"}),
        ClientCredentials("https://login/token", "hunter2", "hunter2"),
        HttpMetadataService("https://r", oauth=ClientCredentials("https://login/token", "hunter2", "hunter2")),
    ],
)
def test_no_credential_is_shown(service: object) -> None:
    assert "hunter2" not in repr(service) + str(service)


def test_the_address_is_shown() -> None:
    assert repr(HttpMetadataService("https://me:x@r:8443/s?token=y")) == "HttpMetadataService(https://r:8443/s)"


def test_invalid_durations() -> None:
    with pytest.raises(ValueError, match="timeout must be 1 or more, not '0s'"):
        HttpMetadataService("http://r", timeout="0s")
    with pytest.raises(ValueError, match="ttl must be 0 or more, not -1"):
        JdbcMetadataService("jdbc:x:y", "q", ttl=-1)
    with pytest.raises(TypeError, match="X-Y takes a str"):
        HttpMetadataService("http://r", {"X-Y": None})  # type: ignore[dict-item]
