"""Errors of checkpoints."""


class CheckpointError(Exception):
    """The checkpoint cannot be read. The message names the file and the cause."""
