"""Translates properties of Kafka's Java clients to those of librdkafka, the client of Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.references import resolved

# Properties that both have, with the same name and meaning.
_SHARED = (
    "bootstrap.servers",
    "client.dns.lookup",
    "security.protocol",
    "sasl.oauthbearer.scope.claim.name",
)
_JAAS = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""")
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the configuration of a client that reaches the same brokers with the same credentials.

    Raises:
        KafkaSettingsError: if librdkafka has no equivalent of a property, or a reference cannot be resolved.
    """
    given = resolved(properties)
    config = {name: given[name] for name in _SHARED if name in given}
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol.endswith("SSL"):
        config |= _tls(given)
    if protocol.startswith("SASL"):
        config |= _sasl(given)
    return config


def _sasl(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanism", "GSSAPI")
    jaas = {key: _unquoted(*values) for key, *values in _JAAS.findall(given.get("sasl.jaas.config", ""))}
    if mechanism in _PASSWORDS:
        if jaas.get("tokenauth", "").lower() == "true":
            raise KafkaSettingsError("librdkafka cannot log in with a delegation token")
        if not {"username", "password"} <= jaas.keys():
            raise KafkaSettingsError("'sasl.jaas.config' has no username and password")
        return {
            "sasl.mechanism": mechanism,
            "sasl.username": jaas["username"],
            "sasl.password": jaas["password"],
        }
    endpoint = given.get("sasl.oauthbearer.token.endpoint.url")
    if mechanism == "OAUTHBEARER" and endpoint and {"clientId", "clientSecret"} <= jaas.keys():
        scope = {"sasl.oauthbearer.scope": jaas["scope"]} if "scope" in jaas else {}
        return {
            "sasl.mechanism": mechanism,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": endpoint,
            "sasl.oauthbearer.client.id": jaas["clientId"],
            "sasl.oauthbearer.client.secret": jaas["clientSecret"],
            **scope,
        }
    raise KafkaSettingsError(f"librdkafka cannot log in with the mechanism {mechanism} as Java clients do")


def _unquoted(double: str, single: str, plain: str) -> str:
    return re.sub(r"\\(.)", r"\1", double or single) or plain


def _tls(given: Mapping[str, str]) -> dict[str, str]:
    config = {}
    if "ssl.endpoint.identification.algorithm" in given:
        config["ssl.endpoint.identification.algorithm"] = given["ssl.endpoint.identification.algorithm"] or "none"
    if "ssl.truststore.certificates" in given:
        config["ssl.ca.pem"] = given["ssl.truststore.certificates"]
    elif given.get("ssl.truststore.type", "JKS").upper() == "PEM" and "ssl.truststore.location" in given:
        config["ssl.ca.location"] = given["ssl.truststore.location"]
    elif "ssl.truststore.location" in given:
        config["ssl.ca.pem"] = _trusted(given["ssl.truststore.location"], given.get("ssl.truststore.password", ""))
    return config | _own_certificate(given)


def _own_certificate(given: Mapping[str, str]) -> dict[str, str]:
    key = {"ssl.key.password": given["ssl.key.password"]} if "ssl.key.password" in given else {}
    if "ssl.keystore.certificate.chain" in given and "ssl.keystore.key" in given:
        return {
            "ssl.certificate.pem": given["ssl.keystore.certificate.chain"],
            "ssl.key.pem": given["ssl.keystore.key"],
            **key,
        }
    if "ssl.keystore.location" not in given:
        return {}
    location, kind = given["ssl.keystore.location"], given.get("ssl.keystore.type", "JKS").upper()
    if kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location, **key}
    if kind == "PKCS12" or not _is_jks(location):
        return {"ssl.keystore.location": location, "ssl.keystore.password": given.get("ssl.keystore.password", "")}
    raise KafkaSettingsError("librdkafka cannot read a key store of type JKS: convert it to PKCS12 or PEM")


def _is_jks(location: str) -> bool:
    try:
        with open(location, "rb") as file:
            return file.read(4) == b"\xfe\xed\xfe\xed"
    except OSError as e:
        raise KafkaSettingsError(f"the key store {location} cannot be read: {e.strerror}") from None


def _trusted(location: str, password: str) -> str:
    """The certificates of a trust store of Java, by Java's own tool."""
    keytool = shutil.which("keytool", path=os.pathsep.join(filter(None, (_java_bin(), os.environ.get("PATH")))))
    if keytool is None:
        raise KafkaSettingsError(
            "the trust store is one of Java, and Java's `keytool` is not installed: use one of type PEM"
        )
    given = ["-storepass:env", "DYNAMIC_KAFKA_STORE"] if password else []
    done = subprocess.run(
        [keytool, "-list", "-rfc", "-keystore", location, *given],
        env={**os.environ, "DYNAMIC_KAFKA_STORE": password},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    found = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", done.stdout, re.DOTALL)
    if done.returncode != 0 or not found:
        raise KafkaSettingsError(f"the trust store {location} cannot be read with its password")
    return "\n".join(found)


def _java_bin() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin") if home else None
