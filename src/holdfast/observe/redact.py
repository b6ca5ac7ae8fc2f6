"""Hides what looks secret from logs and from whatever is shown to a person. Workers receive what was enqueued."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec

HIDDEN = "***"
TOO_DEEP = "…"
MAX_DEPTH = 40

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
# Whole words of a key, so that `tokenizer`, `secretary` and `passenger` stay as they are. `pwd` alone is a folder.
_SECRET = re.compile(
    r"(?:^|_)(?:passwords?|passwd|passphrase|secrets?|tokens?|jwt|bearer|authorization|cookies?|credentials?"
    r"|api_?keys?|access_?keys?|private_?keys?|secret_?keys?|signing_?keys?|encryption_?keys?)(?:_|$)"
    r"|_pwd$|(?:^|_)auth$"
)
_COUNTED = re.compile(r"(?:^|_)tokens(?:_|$)")
_HINT = re.compile(r"pass|secret|token|jwt|bearer|basic|auth|cookie|credential|key|pwd|://", re.IGNORECASE)

_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&"'<>)\]}]+)"""
_NAME = r"[\w.-]{1,100}"
_SCHEME = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)
_HEADER = re.compile(r"(?<![\w.-])((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)[^\r\n\"']+", re.IGNORECASE)
_EQUALS = re.compile(rf"(?<![\w.-])({_NAME})(\s{{0,3}}=\s{{0,3}})({_VALUE})")
_QUOTED = re.compile(rf"""(["'])({_NAME})\1(\s{{0,3}}[:=]\s{{0,3}})({_VALUE})""")
# "unexpected token: }" is the language of parsers; these words are never used like that.
_COLON = re.compile(
    rf"(?<![\w.-])([\w.-]{{0,100}}?(?:password|passwd|passphrase|secret|api[_-]?key|private[_-]?key))(\s{{0,3}}:\s{{0,3}})"
    rf"({_VALUE})",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"(?<![\w-])--({_NAME})(\s+)(?!-)({_VALUE})")
_USER_INFO = re.compile(r"(?<=://)([^\s/:@]{0,200}):([^\s/@]{1,500})@")
_PEM = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def is_secret(key: str) -> bool:
    """Whether a value under this key is likely to be a secret, however the key is written."""
    return _SECRET.search(_HUMP.sub("_", key[:200]).lower()) is not None


def redacted(value: Any, depth: int = 0) -> Any:
    """A JSON value as it may be shown: what stands under a secret key is `***`, and so is what texts give away."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return _mapping(value, depth) if depth < MAX_DEPTH else TOO_DEEP
    if isinstance(value, list | tuple | set | frozenset):
        return _sequence(list(value), depth) if depth < MAX_DEPTH else TOO_DEEP
    if isinstance(value, msgspec.Struct):
        return redacted(msgspec.structs.asdict(value), depth)
    return value


def redacted_json(document: str) -> str:
    """A JSON document as it may be shown; what is not JSON is treated as text."""
    try:
        value = msgspec.json.decode(document)
    except (msgspec.MsgspecError, RecursionError):
        return redacted_text(document)
    return msgspec.json.encode(redacted(value)).decode()


def redacted_text(text: str) -> str:
    """A text without the values of `password=…`, `Authorization: …`, `Bearer …`, `user:…@host` and their kind."""
    if _HINT.search(text) is None:
        return text
    text = _PEM.sub(rf"\1{HIDDEN}\2", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    text = _USER_INFO.sub(rf"\1:{HIDDEN}@", text)
    text = _QUOTED.sub(_quoted, text)
    text = _COLON.sub(rf"\1\2{HIDDEN}", text)
    text = _OPTION.sub(lambda found: f"--{found[1]}{found[2]}{_shown(found[1], found[3])}", text)
    return _EQUALS.sub(lambda found: f"{found[1]}{found[2]}{_shown(found[1], found[3])}", text)


def _quoted(found: re.Match[str]) -> str:
    mark, key, between, value = found.groups()
    shown = _shown(key, value)
    return f"{mark}{key}{mark}{between}{value if shown is value else f'{mark}{HIDDEN}{mark}'}"


def _shown(key: str, value: str) -> str:
    return HIDDEN if is_secret(key) and not _counts(key, value) else value


def _counts(key: str, value: str) -> bool:
    """`max_tokens=100` says how many, not which."""
    return value.isdigit() and _COUNTED.search(_HUMP.sub("_", key).lower()) is not None


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
    # {"name": "API_KEY", "value": …} says the same as {"API_KEY": …}.
    named = next((value[key] for key in ("name", "key") if isinstance(value.get(key), str)), "")
    return {
        key: _under(named if key == "value" and not is_secret(str(key)) else str(key), item, depth)
        for key, item in value.items()
    }


def _under(key: str, item: Any, depth: int) -> Any:
    if item is None or isinstance(item, bool) or not is_secret(key):
        return redacted(item, depth + 1)
    return item if isinstance(item, int) and _counts(key, str(item)) else HIDDEN


def _sequence(value: list[Any], depth: int) -> list[Any]:
    """As in a mapping; in the words of a command, what follows `--password` is hidden too."""
    before = chain([None], value)
    return [
        HIDDEN if isinstance(item, str) and _announces(last) else redacted(item, depth + 1)
        for last, item in zip(before, value, strict=False)
    ]


def _announces(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and "=" not in word and is_secret(word.lstrip("-"))
