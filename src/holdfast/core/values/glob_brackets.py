"""Brackets in a pattern: `[a-z]`, `[!a-z]`, `[[:digit:]]`. They are read as git reads them."""

from __future__ import annotations

from collections.abc import Container, Mapping

Ranges = list[tuple[str, str]]

_NAMED: Mapping[str, tuple[str, ...]] = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "blank": ("\t\t", "  "),
    "cntrl": ("\x00\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\n", "\r\r", "  "),
    "upper": ("AZ",),
    "xdigit": ("09", "AF", "af"),
}
_UNCLOSED = "it has a [ that is not closed; write \\[ for the character"


class Characters(Container[str]):
    """The characters that a bracket stands for."""

    __slots__ = ("_is_negated", "_ranges")

    def __init__(self, ranges: Ranges, is_negated: bool) -> None:
        self._ranges = tuple(ranges)
        self._is_negated = is_negated

    def __contains__(self, character: object) -> bool:
        return self._is_negated != any(low <= character <= high for low, high in self._ranges)  # type: ignore[operator]


class BracketReader:
    """Reads the brackets of one pattern, from left to right. ValueError says why one can stand for nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closing = -1
        self.backwards: str | None = None

    def read(self, place: int) -> tuple[Characters, int]:
        """The characters of the bracket that opens at a place, and the place after it."""
        text = self._text
        is_negated = text[place + 1 : place + 2] in ("!", "^")
        first = place = place + 1 + is_negated
        ranges: Ranges = []
        before: str | None = None  # where a range may begin
        while place == first or self._at(place) != "]":
            character = self._at(place)
            if character == "-" and before is not None and self._at(place + 1) != "]":
                character, place = self._escaped(place + 1)
                self._check_range(before, character)
                ranges.append((before, character))
                before = None
            elif character == "[" and self._at(place + 1) == ":" and (end := self._end_of_name(place)) is not None:
                ranges += self._named(text[place + 2 : end - 1])
                place, before = end, None
            else:
                before, place = self._escaped(place)
                ranges.append((before, before))
            place += 1
        return Characters(ranges, is_negated), place + 1

    def _at(self, place: int) -> str:
        if place >= len(self._text):
            raise ValueError(_UNCLOSED)
        return self._text[place]

    def _escaped(self, place: int) -> tuple[str, int]:
        character = self._at(place)
        return (self._at(place + 1), place + 1) if character == "\\" else (character, place)

    def _end_of_name(self, place: int) -> int | None:
        """Where `[:name:]` ends. None: this is only a bracket."""
        begin = place + 2
        if self._closing < begin:
            # Kept, so that a pattern full of "[:" is not searched to its end for each of them.
            self._closing = self._text.find("]", begin)
        if self._closing < 0:
            raise ValueError(_UNCLOSED)
        return self._closing if self._closing > begin and self._text[self._closing - 1] == ":" else None

    def _named(self, name: str) -> Ranges:
        if name not in _NAMED:
            raise ValueError(f"[:{name}:] is not known; there are {', '.join(_NAMED)}")
        return [(pair[0], pair[1]) for pair in _NAMED[name]]

    def _check_range(self, low: str, high: str) -> None:
        if low > high:
            self.backwards = f"the range {low}-{high} ends before it begins"
