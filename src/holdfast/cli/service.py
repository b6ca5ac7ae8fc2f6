"""The daemon and its workers: up, down, status, worker."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from typing import Annotated

import typer

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import ago, show_json, show_table
from holdfast.core.errors import Conflict, HoldfastError, NoDaemon
from holdfast.core.job import StateName
from holdfast.store.locks import is_locked
from holdfast.wire.home import HOME, Home, find_home

SHOWN = ("QUEUED", "SCHEDULED", "RUNNING", "DONE", "FAILED")
START_S = 15.0
STOP_S = 40.0


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, down, status, worker):
        app.command(help=command.__doc__)(command)


def up(
    home: HomeOption = None,
    store: Annotated[
        str | None, typer.Option(help="A postgresql:// URL instead of the file in the home folder.")
    ] = None,
    app: Annotated[
        list[str] | None, typer.Option(help="Code to run: module:name or a path to a file. Repeatable.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="How many worker processes for the code.")] = 1,
    port: Annotated[
        int | None, typer.Option(help="Also listen on 127.0.0.1:PORT, with the token of the home folder.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Go to the background.")] = False,
) -> None:
    """Start the daemon. Example: holdfast up --app tasks.py:hf"""
    place = find_home(home)
    place.create()
    if detach:
        _start_in_background(place)
        return
    from holdfast.client.database import make_engine
    from holdfast.daemon.daemon import Daemon
    from holdfast.runtime.clock import SystemClock
    from holdfast.store.engine import new_uuid

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    clock = SystemClock()
    engine = make_engine(store or place.database, "full", "holdfast", clock, new_uuid)
    asyncio.run(Daemon(place, engine, port=port, apps=tuple(app or ()), workers=workers, clock=clock).run())


def _start_in_background(place: Home) -> None:
    if is_locked(str(place.lock)):
        raise Conflict(f"a daemon with pid {place.lock.read_text().strip()} lives in {place.folder} already")
    words = [word for word in sys.argv[1:] if word not in ("--detach", "-d")]
    with place.log.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, HOME: str(place.folder)},
        )
    until = time.monotonic() + START_S
    while not place.socket.exists():
        if child.poll() is not None:
            raise HoldfastError(f"the daemon ended with code {child.returncode}; see {place.log}")
        if time.monotonic() > until:
            raise HoldfastError(f"the daemon is not up after {START_S:.0f} s; see {place.log}")
        time.sleep(0.02)
    print(f"holdfast is up, pid {child.pid}, home {place.folder}")


def down(home: HomeOption = None) -> None:
    """Stop the daemon in order. Example: holdfast down"""
    place = find_home(home)
    if not is_locked(str(place.lock)):
        raise NoDaemon(f"no daemon lives in {place.folder}")
    pid = int(place.lock.read_text())
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_S
    while is_locked(str(place.lock)):
        if time.monotonic() > until:
            raise HoldfastError(f"the daemon (pid {pid}) has not stopped after {STOP_S:.0f} s")
        time.sleep(0.02)
    print("holdfast is down")


def status(home: HomeOption = None, json: JsonOption = False) -> None:
    """How the daemon, its sessions and its queues are. Example: holdfast status --json"""
    hf = client(home)
    sessions, counts = hf.sessions(), hf.counts()
    if json:
        show_json({"sessions": sessions, "queues": counts})
        return
    rows = [[row.kind, str(row.pid), row.node, ago(row.last_heartbeat_at)] for row in sessions]
    show_table(["session", "pid", "node", "heartbeat"], rows)
    print()
    show_table(
        ["queue", "queued", "scheduled", "running", "done", "failed"],
        [[queue, *(str(states.get(StateName(state), 0)) for state in SHOWN)] for queue, states in counts.items()],
    )


def worker(
    app: Annotated[
        list[str] | None, typer.Option(help="Code to run: module:name or a path to a file, file.py:name. Repeatable.")
    ] = None,
    system: Annotated[bool, typer.Option("--system", hidden=True)] = False,
    place: Annotated[str | None, typer.Option(hidden=True)] = None,
    home: HomeOption = None,
) -> None:
    """Run the tasks of an app for the daemon. Example: holdfast worker --app tasks.py:hf"""
    from holdfast.client.worker import serve

    if home is not None:
        os.environ[HOME] = str(home)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    serve(app or (), is_system=system, place=place)
