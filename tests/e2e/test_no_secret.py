"""No secret is printed or stored, neither by running queries nor by failing ones."""

from __future__ import annotations

import pytest

from tests.harness.scene import Scene
from tests.harness.waiting import until

SECRETS = ("jaas-0987", "truststore-1876", "key-2765", "unknown-3654")
# A listener without security ignores these properties.
PROPERTIES = {
    "sasl_jaas_config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="reader" password="{SECRETS[0]}";',
    "ssl_truststore_password": SECRETS[1],
    "ssl_key_password": SECRETS[2],
    "some_vendors_token": SECRETS[3],
}


@pytest.mark.test_all
def test_no_secret_in_checkpoint_log_plan_or_error(scene: Scene) -> None:
    topic = scene.topic("blue", "red")
    both = (("blue", topic), ("red", topic))
    metadata = scene.metadata("orders", "blue", "red", topic=topic)
    for cluster in ("blue", "red"):
        metadata.cluster(cluster, scene.brokers[cluster].bootstrap_servers, **PROPERTIES)
    metadata.write()
    timeout = {"clusterRequestTimeoutMs": "20000"}
    query = scene.query(metadata, "reads", **{"kafka.group.id": "secretive"}, **timeout)
    doomed = scene.drivers.doomed()
    scene.produce("blue", topic, 4)
    scene.produce("red", topic, 4)
    query.start(doomed)
    scene.await_exact(query, *both)
    texts = {"plans": query.explain()}

    # Properties change, one cluster is removed, another one is unreachable, the document is invalid next to a secret.
    changed = {**PROPERTIES, "client_id": "renamed"}
    metadata.cluster("red", scene.brokers["red"].bootstrap_servers, **changed).write()
    until("the change", lambda: "Topology 2 of" in doomed.log())
    scene.produce("red", topic, 4)
    scene.await_exact(query, *both)
    metadata.without("orders", "blue").write()
    until("blue is retained", lambda: "blue" in query.checkpoint.last().get("retained", {}))
    metadata.write_text(metadata.path.read_text().replace('"sasl.jaas.config"', '"sasl.jaas.config": {}, "x"'))
    until("the failed poll", lambda: "failed, consecutive failures: 1" in doomed.log())
    metadata.write()
    scene.brokers["red"].kill()
    try:
        texts["unreachable"] = query.failure()
    finally:
        scene.brokers["red"].restart()

    bad = scene.query(metadata, "fails", **{"kafka.security.protocol": "SASL_NONSENSE"}, **timeout)
    bad.begin(doomed)
    texts["wrong protocol"] = bad.failure()

    texts["checkpoint"] = query.checkpoint.text() + bad.checkpoint.text()
    texts["log"] = doomed.log()
    texts["events"] = str(doomed.events())
    for place, text in texts.items():
        assert text
        for secret in SECRETS:
            assert secret not in text, f"{secret} is in {place}: {_around(text, secret)}"
    doomed.kill()


def _around(text: str, secret: str) -> str:
    at = text.index(secret)
    return text[max(0, at - 200) : at + len(secret)]
