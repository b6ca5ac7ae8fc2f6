"""What a besieged program does with time and events: it waits for them, makes them, and notes both.

`awaits` is noted when the job is stored, `emitting` before an event is asked for and `emitted` when it is stored: an
event that was asked for later than a job was stored must reach it.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from holdfast import Conflict, Holdfast, HoldfastError
from tests.chaos.journal import Journal

NAMES = ("siege:build", "siege:deploy")
BRANCHES = ("main", "dev")
ANY = "-"
EACH_SECOND = "* * * * * *"
SCHEDULES = {"siege-all": ("all", "allow"), "siege-latest": ("latest", "skip"), "siege-newest": ("skip", "supersede")}


class Happenings:
    """Those of one program."""

    def __init__(self, hf: Holdfast, journal: Journal, rng: Random) -> None:
        self._hf = hf
        self._journal = journal
        self._rng = rng

    def await_one(self, task: Any, **arguments: Any) -> None:
        """A job that waits for an event, of any branch or of one."""
        name, branch = self._rng.choice(NAMES), self._rng.choice((*BRANCHES, ANY))
        where = {} if branch == ANY else {"where": {"branch": branch}}
        handle = task.options(on_event=name, **where).enqueue(**arguments)
        self._journal.note("acked", handle.id)
        self._journal.note("awaits", handle.id, name, branch)

    def emit(self) -> None:
        """One event."""
        self._emit(self._rng.choice(NAMES), self._rng.choice(BRANCHES))

    def emit_all(self) -> None:
        """Every event once more, until each is acknowledged, so that nobody is left waiting."""
        for name in NAMES:
            for branch in BRANCHES:
                while not self._is_emitted(name, branch):
                    pass

    def put_schedules(self, task: Any, **payload: Any) -> None:
        """One of each kind, every second; whoever comes second finds them there."""
        for name, (misfire, overlap) in SCHEDULES.items():
            with suppress(Conflict):
                self._hf.create_schedule(
                    name, cron=EACH_SECOND, task=task, payload=payload, misfire=misfire, overlap=overlap
                )
                self._journal.note("scheduled", name)

    def pause_schedules(self) -> None:
        """No more ticks."""
        for schedule in self._hf.schedules():
            self._hf.schedule(schedule.name).pause()

    def _is_emitted(self, name: str, branch: str) -> bool:
        try:
            self._emit(name, branch)
        except HoldfastError as error:
            self._journal.note("refused", error.code)
            return False
        return True

    def _emit(self, name: str, branch: str) -> None:
        self._journal.note("emitting", name, branch)
        event = self._hf.emit(name, branch=branch)
        self._journal.note("emitted", event.id, name, branch)
