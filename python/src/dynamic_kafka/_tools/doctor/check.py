"""The checks of one cluster, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

Status = Literal["ok", "warning", "failed", "skipped"]
NAMES = (
    "dns",
    "tcp",
    "tls",
    "login",
    "versions",
    "topics",
    "groups",
    "transactional_ids",
    "cluster_id",
    "transaction_timeout",
    "advertised",
)
# Behind a failure of one of these, nothing else can be said.
_NEEDED = frozenset(("dns", "tcp", "tls", "login"))


@dataclass(frozen=True)
class Result:
    """The result of a check. It contains no secret.

    Attributes:
        status: ``failed``: a query would fail, or not read or write something; ``skipped``: behind a failed one.
        message: What was found, or the cause.
        remedy: What to do about it; None if nothing has to be done.
    """

    status: Status
    message: str
    remedy: str | None = None


@dataclass(frozen=True)
class Check:
    """A result, with the cluster and the name of the check."""

    cluster: str
    check: str
    status: Status
    message: str
    remedy: str | None

    def to_json(self) -> dict[str, object]:
        """Returns all fields."""
        return asdict(self)


def run(cluster: str, checks: dict[str, Callable[[], Result]]) -> Iterator[Check]:
    """Runs the checks of a cluster, and skips those behind a failed one.

    Args:
        cluster: Id of the cluster.
        checks: A function for each name.
    """
    failed = None
    for name in NAMES:
        result = Result("skipped", f"behind '{failed}'") if failed else checks[name]()
        if result.status == "failed" and name in _NEEDED:
            failed = name
        yield Check(cluster, name, result.status, result.message, result.remedy)
