"""The tasks that a transaction names, each read once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidPayload, UnknownTask
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import COMMAND, OF_COMMANDS, NewJob
from holdfast.core.tasks.command import check_command
from holdfast.core.tasks.task import TaskOptions, with_options
from holdfast.core.values.arguments import misfit
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

NOTHING_SAID = TaskOptions()
COMMAND_SAID = TaskOptions(**OF_COMMANDS)
MOST_NAMES = 10_000


class Version(Struct, frozen=True, gc=False):
    """A version of a task, as it is stored."""

    options: str
    arguments: str
    live_since: int


class Tasks:
    """The tasks that new jobs name.

    `checks`: refuse arguments that do not fit, as a caller is there to hear it. `must_exist`: refuse an unknown task.
    """

    def __init__(self, tx: Tx, *, checks: bool = False, must_exist: bool = False) -> None:
        self._tx = tx
        self._checks = checks
        self._must_exist = must_exist
        self._newest: dict[str, Version | None] = {}
        self._known: dict[str, bool] = {}

    def learn(self, task: str, *, known: bool) -> None:
        """Remember whether a worker has declared a task."""
        self._known[task] = known

    def knows(self, job: NewJob) -> bool:
        """Whether a worker has declared the task of a job. Commands and the system's own tasks are always known."""
        task = job.task
        if task not in self._known:
            self._known[task] = self._find(task) is not None
        return self._known[task] or task == COMMAND or requests.is_system_queue(job.line[0])

    def resolve(self, job: NewJob) -> NewJob:
        """The job, with its open options as its task declares them. Raise why there can be no such job."""
        if self._must_exist and not self.knows(job):
            raise unknown_task(self._tx, job.task)
        if job.complete:
            return job
        options, arguments = self._declared(job.task)
        if self._checks and arguments:
            self.check(job.task, msgspec.json.decode(job.payload))
        return with_options(job, options, arguments, any_subject=not self._checks)

    def options_of(self, task: str) -> TaskOptions:
        """The options that a task declares. An unknown task has none."""
        options, _ = self._declared(task)
        return options

    def _declared(self, task: str) -> tuple[TaskOptions, dict[str, Any]]:
        return (COMMAND_SAID, {}) if task == COMMAND else _read(self._find(task))

    def _find(self, task: str) -> Version | None:
        if task not in self._newest:
            self._newest[task] = self._tx.one(sql.newest_version, Version, task=task)
        return self._newest[task]

    def check(self, task: str, arguments: Mapping[str, Any], *, in_part: bool = False) -> None:
        """InvalidPayload, if no living version takes these arguments. `in_part`: others may be added to them."""
        _, newest = _read(self._find(task))
        trouble = misfit(newest, arguments, in_part=in_part)
        if trouble is None:
            return
        versions = self._tx.all(sql.task_schemas, Version, task=task)
        live = [version for version in versions if version.live_since] or versions
        if all(misfit(_read(version)[1], arguments, in_part=in_part) for version in live):
            raise InvalidPayload(f"the payload does not fit task {task!r}: {trouble}")


def is_known(tx: Tx, task: str) -> bool:
    """Whether a worker has declared a task lately, or every worker has it."""
    return task == COMMAND or tx.one(sql.newest_version, Version, task=task) is not None


def check_request(
    tx: Tx, task: str, arguments: Mapping[str, Any], *, must_exist: bool = False, in_part: bool = False
) -> None:
    """Refuse what is to be stored and can never run: its task is unknown, or takes no such arguments."""
    if must_exist and not is_known(tx, task):
        raise unknown_task(tx, task)
    if task == COMMAND:
        check_command(arguments, in_part=in_part)
    Tasks(tx).check(task, arguments, in_part=in_part)


def unknown_task(tx: Tx, name: str) -> UnknownTask:
    """The error that a task is unknown, with the nearest name."""
    names = known_names(tx)
    if not names:
        return UnknownTask(f"there is no task {name!r} (no worker has declared any task yet)")
    nearest = nearest_name(name, names)
    hint = f"did you mean {nearest!r}?" if nearest else "holdfast tasks lists those there are"
    return UnknownTask(f"there is no task {name!r} ({hint})")


def known_names(tx: Tx) -> list[str]:
    """The names of the tasks that workers have declared lately."""
    return [row["task"] for row in tx.rows(sql.task_names, limit=MOST_NAMES)]


def nearest_name(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(difflib.get_close_matches(name, names, 1)), None)


@lru_cache(maxsize=256)
def _read(version: Version | None) -> tuple[TaskOptions, dict[str, Any]]:
    """The options and arguments of a version. Cached: there are few versions, and each is read often."""
    if version is None:
        return NOTHING_SAID, {}
    return decode(version.options, TaskOptions), msgspec.json.decode(version.arguments)
