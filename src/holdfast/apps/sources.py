"""Where in its code an app has registered something: the file, the line, and the statement."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import textwrap
from functools import lru_cache

from msgspec import Struct

HERE = os.path.dirname(__file__)
LONGEST_SNIPPET = 2_000


class Source(Struct, frozen=True):
    """A place in the code of a user. `snippet` is None where the code cannot be read."""

    location: str
    snippet: str | None


def source_of_caller() -> Source:
    """The nearest place on the way here that is not in this room."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == HERE:
        frame = frame.f_back
    try:
        folder = os.getcwd()
    except OSError:  # It was removed.
        folder = os.sep
    return _source(frame.f_code.co_filename, frame.f_lineno, folder)


@lru_cache(maxsize=10_000)
def _source(path: str, line: int, folder: str) -> Source:
    inside = path.startswith(folder + os.sep)
    shown = os.path.relpath(path, folder) if inside else path
    location = "".join(letter if letter.isprintable() else "?" for letter in f"{shown}:{line}")
    return Source(location, _snippet(path, line))


def _snippet(path: str, line: int) -> str | None:
    """The smallest statement that has this line."""
    tree = _tree(path)
    if tree is None:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not found:
        return None
    smallest = max(found, key=lambda node: (node.lineno, -(node.end_lineno or node.lineno)))
    lines = linecache.getlines(path)[smallest.lineno - 1 : smallest.end_lineno]
    return textwrap.dedent("".join(lines)).strip().replace("\x00", "")[:LONGEST_SNIPPET]


@lru_cache(maxsize=200)
def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
