"""Answers of a driver, as `PageJson` writes them: what no query of a test can be brought to in a short time."""

from __future__ import annotations

import json
import math
from typing import Any

Answer = dict[str, Any]
# A point each two seconds, until this moment.
NOW = 1_790_000_000_000
POINT_MS = 2000


def points(clusters: dict[str, float], count: int = 240) -> Answer:
    """Lag and records of clusters, each with its records per second."""
    at = [NOW - (count - 1 - i) * POINT_MS for i in range(count)]
    columns = {
        id: {
            "lag": [max(0, round(rate * 4 * (1 + math.sin(i / 17 + n)))) for i in range(count)],
            "records": [round(rate * i * POINT_MS / 1000) for i in range(count)],
        }
        for n, (id, rate) in enumerate(clusters.items())
    }
    return {"at": at, "clusters": columns}


def source(name: str, clusters: dict[str, tuple[str, float]]) -> Answer:
    """A query that reads clusters with these states and rates."""
    started = NOW - 8 * 60 * 1000
    series = points({id: rate for id, (_, rate) in clusters.items()})
    spans, events = [], [event(started, "started")]
    for n, (id, (state, _)) in enumerate(clusters.items()):
        begin = started + n % 5 * 40_000
        events.append(event(begin, "enters", id, "orders: 8 partitions"))
        if state == "active":
            spans.append(span(id, state, begin, NOW))
        else:
            spans += [span(id, "active", begin, NOW - 120_000), span(id, state, NOW - 120_000, NOW)]
            what = {"draining": "drains", "retained": "leaves"}.get(state, state)
            events.append(event(NOW - 120_000, what, id))
            if state == "retained":
                for column in series["clusters"][id].values():
                    column[-60:] = [None] * 60
    rows: list[Answer] = [
        {
            "id": id,
            **shown(state),
            "values": {"state": 2}
            if state == "retained"
            else {
                "pendingRecords": series["clusters"][id]["lag"][-1],
                "recordsRead": series["clusters"][id]["records"][-1],
                "answerAgeMs": 118_000 if state == "unreachable" else 320,
                "eventTimeLagMs": 4200,
                "eventTimeDriftMs": 0,
            },
        }
        for id, (state, _) in clusters.items()
    ]
    values = {
        "kafkaClustersCount": len(clusters),
        "pendingRecords": sum(row["values"].get("pendingRecords", 0) for row in rows),
        "metadataAgeMs": 2100,
    }
    return {
        "name": name,
        "part": "0",
        "title": "streams: orders",
        "started": started,
        "ended": None,
        "total": values,
        "clusters": rows,
        "points": series,
        "spans": spans,
        "events": sorted(events, key=lambda e: e["at"]),
    }


def event(at: int, what: str, cluster: str = "", detail: str = "") -> Answer:
    """An event."""
    return {"at": at, "what": what, "cluster": cluster, "detail": detail}


def shown(state: str) -> Answer:
    """What the driver says of a cluster that is unreachable while it is active, or has this state."""
    is_unreachable = state == "unreachable"
    return {"state": "active" if is_unreachable else state, "unreachable": is_unreachable}


def span(cluster: str, state: str, begin: int, until: int) -> Answer:
    """A state of a cluster, from a moment until another one."""
    return {"cluster": cluster, **shown(state), "from": begin, "until": until}


def answer(*queries: Answer, application: str = "orders-app") -> Answer:
    """The answer of the driver."""
    return {"application": application, "now": NOW, "queries": list(queries)}


def route(page: Any, of: Answer) -> None:
    """The page gets this answer instead of the driver's."""
    page.route("**/data.json*", lambda route: route.fulfill(body=json.dumps(of)))


EMPTY = answer()
WAITING = answer({**source("waiting", {}), "points": {"at": [], "clusters": {}}, "total": {}, "spans": []})
MANY = answer(
    source(
        "sixty-four",
        {
            f"cluster-{n:02d}": (
                {7: "unreachable", 8: "retained"}.get(n, "draining" if n % 9 == 0 else "active"),
                900 / (1 + n),
            )
            for n in range(64)
        },
    )
)
LONG = answer(
    source(
        "a-name-of-a-query-that-somebody-has-made-from-a-path/without-any-space/" + "x" * 90,
        {"kafka-" + "very-long-cluster-id-" * 6 + end: ("active", 40.0) for end in ("eu-central-1", "us-east-1")}
        | {"<img src=x onerror=alert(1)>": ("draining", 3.0)},
    ),
    application="an application with <b>a name</b> of " + "many words " * 8,
)
