"""Errors of ``plan``."""


class PlanError(Exception):
    """What the query would do is not known. The message contains no secret."""


PROCEDURE = "CALL <catalog>.system.plan"
"""The procedure, which knows what only the JVM knows."""
