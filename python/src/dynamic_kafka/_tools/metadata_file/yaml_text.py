"""YAML or JSON text to nodes, as the connector's parser (snakeyaml) takes it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from dynamic_kafka._tools.metadata_file.problem import Problem, ProblemError

# The limits of snakeyaml: a document beyond them is an accident or an attack.
_MOST_CHARACTERS = 3 * 1024 * 1024
_DEEPEST = 50
_MOST_ALIASES = 50

_TAG = "tag:yaml.org,2002:"
_STANDARD = frozenset("bool int float merge null timestamp str seq map set omap pairs binary yaml".split())

# What a value is when nothing says it: a few forms differ between PyYAML and snakeyaml, such as `1e5`.
_RESOLVERS = (
    ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    (
        "int",
        r"[-+]?0b_*[0-1][0-1_]*|[-+]?0_*[0-7][0-7_]*|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x_*[0-9a-fA-F][0-9a-fA-F_]*"
        r"|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+",
        "-+0123456789",
    ),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)"
        r"|[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("merge", r"<<", "<"),
    ("null", r"~|null|Null|NULL", "~nN"),
    ("null", r"", [""]),
    (
        "timestamp",
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
        r"(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?",
        "0123456789",
    ),
)

# What follows these words in the parser's texts is a piece of the document, so perhaps of a password.
_QUOTES_THE_DOCUMENT = re.compile(r"(undefined alias|undefined tag handle|duplicate anchor) .*", re.DOTALL)


class _Loader(yaml.SafeLoader):
    """Nodes only; nothing is constructed of them, so a tag cannot name a class."""

    # Class attributes are PyYAML's way to set these.
    yaml_implicit_resolvers = {}  # noqa: RUF012
    ESCAPE_REPLACEMENTS = {  # type: ignore[misc]  # noqa: RUF012
        letter: value for letter, value in yaml.SafeLoader.ESCAPE_REPLACEMENTS.items() if letter != "/"
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """As PyYAML's, within limits, and with anchors that may be named anew, as in snakeyaml."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            if isinstance(self.anchors.get(event.anchor), yaml.CollectionNode):
                self._aliases += 1
                _limit(self._aliases, _MOST_ALIASES, _line(event), "aliases of mappings and lists")
            return super().compose_node(parent, index)
        self.anchors.pop(getattr(event, "anchor", None), None)
        tag = getattr(event, "tag", None) or ""
        if tag.startswith(_TAG) and tag.removeprefix(_TAG) not in _STANDARD:
            raise _broken(_line(event), "a tag that is not allowed")
        self._depth += 1
        _limit(self._depth, _DEEPEST, _line(event), "levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def scan_plain_spaces(self, indent: int, start_mark: object) -> Any:
        """As PyYAML's, but a tab within or after a plain text is a blank, as in snakeyaml."""
        length = 0
        while self.peek(length) in (" ", "\t"):
            length += 1
        blanks = self.prefix(length)
        if "\t" not in blanks:
            return super().scan_plain_spaces(indent, start_mark)
        self.forward(length)
        return super().scan_plain_spaces(indent, start_mark) or [blanks]


for _tag, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _tag, re.compile(rf"(?:{_pattern})\Z"), list(_first))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line if event.start_mark else 0


def _limit(count: int, most: int, line: int, of_what: str) -> None:
    if count > most:
        raise _broken(line, f"it has more than {most} {of_what}")


def compose(text: str) -> yaml.Node:
    """The root node of a document.

    Raises:
        ProblemError: if this is no YAML or JSON, or if it is empty. The text quotes nothing of the document.
    """
    if len(text) > _MOST_CHARACTERS:
        raise _broken(0, f"it has more than {_MOST_CHARACTERS} characters")
    loader = None
    try:
        # The reader looks at the text in the constructor already.
        loader = _Loader(_without_json_specials(text))
        root = loader.get_single_node()
    except (ValueError, OverflowError):
        raise _broken(loader.get_mark().line if loader else 0, "an escape that names no character") from None
    except yaml.reader.ReaderError as e:
        raise _broken(text.count("\n", 0, e.position), "a character that is not allowed") from None
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        problem = _QUOTES_THE_DOCUMENT.sub(r"\1", e.problem or "")
        raise _broken(mark.line if mark else 0, problem) from None
    if root is None:
        raise ProblemError(Problem(line=None, reason="the document is empty"))
    return root


def _broken(line: int, reason: str) -> ProblemError:
    return ProblemError(Problem(line=line + 1, reason=f"this is no YAML or JSON: {reason}"))


def _without_json_specials(text: str) -> str:
    r"""YAML 1.1 is nearly a superset of JSON: not of its tabs and of its ``\/``, which some writers emit."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return text
    return re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], text.replace("\t", " "), flags=re.DOTALL)
