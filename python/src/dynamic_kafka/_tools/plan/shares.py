"""How partitions share a limit of records. The connector's ``BudgetShare`` and ``Limits`` do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dynamic_kafka._tools.plan.rules import Key


def granted(unread: Mapping[Key, int], limit: int | None, limit_of: Callable[[str], int | None]) -> dict[Key, int]:
    """Returns how many records the next batch reads of each partition.

    Where a limit is below the number of partitions, the query continues with those that it has read longest ago,
    which only the query knows: the first ones are assumed.

    Args:
        unread: The number of unread records.
        limit: The maximum over all clusters.
        limit_of: The maximum of one cluster.
    """
    keys = sorted(unread)
    within: dict[Key, int] = {}
    for cluster in dict.fromkeys(key[0] for key in keys):
        here = [key for key in keys if key[0] == cluster]
        within.update(zip(here, _shares([unread[key] for key in here], limit_of(cluster)), strict=True))
    return dict(zip(keys, _shares([within[key] for key in keys], limit), strict=True))


def _shares(unread: Sequence[int], budget: int | None) -> Sequence[int]:
    waiting = [i for i, records in enumerate(unread) if records > 0]
    total = sum(unread)
    if budget is None or total <= budget:
        return unread
    shares = [0] * len(unread)
    if budget <= len(waiting):
        for i in waiting[: max(0, budget)]:
            shares[i] = 1
        return shares
    # One record for each partition, the rest in proportion, with the largest remainders rounded up.
    spare, weight = budget - len(waiting), total - len(waiting)
    remainders = {}
    for i in waiting:
        whole, remainders[i] = divmod((unread[i] - 1) * spare, weight)
        shares[i] = 1 + whole
    for i in sorted(waiting, key=lambda i: (-remainders[i], i))[: budget - sum(shares)]:
        shares[i] += 1
    return shares
