"""The sources of this connector in a logged batch."""

from __future__ import annotations

from pathlib import Path

from dynamic_kafka._tools.checkpoint import composite, plain
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import LoggedBatch, SourceId

_MIGRATE = "its query reads Spark's kafka source, from which 'migrate' moves it to this one"


def composite_texts(checkpoint: Path, batch: LoggedBatch, of_kafka: str = _MIGRATE) -> dict[SourceId, str]:
    """Returns the composite offsets where a batch ends, as text, by source.

    Args:
        checkpoint: Folder of the query's checkpoint.
        batch: The batch.
        of_kafka: What is said of a query with Spark's own Kafka source.

    Raises:
        CheckpointError: if there is none.
    """
    texts = {id: text for id, text in batch.offsets.items() if text is not None}
    found = {id: text for id, text in texts.items() if composite.is_composite(text)}
    if not found:
        has_kafka = any(plain.read(text) is not None for text in texts.values())
        raise CheckpointError(
            f"batch {batch.number} of {checkpoint} has no offset of a dynamic-kafka source"
            + (f": {of_kafka}" if has_kafka else "")
        )
    return found
