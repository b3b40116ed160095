"""Errors of commands that run the connector's jar."""


class OperatorError(Exception):
    """The jar cannot be run. The message says what is needed."""
