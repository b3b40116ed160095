"""The types in the DDL of a ``schema``. Spark decides what is correct; what is not understood is not reported."""

from __future__ import annotations

import re
from collections.abc import Iterator

# https://spark.apache.org/docs/latest/sql-ref-datatypes.html, and types that Spark 4.1 and 4.2 add.
TYPES = frozenset(
    "ARRAY BIGINT BINARY BOOLEAN BYTE CHAR CHARACTER DATE DEC DECIMAL DOUBLE FLOAT GEOGRAPHY GEOMETRY "
    "INT INTEGER INTERVAL LONG MAP NUMERIC REAL SHORT SMALLINT STRING STRUCT TIME TIMESTAMP "
    "TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT VARCHAR VARIANT VOID".split()
)

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(\w+)|(\S))")


def unknown_types(text: str) -> Iterator[str]:
    """Returns the words in place of types that Spark does not have, up to a part that is not understood.

    Args:
        text: The columns, such as ``id BIGINT, name STRING``. Nothing is returned for other forms of a schema.
    """
    trimmed = text.strip()
    if not trimmed.startswith("{"):
        try:
            yield from _Columns(trimmed).columns()
        except _NotUnderstoodError:
            return


class _NotUnderstoodError(Exception):
    pass


class _Columns:
    def __init__(self, text: str) -> None:
        self._tokens = [match.group(0).strip() for match in _TOKEN.finditer(text)]
        self._at = 0

    def columns(self) -> Iterator[str]:
        while True:
            if not re.match(r"[`\w]", self._take()):
                raise _NotUnderstoodError
            if self._next() == ":":
                self._take()
            yield from self._type()
            self._skip_to_end_of_column()
            if self._next() != ",":
                return
            self._take()

    def _type(self) -> Iterator[str]:
        word = self._take()
        if not word.isidentifier():
            raise _NotUnderstoodError
        if word.upper() not in TYPES:
            yield word
        elif self._next() == "<":
            self._take()
            if word.upper() == "STRUCT":
                yield from self.columns()
            else:
                yield from self._type()
                while self._next() == ",":
                    self._take()
                    yield from self._type()
            if self._take() != ">":
                raise _NotUnderstoodError

    def _skip_to_end_of_column(self) -> None:
        """Passes a precision, a collation, a unit of an interval, `NOT NULL` and a comment."""
        depth = 0
        while (token := self._next()) and (depth or token not in (",", ">")):
            depth += (token == "(") - (token == ")")
            self._take()

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        if not token:
            raise _NotUnderstoodError
        self._at += 1
        return token
