"""The same bad value gets the same words from the SDK, HTTP, the command line and `holdfast.toml`.

Only the word for the field is that of the surface. HTTP counts milliseconds, so that it tells another way of writing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import shown
from holdfast.core.rules.units import DURATION_FORMS
from holdfast.daemon.settings.settings_file import load
from tests.api.caller import new_job
from tests.cli.bad_values import CASES, LATER, TOO_MANY, Case, job, queue, schedule, watch, webhook
from tests.cli.shell import Shell
from tests.daemon.house import House

# What only programs and the file have: another way to write it.
HOW_IT_IS_WRITTEN = re.compile(r", (or a Retry\(…\)|(or|in) a table such as .*)$")


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
