"""Make foreign text safe for a terminal: nothing in it moves the cursor, rings, colours or changes directions."""

from __future__ import annotations

import re

_SEQUENCE = r"\x1b\[[0-?]*+[ -/]*+[@-~]?"
# Also C1, which begins a sequence on some terminals, and the line breaks of Unicode.
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTION = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"

_NEVER = rf"(?P<gone>{_SEQUENCE}|[{_DIRECTION}])|(?P<half>[\ud800-\udfff])"
_IN_A_LINE = re.compile(rf"{_NEVER}|(?P<gap>(?:(?!\x1b\[)[{_CONTROL}])+)")
_IN_LINES = re.compile(rf"{_NEVER}|(?P<end>\r\n?)|(?P<gap>(?![\n\t])[{_CONTROL}])")
_IN_JSON = re.compile(rf"(?!\n)[{_CONTROL}{_DIRECTION}]")
_INSTEAD = {"gone": "", "half": "\ufffd", "gap": " ", "end": "\n"}


def in_a_line(text: str) -> str:
    """The text as part of one line."""
    return text if text.isascii() and text.isprintable() else _IN_A_LINE.sub(_instead, text)


def in_lines(text: str) -> str:
    """The text with its line breaks and tabs. A carriage return alone, which would overwrite a line, begins one."""
    return _IN_LINES.sub(_instead, text)


def in_json(document: str) -> str:
    """The same JSON document, with escapes for characters that JSON allows and a terminal would obey."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _instead(found: re.Match[str]) -> str:
    return _INSTEAD[str(found.lastgroup)]
