"""Runs one contestant on a fresh store: its driver, and one worker beside it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from msgspec import Struct

from bench.peers.environments import Unavailable, last_line, python_of
from bench.peers.marks import LOOK_SECONDS, Marks
from bench.peers.roster import Entry
from bench.peers.stores import fresh_store
from bench.table import Place

ROOT = Path(__file__).parents[2]
READY_SECONDS = 30
LOOK_AT_WORKER_SECONDS = 0.2
STOP_SECONDS = 10


class Figures(Struct):
    """What one run of one contestant gave; all in seconds."""

    drain: float
    mixed: float
    enqueues: list[float]
    pickups: list[float]


def run(entry: Entry, place: Place) -> Figures:
    """Every figure of one contestant once. Unavailable says why there is none."""
    python = python_of(entry.environment)
    with fresh_store(entry.store, place) as store:
        bench = _Bench(entry, python, store, place.folder)
        bench.prepare()
        drain = bench.drain()
        mixed = bench.mixed()
    return Figures(**drain, **mixed)


class _Bench:
    """The processes of one contestant, which share a store and, for each figure, a file of marks."""

    def __init__(self, entry: Entry, python: str, store: str, folder: Path) -> None:
        self._entry = entry
        self._python = python
        self._folder = folder
        self._environment = os.environ | {
            "PEER_STORE": store,
            "PEER_VARIANT": entry.variant,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def prepare(self) -> None:
        with self._process("prepare", self._new_marks()) as process:
            code = process.wait()
            if code != 0:
                raise Unavailable(f"its set-up ended with code {code}: {_last_word(process)}")

    def drain(self) -> dict[str, Any]:
        marks = self._new_marks()
        with self._process("drain", marks) as driver:
            _answer(driver)
            with self._process("work", marks) as worker:
                return _answer(driver, worker)

    def mixed(self) -> dict[str, Any]:
        marks = self._new_marks()
        with self._process("work", marks) as worker:
            _await_ready(Marks(marks), worker)
            with self._process("mixed", marks) as driver:
                return _answer(driver, worker)

    def _new_marks(self) -> str:
        path = str(self._folder / f"{uuid4().hex}.marks")
        Marks.create(path, self._entry.jobs)
        return path

    @contextmanager
    def _process(self, role: str, marks: str) -> Iterator[_Process]:
        with (self._folder / f"{uuid4().hex}.log").open("w+") as said:
            process = _Process(
                [self._python, "-m", f"bench.peers.contestants.{self._entry.driver}", role, str(self._entry.jobs)],
                env=self._environment | {"PEER_MARKS": marks},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                # Ctrl-C must reach the benchmark, which then ends the others in order.
                start_new_session=True,
            )
            process.said = said
            try:
                yield process
            finally:
                _end(process)


class _Process(subprocess.Popen[str]):
    """A process, and the file in which it complains."""

    said: IO[str]


def _answer(driver: _Process, worker: _Process | None = None) -> dict[str, Any]:
    """The driver's next line; a worker that ends meanwhile would let it wait for nothing."""
    assert driver.stdout
    while not select.select([driver.stdout], [], [], LOOK_AT_WORKER_SECONDS)[0]:
        if worker is not None and worker.poll() is not None:
            raise Unavailable(f"its worker ended with code {worker.returncode}: {_last_word(worker)}")
    line = driver.stdout.readline()
    if not line:
        raise Unavailable(f"its driver ended: {_last_word(driver)}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _await_ready(marks: Marks, worker: _Process) -> None:
    until = time.monotonic() + READY_SECONDS
    while not marks.ready_at():
        if worker.poll() is not None:
            raise Unavailable(f"its worker ended with code {worker.returncode}: {_last_word(worker)}")
        if time.monotonic() > until:
            raise Unavailable(f"its worker was not ready after {READY_SECONDS} s")
        time.sleep(LOOK_SECONDS)


def _last_word(process: _Process) -> str:
    process.said.seek(0)
    return last_line(process.said.read())


def _end(process: _Process) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.stdout:
        process.stdout.close()
