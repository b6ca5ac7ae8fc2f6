"""Bad values, and how each surface that has their field is given them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from holdfast import Holdfast
from tests.api.caller import new_job

LATER = datetime(2030, 1, 1, tzinfo=UTC)
LONG = "x" * 1_001
TOO_MANY = {f"A{number}": "" for number in range(1_001)}


class Case(NamedTuple):
    """A bad value on every surface that has its field; `wire` is the value in a request, if it is another one there."""

    value: Any
    sdk: Callable[[Any], object]
    http: tuple[str, str, Any] | None = None
    cli: tuple[str, ...] | None = None
    toml: str | None = None
    wire: Any = None


def job(**fields: Any) -> tuple[str, str, Any]:
    return ("POST", "/v1/jobs", {"jobs": [new_job(task="double", **fields)]})


def queue(**changes: Any) -> tuple[str, str, Any]:
    return ("PUT", "/v1/queues/mail", {"changes": changes})


def watch(**fields: Any) -> tuple[str, str, Any]:
    given = {"id": new_job()["id"], "name": "src", "path": "/src", "task": "double"}
    return ("POST", "/v1/watches", {"watch": given | fields})


def schedule(**fields: Any) -> dict[str, Any]:
    return {"id": new_job()["id"], "name": "s", "cron": "@daily", "template": "t", **fields}


def reservation(**fields: Any) -> dict[str, Any]:
    given = {"id": new_job()["id"], "reserved_by": "me", "session_id": "s", "ttl_ms": 1, "wait_ms": 1}
    return given | fields


def webhook(**fields: Any) -> tuple[str, str, Any]:
    given = {"id": new_job()["id"], "url": "https://hooks.example", "patterns": ["job.failed"]}
    return ("POST", "/v1/webhooks", {"webhook": given | fields})


CASES = {
    "queue": Case(
        "a b",
        lambda hf: hf.enqueue("double", queue="a b"),
        job(queue="a b"),
        ("enqueue", "double", "--queue", "a b"),
        '[queues."a b"]\nlimit = 1',
    ),
    "priority": Case(
        5_000_000,
        lambda hf: hf.enqueue("double", priority=5_000_000),
        job(priority=5_000_000),
        ("enqueue", "double", "--priority", "5000000"),
        "[[watch]]\npath = 'x'\npriority = 5000000",
    ),
    "tag": Case(
        "a\tb",
        lambda hf: hf.enqueue("double", tag="a\tb"),
        job(tag="a\tb"),
        ("enqueue", "double", "--tag", "a\tb"),
    ),
    "a tag that is no text": Case(5, lambda hf: hf.enqueue("double", tag=5), job(tag=5)),
    "subject": Case(
        LONG,
        lambda hf: hf.enqueue("double", subject=LONG),
        job(subject=LONG),
        ("enqueue", "double", "--subject", LONG),
        f"[[watch]]\npath = 'x'\nsubject = '{LONG}'",
    ),
    "on_event": Case(
        "a*b",
        lambda hf: hf.enqueue("double", on_event="a*b"),
        job(wait_for_event="a*b"),
        ("enqueue", "double", "--on-event", "a*b"),
    ),
    "timeout": Case(
        "0s",
        lambda hf: hf.enqueue("double", timeout="0s"),
        job(timeout_ms=0),
        ("enqueue", "double", "--timeout", "0s"),
        '[queues.mail]\ntimeout = "0s"',
        wire=0,
    ),
    "delay": Case(
        "40000d",
        lambda hf: hf.enqueue("double", delay="40000d"),
        job(delay_ms=40_000 * 86_400_000),
        ("enqueue", "double", "--delay", "40000d"),
        wire=40_000 * 86_400_000,
    ),
    "a flag": Case(1, lambda hf: hf.enqueue("double", stop_older=1), job(stop_older=1)),
    "generation": Case(
        -1, lambda hf: hf.enqueue("double", subject="s", generation=-1), job(subject="s", generation=-1)
    ),
    "reason": Case(
        "a\nb",
        lambda hf: hf.pause("mail", reason="a\nb"),
        ("POST", "/v1/queues/mail/pause", {"reason": "a\nb"}),
        ("pause", "mail", "--reason", "a\nb"),
    ),
    "limit": Case(
        2_000_000,
        lambda hf: hf.set_queue("mail", limit=2_000_000),
        queue(concurrency=2_000_000),
        ("queue", "mail", "--limit", "2000000"),
        "[queues.mail]\nlimit = 2000000",
    ),
    "breaker": Case(
        5_000,
        lambda hf: hf.set_queue("mail", breaker=5_000),
        queue(breaker=5_000),
        ("queue", "mail", "--breaker", "5000"),
        "[queues.mail]\nbreaker = 5000",
    ),
    "breaker_for": Case(
        "400d",
        lambda hf: hf.set_queue("mail", breaker_for="400d"),
        queue(breaker_for_ms=400 * 86_400_000),
        ("queue", "mail", "--breaker-for", "400d"),
        '[queues.mail]\nbreaker_for = "400d"',
        wire=400 * 86_400_000,
    ),
    "the window of a rate": Case(
        "10/400d",
        lambda hf: hf.set_queue("mail", rate="10/400d"),
        queue(rate_limit=10, rate_window_ms=400 * 86_400_000),
        ("queue", "mail", "--rate", "10/400d"),
        '[queues.mail]\nrate = "10/400d"',
        wire=400 * 86_400_000,
    ),
    "the starts of a rate": Case(
        "2000000/s",
        lambda hf: hf.set_queue("mail", rate="2000000/s"),
        queue(rate_limit=2_000_000, rate_window_ms=1_000),
        ("queue", "mail", "--rate", "2000000/s"),
        '[queues.mail]\nrate = "2000000/s"',
        wire=2_000_000,
    ),
    "overflow": Case(
        "drop",
        lambda hf: hf.set_queue("mail", overflow="drop"),
        queue(overflow="drop"),
        ("queue", "mail", "--overflow", "drop"),
        "[queues.mail]\noverflow = 'drop'",
    ),
    "max_jobs": Case(
        0,
        lambda hf: hf.add_watch("/src", task="double", max_jobs=0),
        watch(max_jobs=0),
        ("watch", "add", "/src", "--task", "double", "--max-jobs", "0"),
        "[[watch]]\npath = 'x'\nmax_jobs = 0",
    ),
    "debounce": Case(
        "40000d",
        lambda hf: hf.add_watch("/src", task="double", debounce="40000d"),
        watch(debounce_ms=40_000 * 86_400_000),
        ("watch", "add", "/src", "--task", "double", "--debounce", "40000d"),
        "[[watch]]\npath = 'x'\ndebounce = '40000d'",
        wire=40_000 * 86_400_000,
    ),
    "a glob": Case(
        "../x",
        lambda hf: hf.add_watch("/src", task="double", globs=["../x"]),
        watch(globs=["../x"]),
        ("watch", "add", "/src", "--task", "double", "--glob", "../x"),
        "[[watch]]\npath = 'x'\nglobs = ['../x']",
    ),
    "a glob with a bracket": Case(
        "[z-a]",
        lambda hf: hf.add_watch("/src", task="double", globs=["[z-a]"]),
        watch(globs=["[z-a]"]),
        ("watch", "add", "/src", "--task", "double", "--glob", "[z-a]"),
        "[[watch]]\npath = 'x'\nglobs = ['[z-a]']",
    ),
    "something to ignore": Case(
        "a\tb",
        lambda hf: hf.add_watch("/src", task="double", ignores=["a\tb"]),
        watch(ignores=["a\tb"]),
        ("watch", "add", "/src", "--task", "double", "--ignore", "a\tb"),
        '[[watch]]\npath = "x"\nignores = ["a\\tb"]',
    ),
    "too many globs": Case(
        ["a"] * 1_001,
        lambda hf: hf.add_watch("/src", task="double", globs=["a"] * 1_001),
        watch(globs=["a"] * 1_001),
        ("watch", "add", "/src", "--task", "double", *["--glob=a"] * 1_001),
        f"[[watch]]\npath = 'x'\nglobs = {['a'] * 1_001}",
    ),
    "the place of a watch": Case(
        "/",
        lambda hf: hf.add_watch("/", task="double"),
        watch(path="/"),
        ("watch", "add", "/", "--task", "double"),
        "[[watch]]\nname = 'all'\npath = '/'",
    ),
    "the name of a watch": Case(
        "a b",
        lambda hf: hf.add_watch("/src", task="double", name="a b"),
        watch(name="a b"),
        ("watch", "add", "/src", "--task", "double", "--name", "a b"),
        "[[watch]]\npath = 'x'\nname = 'a b'",
    ),
    "the url of a webhook": Case(
        "ftp://hooks.example",
        lambda hf: hf.add_webhook("ftp://hooks.example", on="job.failed"),
        webhook(url="ftp://hooks.example"),
        ("webhook", "add", "ftp://hooks.example", "--on", "job.failed"),
    ),
    "a url that is too long": Case(
        f"https://{LONG}{LONG}",
        lambda hf: hf.add_webhook(f"https://{LONG}{LONG}", on="job.failed"),
        webhook(url=f"https://{LONG}{LONG}"),
        ("webhook", "add", f"https://{LONG}{LONG}", "--on", "job.failed"),
    ),
    "the events of a webhook": Case(
        "a b",
        lambda hf: hf.add_webhook("https://hooks.example", on="a b"),
        webhook(patterns=["a b"]),
        ("webhook", "add", "https://hooks.example", "--on", "a b"),
    ),
    "no events": Case([], lambda hf: hf.add_webhook("https://hooks.example", on=[]), webhook(patterns=[])),
    "state": Case(
        "LOST",
        lambda hf: hf.jobs(state="LOST"),
        ("GET", "/v1/jobs?state=LOST", None),
        ("ls", "--state", "lost"),
    ),
    "the state of jobs to cancel": Case(
        "LOST",
        lambda hf: hf.bulk("cancel", state="LOST"),
        cli=("cancel", "--state", "lost"),
    ),
    "where a job goes": Case(
        "left",
        lambda hf: hf.command("true").move("left"),
        cli=("move", "1", "left"),
    ),
    "a time zone": Case(
        "Mars\nX",
        lambda hf: hf.create_schedule("s", cron="@daily", tz="Mars\nX", task="double"),
        ("POST", "/v1/schedules", {"schedule": schedule(timezone="Mars\nX")}),
        ("schedule", "add", "s", "--cron", "@daily", "--tz", "Mars\nX", "--task", "double"),
    ),
    "misfire": Case(
        "never",
        lambda hf: hf.create_schedule("s", cron="@daily", misfire="never", task="double"),
        ("POST", "/v1/schedules", {"schedule": schedule(misfire="never")}),
        ("schedule", "add", "s", "--cron", "@daily", "--misfire", "never", "--task", "double"),
    ),
    "the machine of a job": Case(
        "a\tb",
        lambda hf: hf.enqueue("double", node="a\tb"),
        job(node="a\tb"),
        ("enqueue", "double", "--node", "a\tb"),
    ),
    "what to reserve": Case(
        "a b",
        lambda hf: hf.reserve("a b"),
        ("POST", "/v1/reservations", {"request": reservation(scope="a b")}),
    ),
    "the number of a job": Case(
        "0",
        lambda hf: hf.job("0"),
        ("GET", "/v1/jobs/0", None),
        ("show", "0"),
    ),
    "what a machine looks like": Case(
        200,
        lambda hf: hf.simulate(cpu=200),
        ("PUT", "/v1/machines/here/simulation", {"simulation": {"cpu": 200}}),
        ("simulate", "cpu=200"),
    ),
    "chore": Case(
        "laundry",
        lambda hf: hf.maintain("laundry"),
        ("POST", "/v1/maintenance/laundry", {}),
        ("maintain", "laundry"),
    ),
    "where webhooks may lead": Case(
        "10.0.0.0/99",
        lambda hf: Holdfast("unused.db", webhook_allow=["10.0.0.0/99"]),
        toml="[webhooks]\nallow = ['10.0.0.0/99']",
    ),
    "concurrency": Case(
        0,
        lambda hf: Holdfast("unused.db", concurrency=0),
        toml="[daemon]\nconcurrency = 0",
    ),
    "the slots of a queue": Case(
        20_000,
        lambda hf: Holdfast("unused.db", concurrency={"mail": 20_000}),
        toml="[daemon]\nconcurrency = { mail = 20000 }",
    ),
    "a queue with slots": Case(
        "a b",
        lambda hf: Holdfast("unused.db", concurrency={"a b": 1}),
        toml="[daemon]\nconcurrency = { 'a b' = 1 }",
    ),
    "schema": Case(
        "a b",
        lambda hf: Holdfast("postgresql://nowhere/x", schema="a b"),
        toml="[daemon]\nschema = 'a b'",
    ),
    "retries": Case(
        -1,
        lambda hf: hf.set_queue("mail", retry=-1),
        queue(retry={"retries": -1, "initial_ms": 1, "factor": 2, "cap_ms": 1}),
        ("queue", "mail", "--retries", "-1"),
        "[queues.mail]\nretry = { retries = -1 }",
    ),
    "retry that is no number": Case(
        "x",
        lambda hf: hf.enqueue("double", retry="x"),
        job(policy={"retries": "x", "initial_ms": 1, "factor": 2, "cap_ms": 1}),
        ("enqueue", "double", "--retries", "x"),
        "[queues.mail]\nretry = 'x'",
    ),
    "too few retries": Case(
        -1,
        lambda hf: hf.enqueue("double", retry=-1),
        job(policy={"retries": -1, "initial_ms": 1, "factor": 2, "cap_ms": 1}),
        ("enqueue", "double", "--retries", "-1"),
        "[[watch]]\npath = 'x'\nretry = -1",
    ),
    "a kind of tokens": Case(
        {"ram": 1},
        lambda hf: hf.enqueue("double", tokens={"ram": 1}),
        job(tokens={"ram": 1}),
        ("enqueue", "double", "--tokens", "ram=1"),
        "[[watch]]\npath = 'x'\ntokens = { ram = 1 }",
    ),
    "tokens that are no numbers by kind": Case(
        3,
        lambda hf: hf.add_watch("/src", task="double", tokens=3),
        watch(tokens=3),
        toml="[[watch]]\npath = 'x'\ntokens = 3",
    ),
    "a number of tokens": Case(
        -1,
        lambda hf: hf.enqueue("double", tokens={"cpu": -1}),
        job(tokens={"cpu": -1}),
        ("enqueue", "double", "--tokens", "cpu=-1"),
        "[[watch]]\npath = 'x'\ntokens = { cpu = -1 }",
    ),
    "globs that are no list": Case(
        "a",
        lambda hf: hf.add_watch("/src", task="double", globs="a"),
        watch(globs="a"),
        toml="[[watch]]\npath = 'x'\nglobs = 'a'",
    ),
    "a line break in the place of a watch": Case(
        "/a\nb",
        lambda hf: hf.add_watch("/a\nb", task="double"),
        watch(path="/a\nb"),
        ("watch", "add", "/a\nb", "--task", "double"),
        '[[watch]]\nname = "a"\npath = "/a\\nb"',
    ),
    "a place that is no text": Case(
        3, lambda hf: hf.add_watch(3, task="double"), watch(path=3), toml="[[watch]]\npath = 3"
    ),
    "env that is no mapping": Case("A", lambda hf: hf.enqueue("double", env="A"), job(env="A")),
    "the name of a variable": Case(
        {"": "x"},
        lambda hf: hf.enqueue("double", env={"": "x"}),
        job(env={"": "x"}),
        ("enqueue", "double", "--env", "=x"),
    ),
    "the text of a variable": Case({"A": "\0"}, lambda hf: hf.enqueue("double", env={"A": "\0"}), job(env={"A": "\0"})),
    "too many variables": Case(
        TOO_MANY,
        lambda hf: hf.enqueue("double", env=TOO_MANY),
        job(env=TOO_MANY),
    ),
    "where that is no mapping": Case(
        "x",
        lambda hf: hf.enqueue("double", on_event="e", where="x"),
        job(wait_for_event="e", event_attributes="x"),
    ),
    "the name of an attribute": Case(
        {"a b": "x"},
        lambda hf: hf.enqueue("double", on_event="e", where={"a b": "x"}),
        job(wait_for_event="e", event_attributes={"a b": "x"}),
        ("enqueue", "double", "--on-event", "e", "--where", "a b=x"),
    ),
    "the text of an attribute": Case(
        {"a": LONG},
        lambda hf: hf.emit("e", attributes={"a": LONG}),
        ("POST", "/v1/events", {"id": new_job()["id"], "name": "e", "attributes": {"a": LONG}}),
        ("emit", "e", f"a={LONG}"),
    ),
    "a page": Case(
        1_001,
        lambda hf: hf.jobs(limit=1_001),
        ("GET", "/v1/jobs?limit=1001", None),
        ("ls", "--limit", "1001"),
        wire="1001",
    ),
    "weight": Case(
        0,
        lambda hf: hf.set_weight("me", 0),
        ("PUT", "/v1/tenants/me/weight", {"weight": 0}),
    ),
}
