"""The pattern of failures: their message without what differs, and its short name, the fingerprint.

Two failures have one fingerprint if their kind, their code and the pattern of their message are the same.
"""

from __future__ import annotations

import hashlib
import re

GAP = "<*>"  # stands for what differs
LONGEST_PATTERN = 300
MOST_READ = 1_000

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTED = r"(?:[^{q}]|{q}(?=\w))*(?:{q}|$)"
# Each alternative looks ahead a little, or consumes what it has seen, so that no message takes long.
_DIFFERS = re.compile(
    "|".join(
        [
            r"(?<!\w)[bBfFrRuU]{0,2}'" + _QUOTED.format(q="'"),
            r'(?<!\w)[bBfFrRuU]{0,2}"' + _QUOTED.format(q='"'),
            r"(?<!\w)`" + _QUOTED.format(q="`"),
            r"\u201c[^\u201d]*(?:\u201d|$)|\u2018[^\u2019]*(?:\u2019|$)|\u00ab[^\u00bb]*(?:\u00bb|$)",
            # Addresses: of pages, of people, of machines.
            r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s'\"<>)\]]+",
            r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*",
            r"(?<![\w:])\[?(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?"
            r"(?:(?:\.\d{1,3}){3})?(?:%\w+)?\]?(?![\w:])",
            r"(?<![\w:])\[?[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){5,7}\]?(?![\w:])",
            # Files and folders, and names with dots, which may be files or machines.
            r"(?<!\w)[A-Za-z]:[\\/][^\s'\"<>|*?,;)\]]*",
            r"(?<![\w/])(?:~\w*|\.{1,2})?/[^\s'\"<>,;:()\[\]{}]+",
            r"(?<![\w.@+-])[\w.@+-]+(?:/[\w.@+-]*)+",
            r"(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}(?![\w-])",
            # Moments, ids and numbers.
            r"(?<!\w)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT)\b|[+-]\d\d:?\d\d)?)?",
            r"(?<!\w)[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?!\w)",
            r"(?<!\w)[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?(?:[nuµm]?s|min|[mhd]|[kKMGT]?i?B|%)?(?!\w)",
            r"(?<!\w)(?=[A-Fa-f]*\d)[0-9A-Fa-f]{7,}(?!\w)",
            r"(?<!\w)(?=[^\W\d]*\d)\w{10,}",
            r"0[xX][0-9A-Fa-f]+",
            r"\d+",
        ]
    )
)
_ROW = re.compile(r"<\*>(?:[\s,;:=]+<\*>)+")


def pattern_of(message: str) -> str:
    """The message without numbers, ids, names of files and machines, moments, and what is in quotes."""
    plain = " ".join(_COLOURS.sub("", message[:MOST_READ]).split())
    return _ROW.sub(GAP, _DIFFERS.sub(GAP, plain))[:LONGEST_PATTERN].rstrip()


def fingerprint_of(kind: str, code: str, message: str) -> str:
    """The short name of such failures. It is the same on every machine, and cannot be mistaken for a number."""
    said = "\0".join((kind, code, pattern_of(message)))
    return "f" + hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=6).hexdigest()
