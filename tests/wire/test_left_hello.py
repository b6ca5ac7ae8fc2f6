"""What a daemon has left about itself is believed only as long as it lives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holdfast.store.locks import LifeLock
from holdfast.store.machine import boot_id
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import Home
from holdfast.wire.left_hello import left_at_home

HELLO = Hello("1.0", PROTOCOL, "here", 7, "/locks", "/files", boot_id=boot_id(), dialect="sqlite")


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[LifeLock]:
    """The lock of the daemon 7."""
    lock = LifeLock(Home(tmp_path).lock)
    lock.path.write_text("7")
    yield lock
    lock.release()


@pytest.fixture
def home(lock: LifeLock) -> Home:
    """Where the daemon 7 lives."""
    return Home(lock.path.parent)


def leave(home: Home, **other: object) -> None:
    home.hello.write_bytes(msgspec.json.encode(msgspec.structs.replace(HELLO, **other)))


def test_what_the_daemon_has_left_need_not_be_asked_for(home: Home) -> None:
    leave(home)
    assert left_at_home(home) == HELLO


@pytest.mark.parametrize("other", [{"pid": 8}, {"boot_id": "another"}, {"protocol": PROTOCOL + 1}])
def test_what_another_daemon_has_left_does_not_count(home: Home, other: dict[str, object]) -> None:
    leave(home, **other)
    assert left_at_home(home) is None


def test_what_was_left_before_a_daemon_moved_in_does_not_count(home: Home) -> None:
    leave(home)
    os.utime(home.hello, ns=(1, home.lock.stat().st_mtime_ns - 1))
    assert left_at_home(home) is None


def test_what_a_daemon_left_that_was_killed_does_not_count(home: Home, lock: LifeLock) -> None:
    leave(home)
    lock.forget()  # The kernel lets go of the lock, and the file stays.
    assert home.lock.read_text() == "7"
    assert left_at_home(home) is None


@pytest.mark.parametrize("left", [None, b"", b"{}", b"[1", b"\xff"])
def test_what_cannot_be_read_does_not_count(home: Home, left: bytes | None) -> None:
    if left is not None:
        home.hello.write_bytes(left)
    assert left_at_home(home) is None
