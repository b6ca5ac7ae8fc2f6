"""A home folder with a short name, the daemons that live there one after another, and everybody around them."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from holdfast import Holdfast, JobHandle
from holdfast.runtime.clock import SystemClock
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.wire.home import HOME, Home
from holdfast.wire.places import occupant
from tests.chaos.processes import PATIENCE_S, ROOT, KnownProcess, kill, until
from tests.warm import Order, WarmCommand, surroundings, warm_process

APPS = Path(__file__).parent / "programs"
SIDE = "HOLDFAST_TEST_SIDE"

Child: TypeAlias = subprocess.Popen[bytes] | WarmCommand


class Process:
    """A process that a test began; what it says goes to a file."""

    def __init__(
        self, house: House, begin: Callable[[dict[str, str], IO[bytes]], Child], env: dict[str, str] | None = None
    ) -> None:
        self.log = house.side / f"said-{len(house.processes)}.log"
        environment = {**surroundings(), HOME: str(house.home.folder), SIDE: str(house.side), "PYTHONPATH": str(ROOT)}
        with self.log.open("ab") as said:
            self._child = begin(environment | (env or {}), said)
        house.processes.append(self)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def said(self) -> str:
        """All that it wrote."""
        return self.log.read_text(errors="replace")

    def lines(self) -> list[dict[str, Any]]:
        """The lines of its log. One that it is just writing has no end yet."""
        return [msgspec.json.decode(line) for line in self.said().split("\n")[:-1] if line.startswith("{")]

    def events(self) -> list[str]:
        """What its lines call what happened."""
        return [line.get("event", "") for line in self.lines()]

    def has_found_hung(self, pid: int) -> bool:
        """Whether this daemon has said of a worker that it hangs. On a busy machine it may say so of others."""
        hung = (line["message"] for line in self.lines() if line.get("event") == "worker_hung")
        return any(f"worker with pid {pid} " in message for message in hung)

    def send(self, number: int) -> None:
        """Send a signal."""
        self._child.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until the kernel has let go of it."""
        self._child.kill()
        self._child.wait()

    def wait(self) -> int:
        """The exit code."""
        try:
            return self._child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended; it said:\n{self.said()}") from None

    def end_well(self) -> None:
        """Wait until it ends, with exit code 0."""
        code = self.wait()
        assert code == 0, f"it ended with {code}; it said:\n{self.said()}"


class House:
    """One home. Whoever still lives in it when the test is over is killed."""

    def __init__(self, folder: Path, side: Path) -> None:
        self.home = Home(folder)
        self.side = side
        self.processes: list[Process] = []
        self.clients: list[Holdfast] = []

    def settings(self, text: str) -> None:
        """Write the settings of the daemons to come. Unless they say otherwise, they send no canaries."""
        self.home.folder.mkdir(exist_ok=True, mode=0o700)
        quiet = "" if "[observe]" in text else "\n[observe]\ncanary_every = 0\n"
        self.home.settings.write_text(text + quiet)

    def start(self, *words: str, env: dict[str, str] | None = None) -> Process:
        """Start a program."""

        def begin(environment: dict[str, str], said: IO[bytes]) -> Child:
            # A session of its own: a test that is interrupted by hand still cleans up by itself.
            return subprocess.Popen(words, cwd=ROOT, stdout=said, stderr=said, env=environment, start_new_session=True)

        return Process(self, begin, env)

    def python(self, *words: str, env: dict[str, str] | None = None) -> Process:
        """Start a program in Python."""
        return self.start(sys.executable, *words, env=env)

    def run(self, *words: str, env: dict[str, str] | None = None) -> Process:
        """Start a command of the command line."""
        return self.python("-m", "holdfast.cli", *words, env=env)

    def begin(self, *words: str, app: str | None = None, env: dict[str, str] | None = None) -> Process:
        """Start a daemon, with the code of one of our programs in its workers.

        One that has an environment of its own is started as a program: some variables count at the start alone.
        """
        if not self.home.settings.exists():
            self.settings("")
        code = () if app is None else ("--app", f"{APPS / app}.py")
        if env is not None:
            return self.run("up", *code, *words, env=env)

        def begin(environment: dict[str, str], said: IO[bytes]) -> Child:
            with open(os.devnull, "rb") as nothing:
                return warm_process().begin(Order(["up", *code, *words], environment), nothing, said, said)

        return Process(self, begin)

    def up(self, *words: str, app: str | None = None, env: dict[str, str] | None = None) -> Process:
        """The same, and wait until it is ready."""
        daemon = self.begin(*words, app=app, env=env)
        until(lambda: self.is_ready or not daemon.is_running, "the daemon is ready")
        assert daemon.is_running, f"it ended with {daemon.wait()}; it said:\n{daemon.said()}"
        return daemon

    def down(self, daemon: Process) -> None:
        """Stop it in order."""
        daemon.send(signal.SIGTERM)
        daemon.end_well()

    @property
    def is_ready(self) -> bool:
        """Whether a daemon here says that it is ready."""
        return self.ask("GET", "/readyz")[0] == 200

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One call with nothing of ours in between: the status, 0 if nobody answers, and what came back."""
        with suppress(OSError, http.client.HTTPException), self.connection() as connection:
            connection.request(method, path, None if body is None else msgspec.json.encode(body))
            response = connection.getresponse()
            content = response.read()
            is_json = "json" in (response.getheader("content-type") or "")
            return response.status, msgspec.json.decode(content) if is_json else content
        return 0, None

    def await_metrics(self, *lines: str) -> None:
        """Wait until the metrics have these lines. What a write did is counted after its caller has the answer."""
        wanted = set(lines)
        until(lambda: wanted <= {*self.ask("GET", "/metrics")[1].decode().splitlines()}, f"the metrics say {lines}")

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        """A connection to the socket."""
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE_S)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(PATIENCE_S)
        try:
            connection.sock.connect(str(self.home.socket))
            yield connection
        finally:
            connection.close()

    def client(self, **options: Any) -> Holdfast:
        """The SDK, as a client of the daemon here."""
        before = os.environ.get(HOME)
        os.environ[HOME] = str(self.home.folder)
        try:
            client = Holdfast(**options)
        finally:
            os.environ.pop(HOME) if before is None else os.environ.update({HOME: before})
        self.clients.append(client)
        return client

    def enqueue(self, task: str, payload: dict[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        """A job of a task that this process does not know."""
        return self.client().enqueue(task, payload, **options)

    def worker(self, place: str = "app-1") -> KnownProcess:
        """The process that is in a place, once there is one."""
        found = until(lambda: self.occupant(place), f"there is a worker in {place}")
        assert found is not None
        return found

    def occupant(self, place: str) -> KnownProcess | None:
        """The process that is in a place now."""
        there = occupant(self.home, place)
        return None if there is None else KnownProcess.of(there.pid)

    @contextmanager
    def store(self) -> Iterator[SqliteEngine]:
        """The database, past every daemon."""
        engine = SqliteEngine(self.home.database, durability="normal", now=SystemClock().now)
        try:
            yield engine
        finally:
            engine.close()

    def everybody(self) -> list[KnownProcess]:
        """Every process that belongs here, whoever started it."""
        mine = f"{HOME}={self.home.folder}".encode()
        others = (KnownProcess.of(int(name)) for name in os.listdir("/proc") if name.isdigit())
        # The kernel shows the environment that a program was started with, and daemons are forked.
        begun = {process.pid for process in self.processes if process.is_running}
        found = [
            one for one in others if one.pid != os.getpid() and (one.pid in begun or mine in _environment(one.pid))
        ]
        # Those who live still had their pids while we read.
        return [process for process in found if process.is_alive]

    def clear(self) -> None:
        """Leave nobody and nothing behind. What they said is shown if the test fails."""
        for number, process in enumerate(self.processes):
            print(f"--- process {number} said:\n{process.said()[-3000:]}")
        for client in self.clients:
            client._access.engine.close()
        # Those whom the first ones start meanwhile are found by the next look.
        while living := self.everybody():
            kill(*living)
            for process in self.processes:
                process._child.poll()
        for process in self.processes:
            process._child.wait(PATIENCE_S)
        shutil.rmtree(self.home.folder, ignore_errors=True)


@contextmanager
def inhabited(side: Path, settings: str = "", *words: str, app: str | None = None) -> Iterator[House]:
    """A home with one daemon, for tests that neither end nor change it.

    They use names of their own, so that none sees the jobs of another. When they are over, the daemon ends in order
    and the doctor finds nothing.
    """
    with short_folder() as folder:
        house = House(folder / "home", side)
        house.settings(settings)
        try:
            daemon = house.up(*words, app=app)
            yield house
            house.down(daemon)
            with house.store() as engine:
                assert examine(engine) == []
        finally:
            house.clear()


@contextmanager
def two_houses(side: Path, settings: str) -> Iterator[tuple[House, House]]:
    """Two homes with the same settings."""
    with short_folder() as folder:
        pair = House(folder / "a", side), House(folder / "b", side)
        for house in pair:
            house.settings(settings)
        try:
            yield pair
        finally:
            for house in pair:
                house.clear()


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose name leaves room for a socket's."""
    folder = Path(tempfile.mkdtemp(prefix="hf-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
