"""Properties of librdkafka that are equivalent to those of Kafka's Java clients, with credentials."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dynamic_kafka._tools.checkpoint.error import CheckpointError

_SAME = (
    "bootstrap.servers",
    "client.dns.lookup",
    "security.protocol",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
)
_PEM = {
    "ssl.truststore.certificates": ("ssl.ca.pem",),
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    # A file of this type has the certificate and the key.
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
}
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_REFERENCE = re.compile(r"\$\{(file|env|dir):([^}:]*)(?::([^}]*))?\}")
_CREDENTIAL = r'\b{}\s*=\s*"((?:[^"\\]|\\.)*)"'


def librdkafka_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Translates properties, and resolves references such as ``${file:path:key}``.

    Raises:
        CheckpointError: if librdkafka has no equivalent, or a reference cannot be resolved. The message contains
            no values.
    """
    given = {name: _resolved(name, value) for name, value in properties.items()}
    if "bootstrap.servers" not in given:
        raise CheckpointError("the metadata has no 'bootstrap.servers' of the cluster")
    found = {name: given[name] for name in _SAME if name in given}
    for name, equivalents in _PEM.items():
        if name in given:
            store = name.rpartition(".")[0].removesuffix(".certificate")
            if given.get(f"{store}.type", "JKS").upper() != "PEM":
                raise CheckpointError(f"this command needs '{store}.type' PEM to use '{name}'")
            found |= dict.fromkeys(equivalents, given[name])
    if given.get("security.protocol", "PLAINTEXT").upper().startswith("SASL"):
        mechanism = given.get("sasl.mechanism", "GSSAPI")
        if mechanism not in _PASSWORDS:
            raise CheckpointError(
                f"this command supports 'sasl.mechanism' {', '.join(_PASSWORDS)}, not {mechanism}"
            )
        jaas = given.get("sasl.jaas.config", "")
        found |= {"sasl.mechanisms": mechanism, **{f"sasl.{name}": _credential(jaas, name) for name in _NAMES}}
    return found


_NAMES = ("username", "password")


def _credential(jaas: str, name: str) -> str:
    found = re.search(_CREDENTIAL.format(name), jaas)
    if found is None:
        raise CheckpointError(f"'sasl.jaas.config' has no {name}")
    return re.sub(r"\\(.)", r"\1", found[1])


def _resolved(name: str, value: str) -> str:
    def resolve(match: re.Match[str]) -> str:
        kind, place, key = match.groups()
        try:
            if kind == "env":
                return os.environ[key or place]
            if kind == "dir":
                return Path(place, key or "").read_text("utf-8")
            return _java_properties(Path(place).read_text("utf-8"))[key or ""]
        except (KeyError, OSError, UnicodeDecodeError):
            raise CheckpointError(f"the reference in property '{name}' cannot be resolved") from None

    return _REFERENCE.sub(resolve, value)


def _java_properties(text: str) -> dict[str, str]:
    """Lines of names and values, without the rarer forms of the format."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*([^#!\s=:][^\s=:]*)\s*[=:\s]\s*(.*)", line)
        if match:
            found[match[1]] = match[2]
    return found
