"""A daemon that ends by an exception keeps it with its session."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from holdfast import Holdfast
from holdfast.daemon.daemon import Daemon
from holdfast.daemon.settings.settings import Settings
from holdfast.daemon.supervisor import Supervisor
from holdfast.runtime.clock import SystemClock
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.wire.home import Home
from tests.daemon.house import short_folder


def test_a_daemon_that_ends_by_an_exception_closes_its_session_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Supervisor) -> None:
        raise RuntimeError("no workers today")

    monkeypatch.setattr(Supervisor, "start", fail)
    with short_folder() as folder:
        home = Home(folder / "home")
        home.create()
        engine = SqliteEngine(home.database, now=SystemClock().now)
        with pytest.raises(RuntimeError, match="no workers today"):
            asyncio.run(Daemon(home, engine, settings=Settings()).run())
        with closing(Holdfast(home.database)) as hf:
            [session] = hf.ended_sessions().sessions
    assert (session.kind, session.status, session.error_message) == ("daemon", "error", "no workers today")
