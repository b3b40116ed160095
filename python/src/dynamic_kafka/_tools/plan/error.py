"""Errors of ``plan``."""


class PlanError(Exception):
    """What the query would do is not known. The message contains no secret."""
