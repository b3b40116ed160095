"""Which Kafka properties may be printed with their values: the connector's ``Redaction`` in Python.

What is not known to be harmless is a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

REDACTED = "(redacted)"

# Texts that hold no secret.
HARMLESS = frozenset(
    """
    auto.offset.reset bootstrap.servers client.dns.lookup client.id client.rack group.id group.instance.id
    isolation.level metadata.recovery.strategy metrics.recording.level sasl.kerberos.service.name sasl.mechanism
    security.protocol ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.type ssl.protocol ssl.provider
    ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type
    """.split()
)

# Numbers and truth values, by the types that Kafka's consumers and admin clients declare.
NUMBERS = frozenset(
    """
    allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter check.crcs connections.max.idle.ms
    default.api.timeout.ms enable.auto.commit enable.metrics.push exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes heartbeat.interval.ms max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records metadata.max.age.ms metrics.num.samples metrics.sample.window.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
    sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    send.buffer.bytes session.timeout.ms socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms
    """.split()
)

CLASSES = frozenset(
    """
    key.deserializer sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    ssl.engine.factory.class value.deserializer
    """.split()
)


def shown(name: str, value: str) -> str:
    """The value, or :data:`REDACTED`. References like ``${file:...}`` are redacted as well."""
    known = name.lower()
    safe = "${" not in value and (
        known in HARMLESS
        or (known in NUMBERS and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|true|false", value.strip()))
        or (known in CLASSES and re.fullmatch(r"[A-Za-z0-9_.$]+", value.strip()))
    )
    return value if safe else REDACTED


def shown_all(properties: Mapping[str, str]) -> dict[str, str]:
    """All names in order, values only where they may be seen."""
    return {name: shown(name, value) for name, value in sorted(properties.items())}
