"""The description of the API is true: what it says is there, and a program that knows nothing else finds no fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.api.description import describe
from holdfast.wire.calls import CALLS
from holdfast.wire.special_calls import SPECIAL_CALLS
from tests.api.caller import Caller
from tests.daemon.house import House, short_folder

ROOT = Path(__file__).parents[2]
# These answer when there is something to say; tests of their own have that.
LONG = r"/wait$|/v1/changes$"
# JSON Schema cannot say that 1.0 is no integer here, that a text is JSON, or that two fields exclude each other.
# An address whose tokens were wrong too often is told to wait, with another status than the first times.
BEYOND_SCHEMA = "positive_data_acceptance,ignored_auth"
SUMMARY = " SUMMARY "  # the heading of what a run prints last


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home for a real daemon."""
    with short_folder() as folder:
        house = House(folder / "home", tmp_path)
        try:
            yield house
        finally:
            house.clear()


def shapes(node: Any) -> Iterator[str]:
    """Every shape that is referred to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from shapes(value)
    elif isinstance(node, list):
        for value in node:
            yield from shapes(value)


def test_every_call_is_described(caller: Caller) -> None:
    described = caller.get("/openapi.json").json
    assert described == json.loads(json.dumps(describe((*CALLS, *SPECIAL_CALLS))))
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert {operation["operationId"] for operation in operations} == {call.name for call in (*CALLS, *SPECIAL_CALLS)}
    assert len(operations) == len(CALLS) + len(SPECIAL_CALLS)
    assert all(operation["summary"].endswith((".", ":")) for operation in operations)
    assert {operation["tags"][0] for operation in operations} == {tag["name"] for tag in described["tags"]}


def test_every_shape_is_named_once_and_used(caller: Caller) -> None:
    described = caller.get("/openapi.json").json
    named = described["components"]["schemas"]
    assert set(shapes(described)) == set(named)
    assert [name for name in named if not name.isalnum()] == []


def test_the_rules_for_values_are_part_of_the_description(caller: Caller) -> None:
    schemas = caller.get("/openapi.json").json["components"]["schemas"]
    job = schemas["NewJob"]
    assert job["properties"]["task"]["maxLength"] == 200
    [priority] = [kind for kind in job["properties"]["priority"]["anyOf"] if kind["type"] == "integer"]
    assert priority["maximum"] == 1_000_000
    assert [kind["type"] for kind in job["properties"]["payload"]["anyOf"]] == ["object", "string"]
    assert job["additionalProperties"] is False


def attack(house: House, *options: str, hooks: str | None = None) -> None:
    """Let schemathesis loose on a real daemon: nothing that it sends may break it, or be answered otherwise."""
    house.up("--port", "0")
    status, daemon = house.ask("GET", "/v1/daemon")
    assert status == 200
    command = [
        str(Path(sys.executable).parent / "st"),
        "run",
        f"{daemon['tcp']}/openapi.json",
        f"--header=Authorization: Bearer {house.home.token.read_text()}",
        f"--exclude-path-regex={LONG}",
        f"--exclude-checks={BEYOND_SCHEMA}",
        "--warnings=off",
        "--no-color",
        *options,
    ]
    env = os.environ | ({} if hooks is None else {"SCHEMATHESIS_HOOKS": hooks, "PYTHONPATH": str(ROOT)})
    run = subprocess.run(command, cwd=house.side, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{run.stdout}{run.stderr}"
    print(run.stdout[run.stdout.index(SUMMARY) :])


def some_calls(step: int, seed: int) -> list[str]:
    """Each n-th call; the long attacks take all of them."""
    names = sorted(call.name for call in (*CALLS, *SPECIAL_CALLS))
    return [f"--include-operation-id={name}" for name in names[seed % step :: step]]


def test_no_value_at_a_bound_and_no_random_one_breaks_the_daemon_or_is_answered_otherwise_than_described(
    house: House, seed: int
) -> None:
    chance = ("--max-examples=3", f"--seed={seed}", "--no-shrink")
    attack(house, "--phases=coverage,fuzzing", *chance, *some_calls(8, seed))


def test_no_large_body_breaks_the_daemon_or_is_answered_otherwise_than_described(house: House, seed: int) -> None:
    paths = ("jobs", "events", "templates", "schedules", "exchange", "reports")[seed % 2 :: 2]
    attack(
        house,
        "--phases=fuzzing",
        "--max-examples=4",
        f"--seed={seed}",
        "--no-shrink",
        f"--include-path-regex=^/v1/({'|'.join(paths)})$",
        hooks="tests.api.large_bodies",
    )


@pytest.mark.long
def test_no_long_attack_with_large_bodies_breaks_the_daemon(house: House) -> None:
    attack(house, "--phases=fuzzing", "--max-examples=50", "--seed=4", hooks="tests.api.large_bodies")


@pytest.mark.long
def test_no_long_attack_breaks_the_daemon(house: House) -> None:
    attack(house, "--phases=coverage,fuzzing,stateful", "--max-examples=100", "--seed=2")
