"""YAML or JSON text to nodes, for the subset of YAML that ``docs/metadata.md`` describes."""

from __future__ import annotations

import re

import yaml

from dynamic_kafka._tools.metadata_file.expansion import MAX_DEPTH, broken, expand, refused, too_deep
from dynamic_kafka._tools.metadata_file.problem import Problem, ProblemError

TAG = "tag:yaml.org,2002:"
AMBIGUOUS = TAG + "ambiguous"
"""The tag of unquoted scalars that YAML 1.1 and YAML 1.2 read differently, at least one of them not as text."""

# The limits of the connector's YAML parser: a larger document is an accident or an attack.
_MAX_CHARACTERS = 3 * 1024 * 1024

_NO_ANCHOR = "an alias without an anchor before it: put text that begins with '*' in quotes"
_TWO_ANCHORS = "an anchor is given twice: rename one of them, or put text that begins with '&' in quotes"
_TAGS = "tags are not supported: leave the tag out, or put text that begins with '!' in quotes"

_WHOLE = r"[-+]?(?:0|[1-9][0-9]*)"
# The type of an unquoted scalar is that of the first pattern that matches; other scalars are text.
_SCALARS = {
    "null": r"|~|null|Null|NULL",
    "bool": r"true|false",
    "int": _WHOLE,
    "float": rf"{_WHOLE}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?",
    "ambiguous": "(?i:"
    r"y|n|yes|no|on|off|true|false"
    r"|[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:e[-+]?[0-9]+)?"
    r"|[-+]?0(?:b[01_]+|o[0-7_]+|x[0-9a-f_]+)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?\.(?:inf|nan)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ].*)?)",
}


class _Loader(yaml.SafeLoader):
    """Composes nodes only: no tag can name a class."""

    # Class attributes are PyYAML's way to set these. YAML 1.1 does not have JSON's escape `\/`.
    yaml_implicit_resolvers = {}  # noqa: RUF012
    ESCAPE_REPLACEMENTS = {  # type: ignore[misc]  # noqa: RUF012
        letter: value for letter, value in yaml.SafeLoader.ESCAPE_REPLACEMENTS.items() if letter != "/"
    }
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Rejects everything beyond the subset, with its line."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line if event.start_mark else 0
        anchor = getattr(event, "anchor", None)
        # The name of an anchor could be a part of a password.
        if isinstance(event, yaml.AliasEvent):
            if anchor not in self.anchors:
                raise refused(line, _NO_ANCHOR)
        elif anchor in self.anchors:
            raise refused(line, _TWO_ANCHORS)
        if getattr(event, "tag", None) is not None:
            raise refused(line, _TAGS)
        levels = int(isinstance(event, yaml.CollectionStartEvent))
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise too_deep(line)
        node = super().compose_node(parent, index)
        self._depth -= levels
        return node


for _name, _pattern in _SCALARS.items():
    _Loader.add_implicit_resolver(TAG + _name, re.compile(rf"(?:{_pattern})\Z"), None)


def compose(text: str) -> yaml.Node:
    """The root node of a document.

    Raises:
        ProblemError: if the text is empty, is not YAML or JSON, or is beyond the subset. The problem's text does
            not quote the document.
    """
    if len(text) > _MAX_CHARACTERS:
        raise broken(0, f"it has more than {_MAX_CHARACTERS} characters")
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        text = _without_json_specials(text)
    elif "\t" in text:
        raise refused(text.count("\n", 0, text.index("\t")), "a tab is not allowed, write spaces")
    loader = None
    try:
        # The constructor already reads the text.
        loader = _Loader(text)
        root = loader.get_single_node()
    except (ValueError, OverflowError):
        raise broken(loader.get_mark().line if loader else 0, "an escape that names no character") from None
    except yaml.reader.ReaderError as e:
        raise broken(text.count("\n", 0, e.position), "a character that is not allowed") from None
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        # A tag handle could be a part of a password: `password: !hunter2!x`.
        problem = re.sub(r"(undefined tag handle) .*", r"\1", e.problem or "", flags=re.DOTALL)
        raise broken(mark.line if mark else 0, problem) from None
    if root is None:
        raise ProblemError(Problem(line=None, reason="the document is empty"))
    return expand(root)


def _without_json_specials(text: str) -> str:
    r"""JSON has tabs between tokens and the escape ``\/``, which YAML 1.1 does not have."""
    return re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], text.replace("\t", " "), flags=re.DOTALL)
