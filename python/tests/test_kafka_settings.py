"""Properties of Kafka's Java clients as those of librdkafka."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.references import resolved
from dynamic_kafka._tools.kafka.settings import librdkafka

SERVERS = {"bootstrap.servers": "b:1"}


def jaas(options: str) -> dict[str, str]:
    return {
        **SERVERS,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {options};",
    }


def test_only_what_concerns_the_connection() -> None:
    assert librdkafka({**SERVERS, "max.poll.records": "5", "ssl.truststore.location": "/none"}) == SERVERS


@pytest.mark.parametrize(
    ("options", "password"),
    [
        ('username="u" password="p\\"w;=\\\\"', 'p"w;=\\'),
        ("username='u' password='p w'", "p w"),
        ('username=u  password = "p"', "p"),
        ('password="p" username="u" serviceName="kafka"', "p"),
    ],
)
def test_passwords(options: str, password: str) -> None:
    found = librdkafka(jaas(options))
    assert (found["sasl.username"], found["sasl.password"]) == ("u", password)
    assert found["sasl.mechanism"] == "PLAIN"


def test_oauth() -> None:
    found = librdkafka(
        jaas('clientId="me" clientSecret="s" scope="read"')
        | {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://t"}
    )
    assert found["sasl.oauthbearer.method"] == "oidc"
    assert found["sasl.oauthbearer.client.secret"] == "s"


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        (jaas('username="u"'), "has no username and password"),
        (jaas('username="u" password="hunter2" tokenauth=true'), "delegation token"),
        (jaas('username="u" password="hunter2"') | {"sasl.mechanism": "GSSAPI"}, "mechanism GSSAPI"),
        ({**SERVERS, "a": "${vault:/x:y}"}, "provider 'vault'"),
        ({**SERVERS, "a": "${env:DYNAMIC_KAFKA_NOWHERE}"}, "the environment has no"),
        ({**SERVERS, "a": "${file:/nowhere:y}"}, "No such file"),
        ({**SERVERS, "security.protocol": "SSL", "ssl.keystore.location": "/nowhere"}, "cannot be read"),
        ({**SERVERS, "security.protocol": "SSL", "ssl.truststore.location": "/nowhere"}, "cannot be read"),
    ],
)
def test_refused(properties: dict[str, str], says: str) -> None:
    with pytest.raises(KafkaSettingsError, match=says) as e:
        librdkafka(properties)
    assert "hunter2" not in str(e.value)


def test_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secrets.properties").write_text(
        "# x\n! y\na=1\nb : two \\\n   words\nc\\ d=\\u00e9\\=\\\\\n  e  f=g\n"
    )
    (tmp_path / "token").write_text("t\n")
    monkeypatch.setenv("SOME_SECRET", "s")
    file = tmp_path / "secrets.properties"
    assert resolved(
        {
            "a": f"<${{file:{file}:a}}>",
            "b": f"${{file:{file}:b}}",
            "c": f"${{file:{file}:c d}}${{file:{file}:e}}",
            "d": f"${{dir:{tmp_path}:token}}",
            "e": "${env:SOME_SECRET}",
            "f": "$plain {text}",
        }
    ) == {"a": "<1>", "b": "two words", "c": "é=\\f=g", "d": "t\n", "e": "s", "f": "$plain {text}"}
    with pytest.raises(KafkaSettingsError, match="has no 'z'"):
        resolved({"a": f"${{file:{file}:z}}"})


def test_stores(tmp_path: Path) -> None:
    keytool = shutil.which("keytool")
    assert keytool is not None
    store = str(tmp_path / "store.p12")
    made = ["-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=x", "-storetype", "PKCS12"]
    subprocess.run([keytool, *made, "-keystore", store, "-storepass", "secret1"], check=True, capture_output=True)
    tls = {**SERVERS, "security.protocol": "SSL", "ssl.truststore.location": store}
    found = librdkafka({**tls, "ssl.truststore.password": "secret1", "ssl.endpoint.identification.algorithm": ""})
    assert found["ssl.ca.pem"].startswith("-----BEGIN CERTIFICATE-----")
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    with pytest.raises(KafkaSettingsError, match="cannot be read with its password"):
        librdkafka({**tls, "ssl.truststore.password": "wrong-1"})
    own = {"ssl.keystore.location": store, "ssl.keystore.password": "secret1", "ssl.keystore.type": "PKCS12"}
    pem = {"ssl.truststore.type": "PEM"}
    assert librdkafka({**tls, **own, **pem}) == {
        **SERVERS,
        "security.protocol": "SSL",
        "ssl.ca.location": store,
        "ssl.keystore.location": store,
        "ssl.keystore.password": "secret1",
    }
    texts = {"ssl.keystore.certificate.chain": "c", "ssl.keystore.key": "k", "ssl.truststore.certificates": "t"}
    found = librdkafka({**SERVERS, "security.protocol": "SSL", **texts, "ssl.key.password": "p"})
    assert {found["ssl.certificate.pem"], found["ssl.key.pem"], found["ssl.ca.pem"]} == {"c", "k", "t"}
    (tmp_path / "old.jks").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(KafkaSettingsError, match="JKS"):
        librdkafka({**SERVERS, "security.protocol": "SSL", "ssl.keystore.location": str(tmp_path / "old.jks")})
