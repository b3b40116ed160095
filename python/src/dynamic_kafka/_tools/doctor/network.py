"""Names, connections and TLS of brokers, without a Kafka client."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Mapping

from dynamic_kafka._tools.doctor.check import Result

Address = tuple[str, int]
_API_VERSIONS = 18
_METADATA = 3
# Version 10 of its requests came with topic ids, in Kafka 2.8.
_WITH_TOPIC_IDS = 10


def addresses(bootstrap_servers: str) -> list[Address]:
    """The hosts and ports of ``bootstrap.servers``.

    Raises:
        ValueError: if one of them is not ``host:port``. The message names it.
    """
    found = []
    for server in filter(None, map(str.strip, bootstrap_servers.split(","))):
        host, _, port = server.rpartition("://")[2].rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError(server)
        found.append((host.strip("[]"), int(port)))
    return found


def dns(servers: list[Address]) -> Result:
    """Whether the names resolve."""
    bad = [host for host, port in servers if not _resolves(host, port)]
    remedy = "correct bootstrap.servers, or the name server of this machine"
    if bad:
        names = ", ".join(dict.fromkeys(bad))
        some = len(bad) < len(servers)
        return Result("warning" if some else "failed", f"no address for {names}", remedy)
    return Result("ok", f"{len(servers)} of {len(servers)} names resolve")


def _resolves(host: str, port: int) -> bool:
    try:
        return bool(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return False


def tcp(servers: list[Address], timeout_s: float) -> Result:
    """Whether the ports accept connections."""
    bad = unreachable(servers, timeout_s)
    remedy = "start the broker, correct the port, or open the firewall"
    if bad:
        some = len(bad) < len(servers)
        return Result("warning" if some else "failed", f"no connection to {'; '.join(bad)}", remedy)
    return Result("ok", f"{len(servers)} of {len(servers)} addresses accept connections")


def unreachable(servers: list[Address], timeout_s: float) -> list[str]:
    """The addresses that accept no connection, with the reason."""
    bad = []
    for host, port in dict.fromkeys(servers):
        try:
            socket.create_connection((host, port), timeout_s).close()
        except (OSError, UnicodeError) as e:
            reason = (
                "no answer" if isinstance(e, TimeoutError) else (getattr(e, "strerror", None) or "unknown host")
            )
            bad.append(f"{host}:{port} ({reason})")
    return bad


def tls(servers: list[Address], config: Mapping[str, str], timeout_s: float) -> Result:
    """Whether a broker has a certificate that is trusted, for its name."""
    try:
        with _connected(servers, config, timeout_s) as connection:
            version = connection.version() if isinstance(connection, ssl.SSLSocket) else None
        return Result("ok", f"{version}, and the certificate is trusted")
    except ssl.SSLCertVerificationError as e:
        remedy = "correct the trust store (ssl.truststore.*), or the names in the broker's certificate"
        return Result("failed", f"the broker's certificate is not accepted: {e.verify_message}", remedy)
    except (ssl.SSLError, ConnectionError, TimeoutError) as e:
        reason = e.reason if isinstance(e, ssl.SSLError) and e.reason else "the connection is closed or silent"
        remedy = "correct the port, or security.protocol: the port probably has no TLS"
        return Result("failed", f"no TLS handshake: {reason}", remedy)
    except OSError as e:
        return Result("failed", f"no TLS handshake: {e.strerror}", "correct the trust store (ssl.truststore.*)")


def speaks_tls(servers: list[Address], timeout_s: float) -> bool:
    """Whether a port that should be without TLS answers with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    host, port = servers[0]
    try:
        with (
            socket.create_connection((host, port), timeout_s) as connection,
            context.wrap_socket(connection, server_hostname=host),
        ):
            return True
    except OSError:
        return False


def versions(servers: list[Address], config: Mapping[str, str], timeout_s: float) -> Result:
    """Which requests a broker supports; Kafka answers this before a log-in."""
    try:
        with _connected(servers, config, timeout_s) as connection:
            supported = _api_versions(connection)
    except (OSError, struct.error, ValueError):
        return Result("warning", "the broker does not say which requests it supports", None)
    newest = supported.get(_METADATA, 0)
    if newest < _WITH_TOPIC_IDS:
        return Result(
            "warning",
            "the broker is older than Kafka 2.8, without topic ids: a recreated topic may not be recognized",
            "update the brokers",
        )
    return Result("ok", f"Kafka 2.8 or later (Metadata up to version {newest})")


def _connected(servers: list[Address], config: Mapping[str, str], timeout_s: float) -> socket.socket:
    """A connection to the first server that accepts one, with TLS if the protocol has it."""
    connection = None
    for host, port in servers:
        try:
            connection = socket.create_connection((host, port), timeout_s)
            break
        except OSError:
            continue
    if connection is None:
        raise ConnectionRefusedError
    if not config.get("security.protocol", "").upper().endswith("SSL"):
        return connection
    context = ssl.create_default_context(cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem"))
    context.check_hostname = config.get("ssl.endpoint.identification.algorithm", "https") != "none"
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


def _api_versions(connection: socket.socket) -> dict[int, int]:
    client = b"dynamic-kafka-cli"
    request = struct.pack(f">hhih{len(client)}s", _API_VERSIONS, 0, 1, len(client), client)
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _read(connection, 4))
    if not 10 <= size <= 1 << 20:
        raise ValueError(size)
    response = _read(connection, size)
    error, count = struct.unpack_from(">hi", response, 4)
    if error:
        raise ValueError(error)
    entries = [struct.unpack_from(">hhh", response, 10 + 6 * index) for index in range(count)]
    return {key: newest for key, _, newest in entries}


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found
