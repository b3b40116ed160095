"""What is wrong with a checkpoint."""


class CheckpointError(Exception):
    """The checkpoint cannot be understood. Its text tells which file and why."""
