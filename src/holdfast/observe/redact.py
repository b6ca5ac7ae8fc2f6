"""Hide what looks secret in logs and in what is shown to people. Workers receive what was enqueued."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

HIDDEN = "***"
TOO_DEEP = "…"
MAX_DEPTH = 40

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
# Whole words of a key, so that `tokenizer`, `secretary` and `passenger` stay as they are. `pwd` alone is a folder, and
# `pass` alone may be a round. Only `password` may be joined to the word before it, as in `PGPASSWORD`.
_SECRET = re.compile(
    r"passwords?(?:_|$)|passwd(?:_|$)|_pass$|(?:^|_)(?:passphrase|secrets?|tokens?|jwt|bearer|authorization|cookies?|credentials?"
    r"|api_?keys?|access_?keys?|private_?keys?|secret_?keys?|signing_?keys?|encryption_?keys?)(?:_|$)"
    r"|_pwd$|(?:^|_)auth$"
)
_COUNTED = re.compile(r"(?:^|_)tokens(?:_|$)")
_HINT = re.compile(
    r"pass|secret|token|jwt|bearer|basic|auth|cookie|credential|key|pwd|://|-u[ \t=]|user[ \t=]", re.IGNORECASE
)

# A key in a text. The value after it is hidden only if the key is a secret one.
_NAME = r"(?P<key>[\w.-]{1,100})"
_KEYS = (
    re.compile(rf"(?<![\w.-]){_NAME}[ \t]{{0,3}}=[ \t]{{0,3}}"),
    re.compile(rf"""(?<!\\)(?P<mark>\\*+["']){_NAME}(?P=mark)[ \t]{{0,3}}[:=][ \t]{{0,3}}"""),
    re.compile(rf"(?<![\w-])--{_NAME}[ \t]{{1,3}}(?!-)"),
    # "unexpected token: }" is a message of parsers. These words are never used like that.
    re.compile(
        r"(?<![\w.-])(?P<key>[\w.-]{0,100}?(?:password|passwd|passphrase|secret|api[_-]?key|private[_-]?key|_pass))"
        r"[ \t]{0,3}:[ \t]{0,3}",
        re.IGNORECASE,
    ),
)
_OPENING = re.compile(r"""\\*+["']""")
_QUOTE = re.compile(r"""(?<!\\)(\\*+)(["'])""")
_PLAIN = re.compile(r"""[^\s,;&"'<>)\]}]+""")
_SCHEME = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)
_HEADER = re.compile(r"(?<![\w.-])((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)[^\r\n\"']+", re.IGNORECASE)
# A password may hold a slash, a colon or an @. Digits before a slash are a port.
_USER_INFO = re.compile(
    r"(?<=://)([^\s/?#:@\"'<>]*+):(?!\d{1,5}(?:[/?#\s]|$))"
    r"[^\s:@\"'<>]*+(?::(?!//)[^\s:@\"'<>]*+)*+@(?:[^\s/@\"'<>]*+@)*+"
)
# `curl -u ada:hunter2`, but neither the address of a page nor the numbers of a user and a group.
_USER = re.compile(
    r"""(?<![\w-])((?:-u|--(?:proxy-)?user)[ \t=]{1,3})(?!\d+:\d+(?!\S))"""
    r"""(?:((["'])[^\s:"']{1,100}:)(?!//)(?:(?!\3).)*+|([^\s:"']{1,100}:)(?!//)\S++)""",
    re.DOTALL,
)
_PEM = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


# For a cut document: its brackets and texts, the last of which may have no end.
_JSON_TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*(?:(?P<end>")|\\?\Z)', re.DOTALL)
_PART_OF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_PART_OF_VALUE = re.compile(r"[\w.+-]*\Z")


def is_secret(key: str) -> bool:
    """Whether a value with this key is likely to be a secret, in any spelling of the key."""
    return _SECRET.search(_HUMP.sub("_", key[:200]).lower()) is not None


def redacted(value: Any, depth: int = 0) -> Any:
    """A JSON value as it may be shown. Values of secret keys are `***`, and so are secrets in texts."""
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
    """A JSON document as it may be shown. What is not JSON is treated as text."""
    try:
        value = msgspec.json.decode(document)
    except (msgspec.MsgspecError, RecursionError):
        return redacted_text(document)
    return msgspec.json.encode(redacted(value)).decode()


def redacted_shape(value: Any) -> Any:
    """A value of one of our own types as it may be shown. Its fields are ours, so their names mean no secret.

    The documents, texts and mappings in it are of users.
    """
    if isinstance(value, msgspec.Struct):
        fields = {name: redacted_shape(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, list | tuple):
        return [redacted_shape(item) for item in value]
    if isinstance(value, Mapping):
        is_ours = any(isinstance(item, msgspec.Struct) for item in value.values())
        return {key: redacted_shape(item) for key, item in value.items()} if is_ours else redacted(value)
    if isinstance(value, str):
        return redacted_json(value) if value.lstrip()[:1] in ("{", "[") else redacted_text(value)
    return value


def redacted_head(beginning: str, most: int) -> str:
    """The first `most` characters of a JSON document as they may be shown. `beginning` is all that is known of it.

    The document is closed where it was cut, so that a secret is found by its key, too.
    """
    for closed in _closings(beginning):
        try:
            value = msgspec.json.decode(closed)
        except (msgspec.MsgspecError, RecursionError):
            continue
        return msgspec.json.encode(redacted(value)).decode()[:most]
    return redacted_text(beginning)[:most]


def _closings(beginning: str) -> Iterator[str]:
    """The cut document, closed in every possible way: it may be cut in a text, a key, or a number."""
    open_ones: list[str] = []
    in_text = False
    for token in _JSON_TOKEN.finditer(beginning):
        match token[0]:
            case "{" | "[":
                open_ones.append("}" if token[0] == "{" else "]")
            case "}" | "]":
                if open_ones:
                    open_ones.pop()
            case _:
                in_text = token["end"] is None
    rest = "".join(reversed(open_ones))
    if in_text:
        whole = _PART_OF_ESCAPE.sub(r"\1", beginning)
        yield f'{whole}"{rest}'
        yield f'{whole}":null{rest}'
    else:
        yield beginning + rest
        yield f"{beginning}:null{rest}"
        yield f"{beginning}null{rest}"
        yield f"{_PART_OF_VALUE.sub('', beginning)}null{rest}"
        yield f"{_PART_OF_VALUE.sub('', beginning).rstrip().removesuffix(',')}{rest}"


def redacted_text(text: str) -> str:
    """A text without the values of `password=…`, `Authorization: …`, `Bearer …`, `user:…@host` and their kind."""
    if _HINT.search(text) is None:
        return text
    text = _PEM.sub(rf"\1{HIDDEN}\2", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    text = _USER_INFO.sub(rf"\1:{HIDDEN}@", text)
    text = _USER.sub(rf"\1\2\4{HIDDEN}", text)
    for keys in _KEYS:
        text = _without_values(keys, text)
    return text


def _without_values(keys: re.Pattern[str], text: str) -> str:
    parts, at = [], 0
    for key in keys.finditer(text):
        if key.start() < at or not is_secret(key["key"]):
            continue
        mark, end = _value(text, key.end())
        if end == key.end() or _counts(key["key"], text[key.end() : end]):
            continue
        parts += [text[at : key.end()], mark, HIDDEN, mark]
        at = end
    return "".join([*parts, text[at:]])


def _value(text: str, begin: int) -> tuple[str, int]:
    """The marks around a value, and where it ends. A quote that is never closed hides all that follows."""
    opening = _OPENING.match(text, begin)
    if opening is None:
        plain = _PLAIN.match(text, begin)
        return "", begin if plain is None else plain.end()
    mark = opening[0]
    for quote in _QUOTE.finditer(text, opening.end()):
        # In a text within a text, a quote has twice as many backslashes, and one more.
        more = len(quote[0]) - len(mark)
        if quote[2] == mark[-1] and more >= 0 and more % (2 * len(mark)) == 0:
            return mark, quote.end()
    return mark, len(text)


def _counts(key: str, value: str) -> bool:
    """Whether a value is a number of tokens and no secret, as in `max_tokens=100`."""
    return value.isdigit() and _COUNTED.search(_HUMP.sub("_", key).lower()) is not None


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
    # {"name": "API_KEY", "value": …} means the same as {"API_KEY": …}.
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
    """As in a mapping. In the words of a command, what follows `--password` or `-u` is hidden too."""
    before = chain([None], value)
    return [_word(last, item, depth) for last, item in zip(before, value, strict=False)]


def _word(last: Any, item: Any, depth: int) -> Any:
    if not isinstance(item, str) or not isinstance(last, str) or not last.startswith("-") or "=" in last:
        return redacted(item, depth + 1)
    if is_secret(last.lstrip("-")):
        return HIDDEN
    flag = f"{last} "
    return redacted_text(flag + item).removeprefix(flag)
