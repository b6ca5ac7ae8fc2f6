"""Who offers to run what, as the claim and `why` see it: every living worker, and what it would ask for now."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.job import Job, JobId, Millis
from holdfast.core.maintenance import MAINTENANCE
from holdfast.core.requests import ANY_QUEUE, ClaimRequest, QueueSlots
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
        """Whether it would take a job of this task from some queue."""
        return task in msgspec.json.decode(self.tasks)

    def serves(self, queue: str, task: str) -> bool:
        """Whether it would take a job of this task from this queue."""
        if queue in msgspec.json.decode(self.queues):
            return self.offers(task)
        return ANY_QUEUE in msgspec.json.decode(self.queues) and task in self.wild_tasks

    @property
    def wild_tasks(self) -> tuple[str, ...]:
        """What it takes from queues that it does not name."""
        tasks = msgspec.json.decode(self.tasks)
        return tuple(task for task in tasks if not isinstance(tasks, dict) or tasks[task])

    def room_for(self, tx: Tx, job: Job) -> Room:
        """What it would ask for now, and which of its slots the job would take one of."""
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
        return Room(request, slots[lane], max(0, free[lane]))


class Room(Struct, frozen=True):
    """What a worker would ask for, and its slots that a certain job would take one of."""

    request: ClaimRequest
    slots: int
    free: int


class RunningInQueue(Struct, frozen=True):
    """A row of `running_by_queue`."""

    queue: str
    running: int


def living_workers(tx: Tx) -> list[OfferRow]:
    """Everybody who claims, in the order in which they came."""
    return tx.all(sql.offers, OfferRow)


def claimers_of(tx: Tx, job: Job) -> list[OfferRow]:
    """Everybody who claims such jobs: the workers; for a chore of the database, the programs that have it open."""
    if job.queue != MAINTENANCE:
        return living_workers(tx)
    tasks, queues = (msgspec.json.encode([name]).decode() for name in (job.task, job.queue))
    return tx.all(sql.maintainers, OfferRow, tasks=tasks, queues=queues, queue=job.queue)
