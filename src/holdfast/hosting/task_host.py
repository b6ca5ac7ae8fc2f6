"""The tasks that this process offers to run, and how it runs them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from holdfast.apps.app import App
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import ANY_QUEUE, COMMAND
from holdfast.core.machine.maintenance import WEEK_MS, KeepTimes
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import TIMEOUT_MS, WEBHOOK, WEBHOOK_QUEUE
from holdfast.hosting.declarations import Declarations
from holdfast.hosting.host_settings import HostSettings
from holdfast.hosting.running import A, RunsJobs
from holdfast.hosting.work_session import MakePart, WorkSession
from holdfast.runtime.machine.simulated import SimulatedMachine
from holdfast.store.forks import forget_after_fork
from holdfast.tasks.isolation import refuse_while_loading
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.builtin import command
from holdfast.workers.builtin.webhook import Deliverer

DEFAULT_SLOTS = 10
USUAL_TIMES = KeepTimes(WEEK_MS)


class TaskHost(RunsJobs[A]):
    """The tasks of a program, and the database whose jobs they are for.

    `slots` is how many jobs of each queue run at once: a number, or one for each queue by name. With `commands`, what
    was enqueued as a command runs here too. `declarations` are the schedules of its code, `tasks` those that need no
    decorator.
    """

    def __init__(
        self,
        access: A,
        slots: int | dict[str, int],
        *,
        commands: bool,
        declarations: Declarations,
        tasks: Mapping[str, TaskSpec] = MappingProxyType({}),
        keep: KeepTimes = USUAL_TIMES,
        machine: SimulatedMachine | None = None,
    ) -> None:
        super().__init__(access)
        self._concurrency = slots
        self._keep = keep
        self._machine = machine
        self._declarations = declarations
        self._specs = dict(tasks)
        self._apps: dict[str, type[App]] = {}
        self._more_parts: list[MakePart] = []
        self._built_in = {COMMAND: command.SPEC} if commands else {}
        self._close = weakref.finalize(self, access.engine.close)
        forget_after_fork(self)

    def _add_part(self, make: MakePart) -> None:
        """Have another part live in each session."""
        self._more_parts.append(make)

    def _configure(self, settings: HostSettings) -> None:
        """Run jobs by these settings from the next start on."""
        self._settings = settings
        if settings.concurrency is not None:
            self._concurrency = settings.concurrency

    def _deliver_webhooks(self, targets: AddressPolicy, timeout_ms: Millis = TIMEOUT_MS) -> None:
        """Run the deliveries of webhooks here too."""
        access = self._access
        self._built_in[WEBHOOK] = Deliverer(access.engine, access.clock, targets, timeout_ms).spec

    def _adopt(self, other: TaskHost[Any], who: str) -> None:
        """Run the tasks and apps of other code here too. `who` names both in the error if both have one."""
        twice = sorted(self._specs.keys() & other._specs.keys())
        if twice:
            raise InvalidInput(f"{who} both have a task {twice[0]!r}; give one of them another name=")
        twice = sorted(self._apps.keys() & other._apps.keys())
        if twice:
            raise InvalidInput(f"{who} both have an app {twice[0]!r}; give one of them another key")
        self._specs |= other._specs
        self._apps |= other._apps
        self._declarations.adopt(other._declarations, who)

    def _make_session(self, on_lost: Callable[[], None]) -> WorkSession:
        refuse_while_loading("running jobs")
        return WorkSession(
            self._access,
            self._specs | self._built_in,
            self._slots(),
            self._keep,
            on_lost,
            self._settings.log,
            self._declarations,
            kept=self._settings.kept,
            is_guest=not self._is_for_jobs,
            machine=self._machine,
            apps=self._apps,
            more_parts=self._more_parts,
        )

    def _slots(self) -> dict[str, int]:
        queues = {spec.queue for spec in self._specs.values()}
        if isinstance(self._concurrency, int) or ANY_QUEUE not in self._concurrency:
            queues |= {spec.queue for spec in self._built_in.values()}
        if WEBHOOK in self._built_in:
            queues.add(WEBHOOK_QUEUE)
        if isinstance(self._concurrency, int):
            return dict.fromkeys(sorted(queues), self._concurrency)
        return {queue: self._concurrency.get(queue, DEFAULT_SLOTS) for queue in sorted(queues | set(self._concurrency))}
