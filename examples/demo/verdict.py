"""Compares every order that was produced with every order that was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar


class Order(NamedTuple):
    """A numbered order and its position in Kafka."""

    cluster: str
    partition: int
    offset: int
    sequence: int


# An order with its position, its number only or with its amount, or a line of text.
T = TypeVar("T", Order, int, tuple[int, int], str)


@dataclass(frozen=True)
class Verdict(Generic[T]):
    """The result of the comparison.

    Attributes:
        produced: Number of orders that a broker has acknowledged.
        read: Number of deliveries by the query.
        lost: Acknowledged, but not delivered.
        duplicated: Deliveries after the first one.
        unknown: Delivered, but not acknowledged with this number and position.
    """

    produced: int
    read: int
    lost: list[T]
    duplicated: list[T]
    unknown: list[T]

    @property
    def passed(self) -> bool:
        """Whether no order is lost, duplicated or unknown."""
        return not (self.lost or self.duplicated or self.unknown)

    def __str__(self) -> str:
        """The result as one line."""
        counts = f"produced {self.produced}, read {self.read}"
        wrong = f"lost {len(self.lost)}, duplicated {len(self.duplicated)}"
        return f"{counts}, {wrong}" + (f", unknown {len(self.unknown)}" if self.unknown else "")

    def details(self, at_most: int) -> list[str]:
        """A line for each wrong order."""
        kinds = {"lost": self.lost, "duplicated": self.duplicated, "unknown": self.unknown}
        return [f"{kind}: {order}" for kind, orders in kinds.items() for order in orders][:at_most]


def compare(produced: Iterable[T], read: Iterable[T]) -> Verdict[T]:
    """Compare both, order by order."""
    sent, seen = Counter(produced), Counter(read)
    too_many = list((seen - sent).elements())
    return Verdict(
        produced=sent.total(),
        read=seen.total(),
        lost=sorted((sent - seen).elements()),
        duplicated=sorted(order for order in too_many if order in sent),
        unknown=sorted(order for order in too_many if order not in sent),
    )
