"""Patterns for paths: `*` and `?` within a name, `**` over any number of folders, `[a-z]` for one letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_label, shown

LONGEST_GLOB = 1_000

_PIECE = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[(?P<negated>[!^]?)(?P<letters>\]?[^\]/]+)\]|.", re.DOTALL)


def check_glob(value: object) -> str:
    """A pattern for paths below a folder."""
    glob = check_label("glob", value, LONGEST_GLOB)
    if glob.startswith(("/", "./")) or ".." in glob.split("/") or glob.endswith("/"):
        raise InvalidInput(f"glob {shown(value)} is not valid: write it as seen from the folder, such as 'src/**/*.py'")
    matcher([glob])
    return glob


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Says of a path below a folder whether one of the patterns means it; without patterns, all are meant.

    A pattern without a slash means files of that name at any depth.
    """
    texts = [_expression(glob) for glob in globs]
    if not texts:
        return lambda path: True
    expression = re.compile("|".join(texts), re.DOTALL)
    return lambda path: expression.fullmatch(path) is not None


def _expression(glob: str) -> str:
    text = "".join(_piece(match) for match in _PIECE.finditer(glob if "/" in glob else f"**/{glob}"))
    try:
        re.compile(text)
    except re.error as error:
        raise InvalidInput(f"glob {shown(glob)} is not valid: {error}") from None
    return f"(?:{text})"


def _piece(match: re.Match[str]) -> str:
    piece = match.group()
    if piece == "**/":
        return "(?:[^/]+/)*"
    if piece == "/**":
        return "/.+"
    if piece == "**" and match.end() == len(match.string):
        return ".+"
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if match["letters"]:
        letters = match["letters"].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
        return f"[{'^/' if match['negated'] else ''}{letters}]"
    return re.escape(piece)
