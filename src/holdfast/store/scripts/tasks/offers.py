"""Which tasks and queues each living worker offers, and what it would claim now."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.requests import ANY_QUEUE, ClaimRequest, QueueSlots
from holdfast.core.jobs.stored_job import Job
from holdfast.core.machine.maintenance import MAINTENANCE
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class OfferRow(Struct, frozen=True):
    """A living worker; `node` is the id of its machine."""

    session_id: str
    node: str
    node_name: str
    tasks: str
    queues: str
    slots: int
    running: int
    runs_alone: JobId | None
    pulls_at: Millis | None

    def offers(self, task: str) -> bool:
        """Whether it takes jobs of this task."""
        return task in msgspec.json.decode(self.tasks)

    def serves(self, queue: str, task: str) -> bool:
        """Whether it takes jobs of this task from this queue."""
        if queue in msgspec.json.decode(self.queues):
            return self.offers(task)
        return ANY_QUEUE in msgspec.json.decode(self.queues) and task in self.wild_tasks

    @property
    def wild_tasks(self) -> tuple[str, ...]:
        """The tasks that it takes from queues that it does not name."""
        tasks = msgspec.json.decode(self.tasks)
        return tuple(task for task in tasks if not isinstance(tasks, dict) or tasks[task])

    def slots_for(self, tx: Tx, job: Job) -> WorkerSlots:
        """What it would claim now, and its slots for the queue of the job."""
        queues = msgspec.json.decode(self.queues)
        if isinstance(queues, dict):
            slots, free = queues, dict(queues)
            for row in tx.all(sql.running_by_queue, RunningInQueue, session_id=self.session_id):
                # Every queue that is not named shares the slots of `*`.
                name = row.queue if row.queue in queues else ANY_QUEUE
                free[name] = free.get(name, 0) - row.running
            left = sum(max(0, count) for count in free.values())
        else:
            left = max(0, self.slots - self.running)
            slots, free = dict.fromkeys(queues, self.slots), dict.fromkeys(queues, left)
        request = ClaimRequest(
            session_id=self.session_id,
            slots=left,
            queues=tuple(QueueSlots(queue, max(0, free[queue])) for queue in queues),
            tasks=tuple(msgspec.json.decode(self.tasks)),
            wild_tasks=self.wild_tasks,
        )
        lane = job.queue if job.queue in queues else ANY_QUEUE
        return WorkerSlots(request, slots[lane], max(0, free[lane]))


class WorkerSlots(Struct, frozen=True):
    """What a worker would claim, and its slots for the queue of a job."""

    request: ClaimRequest
    slots: int
    free: int


class RunningInQueue(Struct, frozen=True):
    """A row of `running_by_queue`."""

    queue: str
    running: int


def living_workers(tx: Tx) -> list[OfferRow]:
    """All workers that claim, in the order in which they came."""
    return tx.all(sql.offers, OfferRow)


def claimers_of(tx: Tx, job: Job) -> list[OfferRow]:
    """All that claim such jobs: the workers. For maintenance, the programs that have the database open."""
    if job.queue != MAINTENANCE:
        return living_workers(tx)
    tasks, queues = (msgspec.json.encode([name]).decode() for name in (job.task, job.queue))
    return tx.all(sql.maintainers, OfferRow, tasks=tasks, queues=queues, queue=job.queue)
