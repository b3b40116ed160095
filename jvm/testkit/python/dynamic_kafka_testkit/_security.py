"""The authentication that a cluster requires of its clients, always over TLS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scram:
    """User and password. With `acls`, clients require the ACLs of `Cluster.add_acl`."""

    users: Mapping[str, str]
    acls: bool = False
    kind: str = field(default="scram", init=False)


@dataclass(frozen=True)
class MutualTls:
    """A client certificate of the cluster's own authority. `acls` as in `Scram`."""

    acls: bool = False
    kind: str = field(default="mutual-tls", init=False)


def request(security: Scram | MutualTls | None) -> dict[str, Any] | None:
    """The parameter of a request to the server."""
    return None if security is None else asdict(security)
