"""Processes that wait to write come one after another, also when the one that writes leaves no pause."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from holdfast.store.sqlite.write_lock import WriteLock

OnLook: TypeAlias = Callable[[Callable[[], None]], None]


class Waiter:
    """Another process that waits for the gate and has not come to a processor yet."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: os.open(folder / name, os.O_RDWR) for name in ("gate", "turn", "waiting")}
        fcntl.flock(self._files["waiting"], fcntl.LOCK_SH)

    def take_turn(self) -> None:
        fcntl.flock(self._files["gate"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(self._files["waiting"], fcntl.LOCK_UN)
        fcntl.flock(self._files["turn"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(self._files["gate"], fcntl.LOCK_UN)
        fcntl.flock(self._files["turn"], fcntl.LOCK_UN)

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[WriteLock]:
    with closing(WriteLock(tmp_path)) as made:
        yield made


@pytest.fixture
def on_look(monkeypatch: pytest.MonkeyPatch) -> OnLook:
    """Have something done whenever the lock looks again whether others have come. Only then time goes on."""
    now = 0.0

    def replace(act: Callable[[], None]) -> None:
        def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds
            act()

        monkeypatch.setattr(time, "sleep", sleep)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    return replace


def test_those_who_wait_come_before_one_that_has_just_written(lock: WriteLock, tmp_path: Path, on_look: OnLook) -> None:
    order = []
    with lock:
        waiter = Waiter(tmp_path)

    def come() -> None:
        waiter.take_turn()
        order.append("the one that waited")

    on_look(come)
    with lock:
        order.append("the one that had just written")
    waiter.close()
    assert order == ["the one that waited", "the one that had just written"]


def test_one_that_waits_and_is_stopped_delays_another_less_each_time(
    lock: WriteLock, tmp_path: Path, on_look: OnLook
) -> None:
    looks: list[None] = []
    on_look(lambda: looks.append(None))
    seen = []
    with lock:
        waiter = Waiter(tmp_path)
    for _ in range(10):
        with lock:
            seen.append(len(looks))
        looks.clear()
    waiter.close()
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > seen[1] > 0
    assert seen[-1] == 0


def test_nobody_is_let_first_where_nobody_waits(lock: WriteLock, on_look: OnLook) -> None:
    looks: list[None] = []
    on_look(lambda: looks.append(None))
    for _ in range(2):
        with lock:
            pass
    assert looks == []
