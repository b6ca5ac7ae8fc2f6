"""The same bad value gets the same words from the SDK, HTTP, the command line and `holdfast.toml`.

Only the word for the field is that of the surface. HTTP counts milliseconds, so that it tells another way of writing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast import Holdfast
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import shown
from holdfast.core.units import DURATION_FORMS
from holdfast.daemon.settings_file import load
from tests.api.caller import new_job
from tests.cli.shell import Shell
from tests.daemon.house import House

LATER = datetime(2030, 1, 1, tzinfo=UTC)
LONG = "x" * 1_001
TOO_MANY = {f"A{number}": "" for number in range(1_001)}
# What only programs and the file have: another way to write it.
HOW_IT_IS_WRITTEN = re.compile(r", (or a Retry\(…\)|(or|in) a table such as .*)$")


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


@pytest.fixture
def clients(house: House, tmp_path: Path) -> Iterator[dict[str, Holdfast]]:
    """The SDK with a database of its own, and as a client of the daemon."""
    embedded = Holdfast(tmp_path / "own.db")
    with closing(embedded._access.engine):
        yield {"embedded": embedded, "client": house.client()}


def refusal_of(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as refused:
        act()
    return str(refused.value)


def over_http(house: House, request: tuple[str, str, Any]) -> str:
    status, problem = house.ask(*request)
    assert (status, problem["code"]) == (400, "ERR_INVALID_INPUT"), problem
    return str(problem["detail"])


def typed(sh: Shell, words: tuple[str, ...]) -> str:
    said = sh(*words)
    assert said.code == 2, said
    return said.err.removeprefix("holdfast: ").rstrip("\n")


def in_file(tmp_path: Path, text: str) -> str:
    file = tmp_path / "holdfast.toml"
    file.write_text(text)
    return refusal_of(lambda: load(file))


def allowed(said: str, value: Any) -> str:
    """What a refusal says is allowed, after the field's word and the value."""
    found = re.search(rf"( {re.escape(shown(value))})? is not valid: use (.+)$", said)
    assert found is not None, said
    assert found[1] or "env" in said, said  # No message repeats a variable.
    return HOW_IT_IS_WRITTEN.sub("", found[2])


COMMANDS = {
    "grace": (-1, {"grace": -1}, {"grace_s": -1}, None),
    "memory": (0, {"memory_mb": 0}, {"memory_mb": 0}, ("--memory", "0")),
    "the name of a variable": ({"A=B": "1"}, {"env": {"A=B": "1"}}, {"env": {"A=B": "1"}}, None),
    "too many variables": (TOO_MANY, {"env": TOO_MANY}, {"env": TOO_MANY}, None),
}


@pytest.mark.parametrize(("value", "sdk", "wire", "cli"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_cannot_start_is_refused_before_it_is_stored(
    value: Any,
    sdk: dict[str, Any],
    wire: dict[str, Any],
    cli: tuple[str, ...] | None,
    house: House,
    sh: Shell,
    clients: dict[str, Holdfast],
) -> None:
    payload = {"argv": ["true"], **wire}
    told = [allowed(refusal_of(partial(hf.command, "true", **sdk)), value) for hf in clients.values()]
    told += [allowed(refusal_of(partial(hf.enqueue, "command", payload)), value) for hf in clients.values()]
    told += [allowed(typed(sh, ("run", *cli, "--", "true")), value)] if cli is not None else []
    status, problem = house.ask("POST", "/v1/jobs", {"jobs": [new_job(task="command", payload=payload)]})
    assert (status, problem["code"]) == (400, "ERR_INVALID_PAYLOAD"), problem
    told.append(allowed(problem["detail"], value))
    assert len({words.replace(DURATION_FORMS, "in seconds") for words in told}) == 1, told


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_bad_value_gets_the_same_words(
    case: Case, house: House, sh: Shell, clients: dict[str, Holdfast], tmp_path: Path
) -> None:
    told = {name: allowed(refusal_of(partial(case.sdk, hf)), case.value) for name, hf in clients.items()}
    if case.cli is not None:
        said = typed(sh, case.cli)
        told["cli"] = allowed(said, case.value)
        before = dict(pairwise(reversed(case.cli))).get(str(case.value), "")
        assert said.startswith(before) or not before.startswith("--")
    if case.toml is not None:
        told["toml"] = allowed(in_file(tmp_path, case.toml), case.value)
    if case.http is not None:
        wire = allowed(over_http(house, case.http), case.value if case.wire is None else case.wire)
        told["http"] = wire.replace("in milliseconds", DURATION_FORMS)
    assert len(told) > len(clients)
    assert len(set(told.values())) == 1, told


def test_a_bad_secret_gets_the_same_words_and_is_not_repeated(
    house: House, sh: Shell, clients: dict[str, Holdfast], tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("hush")
    url, says = "https://hooks.example", "secret is not valid: use 16 to 200 letters, digits and signs, no spaces"
    for hf in clients.values():
        assert refusal_of(partial(hf.add_webhook, url, on="job.failed", secret="hush")) == says
    assert typed(sh, ("webhook", "add", url, "--on", "job.failed", "--secret-file", str(file))) == says
    assert over_http(house, webhook(secret="hush")) == f"webhook.{says}"


PAYLOADS = {
    "of a job": (
        lambda hf: hf.enqueue("double", [1]),
        job(payload=[1]),
        ("enqueue", "double", "[1]"),
    ),
    "of a template": (
        lambda hf: hf.create_template("t", "double", [1]),
        ("POST", "/v1/templates", {"template": {"id": new_job()["id"], "name": "t", "task": "double", "payload": [1]}}),
        ("template", "add", "t", "--task", "double", "--payload", "[1]"),
    ),
    "of a watch": (
        lambda hf: hf.add_watch("/src", task="double", payload=[1]),
        watch(payload=[1]),
        ("watch", "add", "/src", "--task", "double", "--payload", "[1]"),
    ),
}


@pytest.mark.parametrize(("sdk", "http", "cli"), PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_that_is_no_object_gets_the_same_words(
    sdk: Callable[[Any], object],
    http: tuple[str, str, Any],
    cli: tuple[str, ...],
    house: House,
    sh: Shell,
    clients: dict[str, Holdfast],
) -> None:
    says = "the payload is not a JSON object: give the task's arguments by name"
    for hf in clients.values():
        assert refusal_of(partial(sdk, hf)) == says
    assert typed(sh, cli) == says
    status, problem = house.ask(*http)
    assert (status, problem["code"], problem["detail"]) == (400, "ERR_INVALID_PAYLOAD", says)


def test_a_payload_in_the_file_is_refused_in_the_same_words_and_not_repeated(tmp_path: Path) -> None:
    said = in_file(tmp_path, "[[watch]]\npath = 'x'\npayload = 3")
    says = "payload is not a JSON object: give the task's arguments by name, in a table such as"
    assert f": [[watch]] 1: {says} " in said


def test_a_text_in_place_of_an_object_is_told_what_the_object_has(house: House) -> None:
    says = "jobs[0].policy 'x' is not valid: use an object with retries, initial_ms, factor, cap_ms, mode, infra"
    assert over_http(house, job(policy="x")) == says


PAIRS = {
    "delay and at": (
        lambda hf: hf.enqueue("double", delay=1, at=LATER),
        job(delay_ms=1, due=1),
        ("enqueue", "double", "--delay", "1s", "--at", "2030-01-01"),
        "{} and {} exclude each other: give one of them",
        (("delay", "at"), ("delay_ms", "due"), ("--delay", "--at")),
    ),
    "where without an event": (
        lambda hf: hf.enqueue("double", where={"a": "b"}),
        job(event_attributes={"a": "b"}),
        ("enqueue", "double", "--where", "a=b"),
        "{} {{'a': 'b'}} means nothing without {}: give that as well",
        (("where", "on_event"), ("event_attributes", "wait_for_event"), ("--where", "--on-event")),
    ),
    "generation without a subject": (
        lambda hf: hf.enqueue("double", {"x": 1}, generation=3),
        job(payload={"x": 1}, generation=3),
        None,
        "{} 3 means nothing without {}: give that as well",
        (("generation", "subject"), ("generation", "subject"), ()),
    ),
}


def test_where_over_a_template_without_an_event_is_refused_in_the_words_of_the_caller(
    house: House, sh: Shell, clients: dict[str, Holdfast]
) -> None:
    says = "{} {{'a': 'b'}} means nothing without {}: give that as well"
    for hf in clients.values():
        hf.create_template("t", "double")
        said = says.format("where", "on_event")
        assert refusal_of(partial(hf.create_schedule, "s", cron="@daily", template="t", where={"a": "b"})) == said
        assert refusal_of(partial(hf.enqueue_template, "t", where={"a": "b"})) == said
    timed = ("schedule", "add", "s", "--cron", "@daily", "--template", "t", "--where", "a=b")
    for words in (timed, ("template", "run", "t", "--where", "a=b")):
        assert typed(sh, words) == says.format("--where", "--on-event")
    wanted = {"schedule": schedule(options={"event_attributes": {"a": "b"}})}
    assert over_http(house, ("POST", "/v1/schedules", wanted)) == says.format("event_attributes", "wait_for_event")


BOTH = {
    "a limit": ({"limit": 1}, {"concurrency": 1}, ("--limit", "1"), ("limit", "concurrency"), 1),
    "an overflow": (
        {"overflow": "shed"},
        {"overflow": "shed"},
        ("--overflow", "shed"),
        ("overflow", "overflow"),
        "shed",
    ),
}


@pytest.mark.parametrize(("sdk", "http", "cli", "words", "value"), BOTH.values(), ids=BOTH)
def test_what_is_set_and_cleared_is_refused_in_the_same_words(
    sdk: dict[str, Any],
    http: dict[str, Any],
    cli: tuple[str, str],
    words: tuple[str, str],
    value: Any,
    house: House,
    sh: Shell,
    clients: dict[str, Holdfast],
) -> None:
    name, field = words
    says = f" is to be set to {value!r} and to be cleared; say one of them"
    for hf in clients.values():
        assert refusal_of(partial(hf.set_queue, "mail", clear=name, **sdk)) == f"{name}{says}"
    assert typed(sh, ("queue", "mail", *cli, "--clear", name)) == f"{name}{says}"
    assert over_http(house, queue(clear=[field], **http)) == f"{field}{says}"


@pytest.mark.parametrize(("sdk", "http", "cli", "says", "words"), PAIRS.values(), ids=PAIRS)
def test_what_does_not_go_together_is_refused_in_the_same_words(
    sdk: Callable[[Any], object],
    http: tuple[str, str, Any],
    cli: tuple[str, ...] | None,
    says: str,
    words: tuple[tuple[str, ...], ...],
    house: House,
    sh: Shell,
    clients: dict[str, Holdfast],
) -> None:
    in_sdk, on_wire, in_shell = words
    for hf in clients.values():
        assert refusal_of(partial(sdk, hf)) == says.format(*in_sdk)
    assert over_http(house, http) == says.format(*on_wire)
    if cli is not None:
        assert typed(sh, cli) == says.format(*in_shell)
