"""The page of the HTTP API, made from its OpenAPI description, which is made from the table of calls."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from reference_format import table

from holdfast.api import answers
from holdfast.api.description import TAGS, describe
from holdfast.core import errors as core_errors
from holdfast.core.errors import HoldfastError, NoDaemon
from holdfast.core.rules import value_rules
from holdfast.core.rules.limits import MAX_INT
from holdfast.core.rules.rule import Rule
from holdfast.core.rules.text_rules import CheckedText, NamedTexts, Text
from holdfast.core.settings import rule_table as rules
from holdfast.wire.calls import CALLS
from holdfast.wire.special_calls import SPECIAL_CALLS

API = Path(answers.__file__).parent
CODE = re.compile(r'"(ERR_[A-Z_]+)"')

INTRODUCTION = """\
# HTTP API

The daemon speaks HTTP/1.1 and JSON on the socket `holdfast.sock` of its home folder and, if `api.port` is set, on TCP.
`GET /openapi.json` says what this page says, for programs. A first try:
`curl --unix-socket ~/.local/share/holdfast/holdfast.sock http://localhost/v1/stats`. [The worker
protocol](worker-protocol.md) has a whole program.

- **Who may call.** The socket is for the user who runs the daemon, and needs no token. On TCP every call carries a
  token: `Authorization: Bearer …`. There, `Host` must be a name of this machine (`api.hosts` adds some), and a request
  that names another `Origin` is refused: no web page of elsewhere gets in.
- **Roles.** Each call says which role it needs: `metrics`, `read`, `operate` or `admin`; each may also do what those
  before it may. The socket and the token of the file `token` in the home folder are `admin`; `holdfast access add`
  makes other tokens. Whoever may only `read` sees payloads and texts redacted.
- **Ids are made by the caller**, as UUIDs in lower case. A call whose answer got lost can therefore be repeated: the
  same id means the same thing. `POST /v1/jobs` takes `"repeated": true` for that; without it, an id that is taken is a
  conflict.
- **Jobs are named by id or by number** wherever a path or a field names one.
- **Payloads** are JSON objects, or the text of one; answers show the text. They have at most 1 MiB and 32 levels.
- **Moments** are milliseconds since the epoch, UTC. Fields that end with `_ms` are durations.
- A field that may be null may be left out. A field that is not known is refused.
- In the tables below, a *name* has 1 to 200 letters, digits and `_ . : / -`. A *label* is any text of 1 to 200
  characters without control characters, a *long label* one of up to 1000. A *moment* lies before the year 10000, a
  *duration* is not longer than 100 years. A *job* is an id or a number.
- **Traces**: `traceparent` comes in or is made, goes out with every answer, and is stored with the jobs that the call
  enqueues.
- **Long calls** (waits, streams, logs that are followed, downloads) have places of their own, `api.long_calls` of them.
  A caller that goes away makes room at once.
- **Bounds**: a body has at most `api.max_body` bytes, a head 100 headers and 64 KiB; a head must be there after 10
  seconds, a body after 120. On one connection 16 requests may wait behind the one that is answered. All
  requests under way have four times `api.max_body` together, the last quarter of it for those up to 64 KiB. There are
  at most 4096 connections (fewer where the system allows few files), and 256 of them are for the socket alone.
- **Without a token** a connection by TCP is one of at most 64. It has 5 seconds for the TLS handshake; when one more
  comes, the oldest that has said nothing is closed."""

# Codes that only the API has, with what they mean; those of our errors stand on the page of errors.
HTTP_CODES: dict[str, tuple[int, str]] = {
    "ERR_BAD_HTTP": (400, "What came is not HTTP."),
    "ERR_ORIGIN": (403, "The request comes from a web page of another origin."),
    "ERR_NO_ROUTE": (404, "There is no such path."),
    "ERR_NO_METHOD": (405, "The path does not take this method; `Allow` names those that it takes."),
    "ERR_TOO_SLOW": (408, "The request was not complete in time."),
    "ERR_TOO_LARGE": (413, "The body is larger than `api.max_body`."),
    "ERR_HOST": (421, "The daemon does not answer for this `Host`."),
    "ERR_TOO_MANY_IN_A_ROW": (429, "Too many requests were sent on one connection before their answers were read."),
    "ERR_TOO_MANY_LONG_CALLS": (429, "All places for long calls are taken."),
    "ERR_TOO_MANY_TRIES": (429, "Too many wrong tokens came from this address; `Retry-After` says when to try again."),
    "ERR_HEAD_TOO_LARGE": (431, "There are too many headers, or they are too long."),
    "ERR_INTERNAL": (500, "Something went wrong inside; the log of the daemon says what."),
    "ERR_NOT_READY": (503, "The daemon starts or stops; `Retry-After` says when to try again."),
    "ERR_TOO_MANY_CONNECTIONS": (503, "Too many connections are open; `Retry-After` says when to try again."),
    "ERR_TOO_MUCH_AT_ONCE": (503, "Too many bytes of requests are under way; `Retry-After` says when to try again."),
}


def http() -> str:
    """The whole page."""
    description = describe((*CALLS, *SPECIAL_CALLS))
    parts = [INTRODUCTION, *errors()]
    for tag, text in TAGS.items():
        parts += [f"## {tag.title()}", text]
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                if tag in operation["tags"]:
                    parts += call(method.upper(), path, operation)
    parts += ["## Shapes", "What stands in requests and answers. A shape `Given…` is that of a request."]
    for name, schema in sorted(description["components"]["schemas"].items()):
        parts += shape(name, schema)
    return "\n\n".join(parts) + "\n"


def errors() -> list[str]:
    """Statuses and codes."""
    used = {code for file in API.glob("*.py") for code in CODE.findall(file.read_text())}
    if used != HTTP_CODES.keys():
        raise SystemExit(f"HTTP_CODES in reference_http.py and the API differ in {sorted(used ^ HTTP_CODES.keys())}")
    rows = [(status, code, meaning) for code, (status, meaning) in HTTP_CODES.items()]
    # Whoever calls over HTTP has found the daemon.
    ours = [
        kind for kind in subclasses(HoldfastError) if kind.__module__ == core_errors.__name__ and kind is not NoDaemon
    ]
    answered = [kind for kind in ours if issubclass(kind, tuple(answers.STATUS))]
    rows += [(answers.status_of(kind), kind.code, first_line(kind)) for kind in answered]
    return [
        "## Errors",
        "An error is a problem document ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)), of the type "
        "`application/problem+json`. Its `code` stays the same from version to version, its `detail` is for people, "
        "its `trace_id` is what the log of the daemon names it by.",
        table(("status", "code", "meaning"), [(str(status), f"`{code}`", text) for status, code, text in sorted(rows)]),
    ]


def subclasses(kind: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from subclasses(child)


def first_line(kind: type[HoldfastError]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def call(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    """One call: what it does, what it takes, what it gives."""
    role = f"Role: `{operation['x-role']}`." if "x-role" in operation else "Needs no token."
    parts = [f"### `{method} {path}`", *operation["description"].split("\n\n"), role]
    rows = [
        (f"`{one['name']}`", one["in"], said(one["schema"]), needed(one["required"], one["schema"]))
        for one in operation["parameters"]
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    rows += [(name, "body", kind, need) for name, kind, need in fields(body)]
    if rows:
        parts.append(table(("argument", "in", "value", "if left out"), rows))
    [(status, done)] = [item for item in operation["responses"].items() if item[0] != "default"]
    [(media, content)] = done["content"].items()
    answer = said(content["schema"]) if content["schema"] else f"`{media}`"
    parts.append(f"Answers {status} with {answer}.")
    if "headers" in done:
        heads = [(f"`{name}`", header["description"]) for name, header in done["headers"].items()]
        parts.append(table(("header", "meaning"), heads))
    return parts


def shape(name: str, schema: dict[str, Any]) -> list[str]:
    """A struct with its fields, or the values of an enumeration."""
    about = [(schema.get("description") or "").replace("\n\n", " ").replace("\n", " ").partition(" >>> ")[0]]
    if "enum" in schema:
        return [f"### {name}", *filter(None, about), ", ".join(f"`{value}`" for value in schema["enum"]) + "."]
    return [f"### {name}", *filter(None, about), table(("field", "value", "if left out"), fields(schema))]


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield f"`{name}`", said(field), needed(name in required, field)


def needed(required: bool, schema: dict[str, Any]) -> str:
    """What it means if a field is not there."""
    if required:
        return "needed"
    default = schema.get("default")
    return "" if default is None or isinstance(default, dict) else f"`{msgspec.json.encode(default).decode()}`"


def key_of(rule: Rule) -> tuple[Any, ...]:
    """What a rule looks like in the description."""
    meta = rule.meta
    return () if meta is None else (meta.pattern, meta.max_length, meta.ge, meta.le)


# What the introduction has a word for.
SHORT: dict[tuple[Any, ...], str] = {
    key_of(rules.UUID): "UUID",
    key_of(value_rules.NAME): "name",
    key_of(rules.SCOPE): "name or `*`",
    key_of(value_rules.LABEL): "label",
    key_of(value_rules.SUBJECT): "long label",
    key_of(value_rules.MOMENT): "moment",
    key_of(value_rules.DURATION): "duration",
    key_of(value_rules.WHOLE): "integer",
    key_of(rules.TEXT): "text",
}
LONG = {
    key_of(one): one.says
    for kind in (CheckedText, Text, NamedTexts)
    for one in rules.RULES.values()
    if isinstance(one, kind)
}


def said(schema: dict[str, Any]) -> str:
    """A JSON schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        kinds = [said(one) for one in schema["anyOf"]]
        if [one.get("maximum") for one in schema["anyOf"]] == [None, MAX_INT]:
            return "job"
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type")
    key = tuple(schema.get(part) for part in ("pattern", "maxLength", "minimum", "maximum"))
    if key in SHORT:
        return SHORT[key]
    if kind == "array":
        return f"list of {said(schema.get('items', {}))}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"object of {said(inner)}" if isinstance(inner, dict) and inner else "object"
    if kind == "string":
        if "contentEncoding" in schema:
            return "bytes in base64"
        return f"text: {LONG[key]}" if key in LONG else "text"
    if kind in ("integer", "number") and "minimum" in schema and "maximum" in schema:
        return f"{kind}, {schema['minimum']} to {schema['maximum']}"
    return "`null`" if kind == "null" else str(kind or "any JSON")
