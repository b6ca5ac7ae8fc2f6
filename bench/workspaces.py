"""Workspaces: a look at many that are as they shall be, and from a wish to the program that answers."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.table import Place, Table, p, percentiles
from bench.through_daemon import client, running_daemon
from holdfast.core.messages.sessions import NewSession
from holdfast.core.messages.workspaces import HomeContext, NewWorkspace
from holdfast.core.workspaces.states import DesiredState, Operation, Phase
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine, Tx, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.workspaces import reconcile, workspaces
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import sql
from holdfast.workspaces.backends.local_dir import LocalDir
from holdfast.workspaces.backends.local_process import LocalProcesses
from holdfast.workspaces.backends.protocols import HomeNames
from holdfast.workspaces.controller import Controller

MANY = 1_000
LOOKS = 20
STARTS = 30
LOOK_S = 1.0
START_S = 1.0
PATIENCE_S = 30.0
SERVER = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(3600)"


def measure(place: Place) -> Table:
    """The looks on both databases, and starts through a daemon."""
    clock = SystemClock()
    makes: dict[str, Callable[[], Engine]] = {
        "SQLite": lambda: SqliteEngine(place.new_file(), now=clock.now),
        "PostgreSQL": lambda: PostgresEngine(place.postgres_url, schema=place.new_schema(), now=clock.now),
    }
    rows: list[tuple[str, ...]] = []
    for name, make in makes.items():
        took, changed = _looks(make(), place.folder / f"homes-{name}")
        figure = f"median {statistics.median(took) * 1000:.0f} ms, longest {max(took) * 1000:.0f} ms"
        rows.append((f"a look at {MANY:,}, {name}", figure, f"{max(took) / LOOK_S:.0%} of 1 s, {changed} rows written"))
    starts = _starts(place)
    rows.append(("start to RUNNING", percentiles(starts), f"p95 {p(starts, 95) / START_S:.0%} of 1 s"))
    return Table(
        "Workspaces",
        f"One pass of the controller over {MANY:,} workspaces that are STANDBY, each with its folder, {LOOKS} times; "
        f"nothing may be written. From the call of `start` to the answer that says RUNNING, for a small program with a "
        f"port, {STARTS} times through daemon and worker, asked every few milliseconds.",
        rows,
    )


def _looks(engine: Engine, folder: Path) -> tuple[list[float], int]:
    """The seconds of each look, and how many rows were written meanwhile."""
    clock, session = SystemClock(), new_uuid()
    engine.run(sessions.open_session, NewSession(session, "worker", engine.node, "boot", 1, None), None, clock.now())
    engine.run(reconcile.take_controller, session, clock.now())
    homes = LocalDir(folder)
    instances = LocalProcesses(lambda key: folder / f"{key}.log", {})
    for number in range(MANY):
        new = NewWorkspace(
            id=new_uuid(), name=f"w{number}", command=("sleep", "600"), desired_state=DesiredState.STANDBY
        )
        view = engine.run(workspaces.create_workspace, new, clock.now())
        volume, path = homes.create(HomeNames(view.home_store_key, None), new_uuid(), is_first=True)
        engine.run(_name_home, view.id, HomeContext(volume, path), clock.now())

    async def look() -> list[float]:
        controller = Controller(engine, clock, session, None, instances, homes)
        await controller.tick()  # It sees them for the first time.
        took = []
        for _ in range(LOOKS):
            began = time.perf_counter()
            await controller.tick()
            took.append(time.perf_counter() - began)
        return took

    took = asyncio.run(look())
    views = engine.query(workspaces.list_workspaces)
    assert {view.phase for view in views} == {Phase.STANDBY}
    changed = sum(view.generation != 2 for view in views)  # Its home was named, and it was seen once.
    engine.close()
    return took, changed


def _name_home(tx: Tx, workspace_id: str, home: HomeContext, now: int) -> None:
    tx.run(sql.set_home, id=workspace_id, home_ctx=msgspec.json.encode(home).decode(), now=now)


def _starts(place: Place) -> list[float]:
    took = []
    with running_daemon(place, workers=False) as home:
        hf, _, _ = client(home)
        dev = hf.create_workspace("dev", command=[sys.executable, "-c", SERVER, "{port}"], desired="STANDBY")
        dev.wait("STANDBY", timeout=PATIENCE_S)
        for _ in range(STARTS):
            began = time.perf_counter()
            dev.start()
            while not ((view := dev.info).phase is Phase.RUNNING and view.operation is Operation.NONE):
                assert time.perf_counter() - began < PATIENCE_S, view
                time.sleep(0.005)
            took.append(time.perf_counter() - began)
            dev.stop(wait=PATIENCE_S)
        dev.delete(wait=PATIENCE_S)
    return took
