"""The `[queues.NAME]` tables of `holdfast.toml`: what each may say, and the changes that it means."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.client.queues import make_changes
from holdfast.client.retry import MOST_FACTOR, MOST_RETRIES, Retry
from holdfast.core.breaker import LONGEST_OPEN_MS, MOST_FAILURES, USUAL_FAILURES
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_name, shown
from holdfast.core.queue import MOST_WAITING, QueueChanges, QueuePreset
from holdfast.core.rate import parse_rate
from holdfast.daemon.kinds import Kind, Says, Wrong, duration, one_of, whole

_CENTURY_S = 100 * 365 * 86_400.0
TIMEOUT = duration(0.001, _CENTURY_S, "0.001 seconds to 100 years")
_PAUSE = duration(0, _CENTURY_S, "0 seconds to 100 years")


def _rate(value: Any) -> str:
    try:
        parse_rate(value)
    except InvalidInput:
        raise Wrong from None
    return str(value)


def _factor(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MOST_FACTOR:
        raise Wrong
    return float(value)


_RETRY: Mapping[str, Kind] = {
    "retries": whole(0, MOST_RETRIES),
    "initial": _PAUSE,
    "factor": Kind("a number of at least 1", _factor),
    "cap": _PAUSE,
    "mode": one_of("requeue", "chain"),
    "infra": whole(0, MOST_RETRIES),
}


def _retry(value: Any) -> Retry:
    if not isinstance(value, dict):
        return Retry(_RETRY["retries"].read(value))
    if "retries" not in value or not value.keys() <= _RETRY.keys():
        raise Wrong
    given = {key: _RETRY[key].read(item) for key, item in value.items()}
    return Retry(given.pop("retries"), **given)


RETRY = Kind(f'a whole number from 0 to {MOST_RETRIES}, or a table such as {{ retries = 5, initial = "2s" }}', _retry)
KEYS: Mapping[str, Says] = {
    "limit": Says("How many of its jobs may run at once, over all workers.", whole(0, 1_000_000), "2"),
    "rate": Says(
        "How many of its jobs may start within any such time, over all workers.",
        Kind('a number of starts and a time, such as "10/min", "5/s" or "100/30s"', _rate),
        '"10/min"',
    ),
    "max_length": Says("How many of its jobs may wait; then it is full.", whole(0, MOST_WAITING), "1000"),
    "overflow": Says(
        "When it is full: `reject` refuses new jobs, `shed` ends waiting ones of lower priority to make room.",
        one_of("reject", "shed"),
        '"reject"',
    ),
    "class": Says("How much its jobs burden the machine.", one_of("light", "normal", "heavy"), '"normal"'),
    "retry": Says(
        "How its jobs are tried again, if they do not say: a number, or a table with `retries`, `initial`, `factor`, "
        "`cap`, `mode` and `infra`.",
        RETRY,
        "5",
    ),
    "preset": Says(
        "How its jobs are tried again, by what they are for, if there is no `retry`: `cleanup` once, `indexing` 5 "
        "times, after 1 s, 3 s and so on up to 5 min.",
        one_of(*QueuePreset),
        '"indexing"',
    ),
    "timeout": Says("How long a run may take, for jobs that do not say.", TIMEOUT, '"10m"'),
    "breaker": Says(
        "After so many failures in a row by the fault of the machine nothing of it starts for a while; 0: never mind.",
        whole(0, MOST_FAILURES),
        str(USUAL_FAILURES),
    ),
    "breaker_for": Says(
        "For how long nothing starts then; after that one job tries.",
        duration(0.001, LONGEST_OPEN_MS / 1_000, "1 millisecond to 366 days"),
        '"30s"',
    ),
}


MEANING = (
    "What is set for a queue, one table for each; NAME is what it is called. What a table does not name, or no longer "
    "names, stays as it was."
)


def queues_of(tables: Any, file: Path | None) -> dict[str, QueueChanges]:
    """What the tables change, by queue; InvalidInput names what is wrong, where it stands, and what is allowed."""
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidInput(f"{file}: queues = {shown(tables)} is not valid: write one [queues.NAME] for each")
    return {_name(name, file): _changes(table, f"{file}: queues.{name}.") for name, table in tables.items()}


def _name(name: str, file: Path | None) -> str:
    try:
        return check_name("queue", name)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: [queues]: {error}") from None


def _changes(table: Mapping[str, Any], where: str) -> QueueChanges:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            close = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InvalidInput(f"{where}{key} is not known: {hint}a queue has {', '.join(KEYS)}")
        try:
            values[key] = KEYS[key].kind.read(value)
        except Wrong:
            raise InvalidInput(f"{where}{key} = {shown(value)} is not valid: use {KEYS[key].kind.allowed}") from None
    if "class" in values:
        values["queue_class"] = values.pop("class")
    return make_changes(**values)
