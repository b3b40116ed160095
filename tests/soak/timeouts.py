"""Transactions that stay open for longer than `transaction.timeout.ms`, because the driver is frozen or dead."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.harness.driver_pool import DriverPool
from tests.harness.sink_query import PATIENCE_S, SinkQuery
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

# Of the run that is frozen or killed only: in a run with random faults, a cluster could be away for longer after a part
# of a batch was committed, which no sink survives.
LIFE_MS = 20_000
# Kafka looks for expired transactions every 10 s.
EXPIRED_S = 90.0
# A batch has to be decided within half of it. On a busy machine the run is tried again with twice the time.
MOST_TRIES = 4
TOO_SLOW = ("TRANSACTIONS_ABORTED", "COMMIT_INCOMPLETE")
# How a driver fails when it is thawed: a task may notice the end of its transaction first.
FAILURES = {
    "writing": ("TRANSACTIONS_ABORTED", "WRITE_FAILED"),
    "before-decision": ("TRANSACTIONS_ABORTED",),
    "decided": ("TRANSACTIONS_ABORTED",),
}
# A soak of this length that never reached a time limit has not tested it.
LONG_MINUTES = 30.0


class Timeouts:
    """Freezes or kills the driver in the middle of a batch until Kafka has aborted all of its transactions.

    No other process can end them meanwhile, so an aborted one has reached its time limit.

    Args:
        query: The query, whose driver is replaced.
        brokers: The clusters that it writes to.
        drivers: The pool of drivers.
        send: Produces records that the query will read, and returns the value of the last one.
        alive: Raises if the query has ended with an error that is not allowed.
    """

    def __init__(
        self,
        query: SinkQuery,
        brokers: Mapping[str, Cluster],
        drivers: DriverPool,
        send: Callable[[], str],
        alive: Callable[[], object],
    ) -> None:
        self._query = query
        self._brokers = brokers
        self._drivers = drivers
        self._send = send
        self._alive = alive
        self.reached: Counter[str] = Counter()
        """How often transactions were aborted by their time limit, by step and what happened to the driver."""
        self.transactions = 0
        """How many transactions were aborted by their time limit."""
        self.tries = 0
        """How often a run was too slow for its short time limit."""

    def frozen(self, step: str) -> None:
        """Freeze the driver, and thaw it: the query must fail, and write the batch again when it is restarted."""
        halted, before = self._halt(step)
        driver = self._query.driver
        assert driver is not None
        driver.freeze()
        try:
            self._await_expired(step, "frozen")
        finally:
            driver.thaw()
        if step == "writing":
            self._query.release_task()
        else:
            self._query.release()
        error = self._query.failure(PATIENCE_S)
        assert any(f"[DYNAMIC_KAFKA.{name}]" in error for name in FAILURES[step]), error
        self._query.begin(driver)
        self._await_written(halted, before)

    def dead(self, step: str) -> None:
        """Kill the driver, and start another one when the transactions have expired."""
        halted, before = self._halt(step)
        assert self._query.driver is not None
        self._query.driver.kill()
        self._drivers.prepare()
        self._await_expired(step, "dead")
        self._query.begin(self._drivers.doomed())
        self._await_written(halted, before)

    def _halt(self, step: str) -> tuple[int | None, dict[str, Any] | None]:
        """Return when a run with a short time limit is in the middle of a batch, which it has decided or not.

        Returns:
            The batch, and its decision. No batch if it is halted in a task.
        """
        query = self._query
        assert query.driver is not None
        query.driver.kill()
        self._drivers.prepare()
        driver = self._drivers.doomed()
        query.clear_fault()
        fault = {"task": "hang", "at": self._send()} if step == "writing" else {"step": step, "batch": None}
        for number in range(MOST_TRIES):
            query.begin(driver, fault, **{"kafka.transaction.timeout.ms": str(LIFE_MS << number)})
            event = until(f"the halt {step} of {query.name}", lambda: self._halted(step), PATIENCE_S)
            if event["event"] == "stuck":
                return event["batch"], query.decisions().get(f"{event['batch']}-0")
            if event["event"] == "hit":
                until("an open transaction", self._open, EXPIRED_S)
                return None, None
            error = str(event["error"])
            assert any(f"[DYNAMIC_KAFKA.{name}]" in error for name in TOO_SLOW), error
            self.tries += 1
        raise AssertionError(f"{MOST_TRIES} runs were too slow for their short time limits, the last one: {error}")

    def _halted(self, step: str) -> dict[str, Any]:
        if step == "writing" and self._query.is_hit():
            return {"event": "hit"}
        return self._query.halted_or_terminated() or {}

    def _await_expired(self, step: str, driver: str) -> None:
        """Wait until Kafka has aborted what is open; the driver cannot end it."""
        opened = self._open()
        assert opened, f"no transaction is open: {step}, driver {driver}"

        def ended() -> bool:
            time.sleep(1)
            states = self._states()
            assert not any(states[id] == "CompleteCommit" for id in opened), (
                f"committed without a driver: {states}"
            )
            return all(states[id] == "CompleteAbort" for id in opened)

        until(f"the time limit of {sorted(opened)}", ended, EXPIRED_S + (LIFE_MS << MOST_TRIES) / 1000)
        self.reached[f"{step}, driver {driver}"] += 1
        self.transactions += len(opened)

    def _open(self) -> set[tuple[str, str]]:
        """The open transactions of the current run, by cluster."""
        generation = max(int(path.stem[4:]) for path in self._query.journal.glob("run-[0-9]*.json"))
        of_run = re.compile(rf".*-{generation}-({'|'.join(self._brokers)})-\d+\.\d-.*")
        return {id for id, state in self._states().items() if state == "Ongoing" and of_run.fullmatch(id[1])}

    def _states(self) -> dict[tuple[str, str], str]:
        return {
            (name, id): state
            for name, broker in self._brokers.items()
            for id, state in broker.transactions().items()
        }

    def _last(self) -> int:
        """The last finished batch."""
        return max(self._query.checkpoint.committed(), default=-1)

    def _await_written(self, batch: int | None, before: dict[str, Any] | None) -> None:
        """Wait for a batch; it must have been decided again."""
        query, last = self._query, self._last()
        expected = last + 1 if batch is None else batch
        until(f"batch {expected} again", lambda: self._alive() and self._last() >= expected, PATIENCE_S)
        if batch is None:
            return
        now = query.decisions().get(f"{batch}-0")
        assert now is not None
        assert before is None or now["claim"] != before["claim"], f"batch {batch} was not decided again"


def check_reached(minutes: float | None, reached: Mapping[str, int]) -> None:
    """Raise an AssertionError if a long soak has not reached any time limit."""
    if minutes is not None and minutes >= LONG_MINUTES:
        assert sum(reached.values()) > 0, f"no transaction has reached its time limit in {minutes:g} minutes"
