"""`holdfast up` and `down`: begin and end the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli.frame import output, times
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import ConfigOption
from holdfast.cli.frame.output import DIM, Coloured, Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Option
from holdfast.core.errors import Conflict, HoldfastError, NoDaemon
from holdfast.private_files import for_owner_alone
from holdfast.wire.home import HOME, Address, Home, find_home

if TYPE_CHECKING:
    from holdfast.core.messages.apps import AppView
    from holdfast.core.messages.workspaces import WorkspaceView
    from holdfast.wire.status import PlaceStatus

ASK_S = 1.0
START_S = 30.0
FIRST_WORKERS_S = 30.0
STEP_S = 0.02


def up(
    app: Annotated[
        list[str] | None,
        Option(metavar="APP", help="Code to run in workers: module:name, or file.py:name. Repeatable."),
    ] = None,
    workers: Annotated[
        int | None,
        Option(metavar="N", field="daemon.workers", help="How many worker processes for the code; 1 if not set."),
    ] = None,
    detach: Annotated[bool, Option("--detach", "-d", help="Go to the background.")] = False,
    store: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="A postgresql:// URL instead of the file in the home folder; with a password, use HOLDFAST_STORE.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        Option(metavar="PORT", field="api.port", help="Listen on 127.0.0.1:PORT too, for callers with a token."),
    ] = None,
    log_format: Annotated[
        str | None, Option(metavar="auto|json|text", help="How it logs: for a person, or for a machine.")
    ] = None,
    log_level: Annotated[
        str | None, Option(metavar="debug|info|warning|error", help="What is worth a line in the log.")
    ] = None,
    log_file: Annotated[Path | None, Option(hidden=True)] = None,
    config: ConfigOption = None,
    print_config: Annotated[
        bool, Option("--print-config", help="Print every setting as holdfast.toml has it, and do nothing else.")
    ] = False,
    *,
    json: bool,
) -> Output | None:
    """Start the daemon, here or in the background.

    With --detach it returns when the first workers work. If their code cannot be loaded, it says why and ends with code
    1; the daemon stays, and tries again until the code is right. So it does if an app cannot start.

    Options lie over the settings of holdfast.toml in the home folder.

    \b
    Examples:
      holdfast up --detach
      holdfast up --app tasks.py --workers 2
      holdfast up --print-config > ~/.local/share/holdfast/holdfast.toml
    """
    from holdfast.daemon.ownership import refuse_exposed
    from holdfast.daemon.settings.settings_file import find_file, load

    place = find_home()
    if store is not None:
        _warn_of_password(store)
    options = {
        "daemon.store": store,
        "daemon.apps": tuple(_absolute(name) for name in app) if app else None,
        "daemon.workers": workers,
        "api.port": port,
        "logs.format": log_format or ("json" if json and not detach else None),
        "logs.level": log_level,
    }
    # A mistake is told here, where the person reads it.
    file = find_file(place, config)
    settings = load(file, options)
    if print_config:
        from holdfast.daemon.settings.sample import sample

        return Output(settings, lambda: output.put_lines(sample(settings)))
    refuse_exposed(place, file, settings.daemon.apps)
    place.create()
    refuse_exposed(place)  # Another user may have made it meanwhile.
    if detach:
        _start_in_background(place, _words(options, config), store, json=json)
        return None
    from holdfast.daemon.entry import run_daemon

    if log_file is None and sys.stderr.isatty():
        _greet(place)
    run_daemon(place, config=config, options=options, log_file=log_file)
    return None


def _warn_of_password(store: str) -> None:
    from holdfast.observe.redact import redacted_text

    if redacted_text(store) != store:
        say(
            "holdfast: whoever may list the processes of this machine can read the password in --store; "
            "HOLDFAST_STORE in the environment, or store in holdfast.toml, keeps it out of `ps`"
        )


def _absolute(name: str) -> str:
    """The path of an app as an absolute one: the workers may have another current folder."""
    path, colon, attribute = name.partition(":")
    return f"{Path(path).absolute()}{colon}{attribute}" if path.endswith(".py") else name


def _greet(place: Home) -> None:
    from holdfast.version import VERSION

    say(Coloured("holdfast", DIM), f" {VERSION}, home {place.folder}")
    say(Coloured("socket  ", DIM), f" {place.socket}")
    say(Coloured("try     ", DIM), " holdfast run --wait -- echo hello, in another terminal; Ctrl-C stops")


def _words(options: dict[str, Any], config: Path | None) -> list[str]:
    """The options for the process in the background. The store is left out: all users could read its password there."""
    names = {"daemon.workers": "--workers", "api.port": "--port"}
    names |= {"logs.format": "--log-format", "logs.level": "--log-level"}
    words = [f"{word}={options[name]}" for name, word in names.items() if options[name] is not None]
    words += [f"--app={name}" for name in options["daemon.apps"] or ()]
    return words if config is None else [*words, f"--config={config.absolute()}"]


def _start_in_background(place: Home, words: list[str], store: str | None, *, json: bool) -> None:
    if place.is_lived_in:
        pid = place.daemon_pid() or "unknown"
        raise Conflict(f"a daemon with pid {pid} lives in {place.folder} already; stop it with: holdfast down")
    from holdfast.daemon.settings.settings_file import STORE

    environment = {**os.environ, HOME: str(place.folder)} | ({} if store is None else {STORE: store})
    said = place.printed
    with open(said, "ab", opener=for_owner_alone) as printed:
        before = printed.tell()
        child = subprocess.Popen(
            # A file in the current folder must not replace a module of ours or of Python.
            [sys.executable, "-P", "-m", "holdfast.cli", "up", f"--log-file={place.log}", *words],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
            env=environment,
        )
    try:
        with ProgressBar("starting"):
            trouble = _wait_until_ready(place, child, said, before)
            late = _wait_for_workers() if trouble is None else []
            failed = _wait_for_apps() if trouble is None and not late else []
    except KeyboardInterrupt:
        child.terminate()
        raise
    Output(
        {"pid": child.pid, "home": str(place.folder), "socket": str(place.socket), "log": str(place.log)},
        f"holdfast is up: pid {child.pid}, home {place.folder}, log {place.log}",
    ).put(json=json)
    if trouble is not None:
        say(f"holdfast: but it can only read: {trouble}")
    for kept in late:
        log = place.log.with_name(f"worker-{kept.name}.log")
        if kept.last_end is None:
            say(f"holdfast: but worker {kept.name} has not begun after {FIRST_WORKERS_S:.0f} s; see {log}")
        else:
            say(f"holdfast: but worker {kept.name} {kept.end}; it is started again until it works; see {log}")
    for view in failed:
        why = f"{view.error_type}: {view.error_message}"
        say(f"holdfast: but app {view.app_key} failed: {why}; see holdfast apps show {view.app_key}")
    if failed or any(kept.last_words is not None for kept in late):
        raise SystemExit(1)


def _wait_until_ready(place: Home, child: subprocess.Popen[bytes], said: Path, before: int) -> str | None:
    """Wait until the daemon takes jobs, or answers but cannot write. Return why it cannot."""
    from holdfast.client.remote import Client
    from holdfast.wire.peer import Peer
    from holdfast.wire.transport import Transport

    until = time.monotonic() + START_S
    peer = Peer(Address(socket=str(place.socket), lock=str(place.lock)))
    peer.is_given_up = True  # Its calls do not wait, as this function decides that.
    transport, hf = Transport(peer), Client()
    while time.monotonic() < until:
        if child.poll() is not None:
            *_, last = ["", *said.read_bytes()[before:].decode("utf-8", "replace").splitlines()]
            told = last.removeprefix("holdfast: ") or f"it ended with code {child.returncode}; see {place.log}"
            raise HoldfastError(f"the daemon did not start: {told}")
        if place.daemon_pid() == child.pid and place.socket.exists():
            try:
                transport.call("GET", "/readyz")
                return None
            except NoDaemon:
                with suppress(NoDaemon):
                    if trouble := hf.daemon().trouble:
                        return trouble
        time.sleep(STEP_S)
    raise HoldfastError(f"the daemon is not ready after {START_S:.0f} s; see {place.log}")


def _wait_for_workers() -> list[PlaceStatus]:
    """Wait until each of the first workers has declared its tasks, or has ended. Return those that do not work.

    A worker is listed by the transaction that stores what it declares.
    """
    from holdfast.client.remote import Client

    hf, until = Client(), time.monotonic() + FIRST_WORKERS_S
    while True:
        daemon, workers = hf.daemon(), hf.workers()
        working = {worker.pid for worker in workers if worker.node == daemon.node}
        late = [kept for kept in daemon.workers if kept.pid not in working]
        if time.monotonic() > until or all(kept.last_end is not None for kept in late):
            return late
        time.sleep(STEP_S)


def _wait_for_apps() -> list[AppView]:
    """Wait until each app that a worker has taken runs, or has failed. Return those that failed.

    A worker takes its apps by the transaction that lists it.
    """
    from holdfast.client.remote import Client

    hf, until = Client(), time.monotonic() + FIRST_WORKERS_S
    while True:
        views = hf.apps()
        if time.monotonic() > until or not any(view.status == "starting" for view in views):
            return [view for view in views if view.status == "failed"]
        time.sleep(STEP_S)


def down(
    now: Annotated[bool, Option("--now", help="Wait for no job: those that run go back to their queues.")] = False,
    timeout: Annotated[str, Option(metavar="TIME", help="How long to wait for the end.")] = "10m",
) -> Output:
    """Stop the daemon in order.

    Short jobs may end; the others are asked to stop, and go back to their queues.

    \b
    Examples:
      holdfast down
      holdfast down --now
    """
    place = find_home()
    pid = _pid(place)
    limit = times.seconds("timeout", timeout) or 0.0
    going_on = _running_workspaces()
    with ProgressBar(f"stopping, pid {pid}"):
        _end(pid, now=now)
        until = time.monotonic() + limit
        while place.is_lived_in:
            if time.monotonic() > until:
                raise HoldfastError(f"the daemon (pid {pid}) has not stopped yet; to hurry it: holdfast down --now")
            time.sleep(STEP_S)
    value = {"pid": pid, "home": str(place.folder), "workspaces": [view.name for view in going_on]}
    lines = [f"workspace {view.name} goes on: {_where(view)}" for view in going_on]
    return Output(value, ["holdfast is down", *lines])


def _running_workspaces() -> list[WorkspaceView]:
    """The workspaces of this machine whose programs outlive the daemon. None if it does not tell soon."""
    from holdfast.client.remote import Client

    found: list[WorkspaceView] = []

    def ask() -> None:
        with suppress(HoldfastError):
            hf = Client()
            hf.engine.give_up()
            node = hf.engine.node
            found.extend(view for view in hf.workspaces() if view.node == node)

    # A daemon that hangs is stopped all the same.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ASK_S)
    return [view for view in list(found) if view.instance_ctx is not None and view.operation == "NONE"]


def _where(view: WorkspaceView) -> str:
    pid = "no pid" if view.instance_ctx is None else f"pid {view.instance_ctx.pid}"
    return pid if view.address is None else f"{pid} at {view.address}"


def _end(pid: int, *, now: bool) -> None:
    os.kill(pid, signal.SIGTERM)
    if now:
        # Another signal, because two of the same kind at once may arrive as one.
        time.sleep(0.05)
        os.kill(pid, signal.SIGINT)


def _pid(place: Home) -> int:
    """The pid of the daemon of a home. One that has only just begun tells it after a moment."""
    for _ in range(100):
        if not place.is_lived_in:
            raise NoDaemon(f"no daemon lives in {place.folder}")
        pid = place.daemon_pid()
        if pid is not None:
            return pid
        time.sleep(STEP_S)
    raise HoldfastError(f"{place.lock} is held, but does not say by which process; is another program using it?")
