"""What strangers send: bodies, names and settings that have broken programs before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from holdfast.core.rules.limits import MAX_DEPTH, MAX_PAYLOAD

DEEP = MAX_DEPTH * 50
NEARLY = MAX_PAYLOAD - 200
BIG = MAX_PAYLOAD * 2

NAMES = {
    "empty": "",
    "space": " ",
    "zero byte": "a\x00b",
    "line": "a\nb",
    "escape": "\x1b]0;title\x07\x1b[2J",
    "eight bit control": "\x9b31m",
    "direction": "safe\u202egpj.exe",
    "isolate": "\u2066a\u2069",
    "nothing to see": "\u200b\u200d\ufeff",
    "many marks": "e" + "\u0301" * 500,
    "half a letter": "\ud800",
    "beyond the first plane": "\U0001f600" * 100,
    "quote": "a'b\"c`d",
    "sql": "'; DROP TABLE jobs; --",
    "percent": "%s%n%(x)s{0}{x.__class__}",
    "shell": "$(touch /tmp/x); `id` | & >",
    "path": "../../../../etc/passwd",
    "absolute": "/etc/passwd",
    "url": "http://user:password@host/",
    "markup": "<script>alert(1)</script>",
    "rich": "[bold red]x[/bold red][link=http://x]y",
    "long": "n" * 100_000,
    "reserved": "holdfast",
    "reserved below": "holdfast.maintenance",
    "star": "*",
    "number": "17",
    "none": "null",
    "dots": "..",
}


def payloads() -> dict[str, bytes]:
    """Bodies of a request that stores one job, with the payload as the stranger's part of it."""
    raw: dict[str, Callable[[], bytes]] = {
        "unclosed text": lambda: b'{"x":"' + b'\\"' * 20_000,
        "quotes": lambda: b'"' * NEARLY,
        "backslashes": lambda: b'{"x":"' + b"\\" * 50_001 + b'"}',
        "brackets": lambda: b"[" * DEEP + b"]" * DEEP,
        "open brackets": lambda: b"[" * NEARLY,
        "open braces": lambda: b'{"a":' * 100_000,
        "deep and wide": lambda: (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b",") * 1_000,
        "many keys": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(50_000)) + b"}",
        "one key many times": lambda: b"{" + b",".join([b'"a":1'] * 50_000) + b"}",
        "long key": lambda: b'{"' + b"k" * 500_000 + b'":1}',
        "long number": lambda: b'{"n":' + b"9" * 100_000 + b"}",
        "long fraction": lambda: b'{"n":0.' + b"1" * 100_000 + b"}",
        "large exponent": lambda: b'{"n":1e999999999}',
        "small exponent": lambda: b'{"n":-1e-999999999}',
        "not a number": lambda: b'{"n":NaN}',
        "infinity": lambda: b'{"n":-Infinity}',
        "not utf-8": lambda: b'{"x":"\xff\xfe\x80"}',
        "overlong slash": lambda: b'{"x":"\xc0\xaf"}',
        "half a pair": lambda: b'{"x":"\\ud800"}',
        "reversed pair": lambda: b'{"x":"\\udc00\\ud800"}',
        "zero byte": lambda: b'{"x":"a\x00b"}',
        "zero byte escaped": lambda: b'{"x":"a\\u0000b"}',
        "byte order mark": lambda: b"\xef\xbb\xbf{}",
        "two documents": lambda: b"{}{}",
        "comment": lambda: b"{/* a */}",
        "trailing comma": lambda: b'{"a":1,}',
        "only white space": lambda: b" " * 100_000,
        "too large": lambda: b'{"x":"' + b"y" * BIG + b'"}',
        "just fits": lambda: b'{"x":"' + b"y" * NEARLY + b'"}',
        "prototype": lambda: b'{"__proto__":{"admin":true},"constructor":1,"__class__":"x"}',
        "markers of ours": lambda: b'{"$previous":1,"PREVIOUS":{"$previous":[]}}',
    }
    return {name: make() for name, make in raw.items()}


def around(payload: bytes) -> bytes:
    """A request to store one job with this payload, written as it stands."""
    head = json.dumps({"id": "0192f1a0-0000-7000-8000-00000000abcd", "task": "t", "queue": "q"})[:-1].encode()
    return b'{"jobs":[' + head + b',"payload":' + payload + b"}]}"


def requests_with(name: str) -> list[tuple[str, str, Any]]:
    """Requests in which a stranger's name stands wherever one may stand."""
    job = {"id": "0192f1a0-0000-7000-8000-00000000abce", "task": "t"}
    return [
        *(
            ("POST", "/v1/jobs", {"jobs": [job | {field: name}]})
            for field in ("task", "queue", "tag", "subject", "tenant", "group_id", "idempotency_key", "wait_for_event")
        ),
        ("POST", "/v1/events", {"name": name, "attributes": {name: name}}),
        ("PUT", "/v1/tenants/t/weight", {"weight": 5, "queue": name}),
        (
            "POST",
            "/v1/jobs/search",
            {"wanted": {"queue": name, "tag": name, "subject_prefix": name, "error_text": name}},
        ),
    ]


SETTINGS = {
    "nonsense": b"\x00\x01\x02\xff\xfe",
    "not utf-8": b'[api]\nhost = "\xff"\n',
    "no value": b"[daemon]\nkeep =\n",
    "twice": b"[daemon]\nlease = 1\nlease = 2\n",
    "unknown table": b"[nowhere]\nx = 1\n",
    "unknown key": b"[daemon]\nlaese = 30\n",
    "wrong type": b'[daemon]\nlease = ["a"]\n',
    "negative": b"[daemon]\nlease = -5\n",
    "not a number": b"[daemon]\nlease = nan\n",
    "without end": b"[daemon]\nlease = inf\n",
    "deep": b"x = " + b"[" * 5_000 + b"]" * 5_000,
    "long line": b'[api]\nhost = "' + b"h" * 1_000_000 + b'"\n',
    "long number": b"[daemon]\nlease = " + b"9" * 10_000 + b"\n",
    "a table for a value": b"[daemon.lease]\nx = 1\n",
    "a queue that cannot be": b'[queues."\\u001b[2J"]\nlimit = 1\n',
    "a watch of nothing": b"[[watch]]\n",
}
