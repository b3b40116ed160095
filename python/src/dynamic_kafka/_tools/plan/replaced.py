"""Asks a Kafka cluster that replaces another one what the policy of the query needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.plan.continuing import (
    NotContinuedError,
    Replacement,
    questions,
    same_offsets,
)
from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.mirror import Mirror
from dynamic_kafka._tools.plan.options import Options

if TYPE_CHECKING:
    from dynamic_kafka._tools.plan.asking import Cluster


def continues(policy: str) -> bool:
    """Whether a policy continues where the former cluster was left."""
    return policy not in ("fail", "earliest", "latest")


def continuation(of: Replacement, options: Options, cluster: Cluster, about: str) -> Positions:
    """Returns the next offsets to read; a partition that is absent is read from its beginning.

    Args:
        of: The replacement.
        options: The options of the query.
        cluster: The new cluster.
        about: What replaces what, for the error.

    Raises:
        PlanError: if the query does not continue.
    """
    try:
        return _found(of, options, cluster)
    except NotContinuedError as e:
        raise PlanError(
            f"{about}. The query fails with CLUSTER_REPLACED: {e} (replacedClusterPolicy is "
            f"'{options.replaced_policy}')"
        ) from None


def _found(of: Replacement, options: Options, cluster: Cluster) -> Positions:
    match options.replaced_policy:
        case "earliest":
            return of.earliest
        case "latest":
            return of.ends
        case "same-offsets":
            asked = questions(of)
            return same_offsets(of, cluster.records_at(asked) if asked else {})
        case "mirror-maker":
            return _mirrored(of, options, cluster)
        case _:
            raise NotContinuedError("the offsets in the checkpoint do not apply to it")


def _mirrored(of: Replacement, options: Options, cluster: Cluster) -> Positions:
    mirror = Mirror(of, options.group, options.mirror_maker_alias(of.former), options.mirrored_topics)
    mirror.question()
    records = cluster.checkpoints(mirror.checkpoints)
    if records is None:
        raise NotContinuedError(
            f"the new cluster has no topic '{mirror.checkpoints}', where MirrorMaker writes its checkpoints"
        )
    return mirror.continuation(records)
