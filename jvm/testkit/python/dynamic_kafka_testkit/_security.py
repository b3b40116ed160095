"""What a cluster asks of its clients before it serves them, always over TLS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scram:
    """Name and password. With `acls`, clients may do only what `Cluster.add_acl` allows them."""

    users: Mapping[str, str]
    acls: bool = False
    kind: str = field(default="scram", init=False)


@dataclass(frozen=True)
class MutualTls:
    """A certificate of the cluster's own authority. `acls` as in `Scram`."""

    acls: bool = False
    kind: str = field(default="mutual-tls", init=False)


def request(security: Scram | MutualTls | None) -> dict[str, Any] | None:
    """As the server takes it."""
    return None if security is None else asdict(security)
