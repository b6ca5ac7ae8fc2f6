"""The runs that a worker holds, the slots that they take, and so the jobs that it can ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.core.job import RunId, SessionId
from holdfast.core.jobs.requests import ANY_QUEUE, Claimed, ClaimRequest, QueueSlots, Report
from holdfast.store.engine import Changes
from holdfast.tasks.spec import TaskSpec


class Holdings:
    """The runs that are held here, and how many more of each queue may be.

    `share` is how many jobs it asks for at once. If that is less than all slots, some run while others are fetched.
    """

    def __init__(
        self,
        session_id: SessionId,
        worker_id: str,
        specs: Mapping[str, TaskSpec],
        slots: Mapping[str, int],
        share: int | None = None,
        secret: str | None = None,
    ) -> None:
        self._session_id = session_id
        self._secret = secret
        self._worker_id = worker_id
        self._tasks = tuple(specs)
        self._wild_tasks = wild_tasks(specs)
        self._served = frozenset(specs)
        self._roaming = self._served if self._wild_tasks is None else frozenset(self._wild_tasks)
        self._running = dict.fromkeys(slots, 0)
        self.slots = dict(slots)
        self.share = sum(slots.values()) if share is None else share
        self.runs: dict[RunId, Claimed] = {}

    def hold(self, claimed: Sequence[Claimed]) -> None:
        """Count a slot for each of these runs."""
        for run in claimed:
            self.runs[run.run_id] = run
            self._running[self._lane(run)] += 1

    def let_go(self, run_id: RunId) -> None:
        """Free the slot of this run, if it has one."""
        run = self.runs.pop(run_id, None)
        if run is not None:
            self._running[self._lane(run)] -= 1

    def request(self, reports: Sequence[Report], *, claims: bool) -> ClaimRequest:
        """The request for the slots that are free once these reports are written. Without `claims`, for no job."""
        free = {queue: slots - self._running[queue] for queue, slots in self.slots.items()}
        for report in reports:
            if report.run_id in self.runs:
                free[self._lane(self.runs[report.run_id])] += 1
        # If it takes jobs of all other queues too, full queues are named as well, so that they do not count as others.
        queues = tuple(
            QueueSlots(queue, max(0, slots)) for queue, slots in free.items() if slots > 0 or ANY_QUEUE in free
        )
        slots = min(self.share, sum(item.slots for item in queues)) if claims else 0
        return ClaimRequest(
            session_id=self._session_id,
            worker_id=self._worker_id,
            slots=slots,
            queues=queues,
            tasks=self._tasks,
            wild_tasks=self._wild_tasks,
            secret=self._secret,
        )

    def names_a_queue_of(self, changes: Changes) -> bool:
        """Whether a queue with slots of its own here has got something that this worker may start."""
        return not changes.ready.isdisjoint(self.slots) or any(
            queue in self.slots and not self._served.isdisjoint(tasks) for queue, tasks in changes.new.items()
        )

    def may_roam_for(self, changes: Changes) -> bool:
        """Whether this worker takes jobs of all other queues too, and one of these has got something for it."""
        if ANY_QUEUE not in self.slots:
            return False
        return bool(changes.ready) or any(not self._roaming.isdisjoint(tasks) for tasks in changes.new.values())

    def _lane(self, run: Claimed) -> str:
        """The queue whose slot a run takes."""
        return run.queue if run.queue in self.slots else ANY_QUEUE


def wild_tasks(specs: Mapping[str, TaskSpec]) -> tuple[str, ...] | None:
    """The tasks that are taken from queues that are not named. None: all of them."""
    roaming = tuple(name for name, spec in specs.items() if spec.roams)
    return None if len(roaming) == len(specs) else roaming
