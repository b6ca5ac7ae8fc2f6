"""What happens in a simulated world: people and programs that ask for work, and a machine with a will of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core.errors import Busy, Conflict, NotFound, QueueFull, StoreBusy, StoreFull
from holdfast.core.gates.pressure import REFUSAL_MS
from holdfast.core.gates.queue import Overflow, QueueClass
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings.queue_changes import QueueChanges, QueueSetting
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.jobs import reorder
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.machines.tokens import note_tokens, set_tokens
from holdfast.store.scripts.queues.queues import pause, resume, set_queue
from holdfast.store.scripts.queues.reserve import release, reserve
from holdfast.store.scripts.queues.tenants import note_activity, set_weight
from holdfast.store.scripts.schedules.schedules import pause_schedule, put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.statements import Dialect
from tests.model.observe import statement
from tests.simulation.hardware import Hardware
from tests.simulation.jobs import QUEUES, TASKS, TENANTS, USUAL_TOKENS, any_job, plain_job
from tests.simulation.keeper import Keeper
from tests.simulation.ledger import Ledger
from tests.simulation.worker import Worker
from tests.simulation.world import DAY, HOUR, MINUTE, SECOND, Place, World

NODES = ("laptop", "server")
SCHEDULES = {
    "often": ("*/10 * * * *", Misfire.LATEST, Overlap.SKIP),
    "hourly": ("0 * * * *", Misfire.ALL, Overlap.ALLOW),
}

LIVE = statement("SELECT id, state FROM jobs WHERE finished_at IS NULL ORDER BY number")
REFUSING = statement(
    "SELECT node, refuses FROM machines WHERE refuses_until > :now AND refuses_until <= :latest AND :counts = 1"
)


class Life:
    """One world with everybody in it. `busyness` is how many requests come in an hour.

    `looks_closely`: everybody is looked at after each event; otherwise some are, by chance.
    """

    def __init__(self, place: Place, seed: int, busyness: int = 100, *, looks_closely: bool = False) -> None:
        self.world = World(place, seed)
        self.random = self.world.random
        self.ledger = Ledger(self.world, looks_closely=looks_closely)
        self.busyness = busyness
        self.is_over = False
        self._set_up()

    def live(self, length: Millis) -> None:
        """Let a time pass in which everything may happen, then an end to all of it, and see that nothing is left."""
        try:
            self._live(length)
        except Exception as error:
            error.add_note("\n".join(("what happened last:", *self.world.diary)))
            raise

    def _live(self, length: Millis) -> None:
        for _ in self.world.steps(length):
            self.ledger.look()
        self.calm_down()
        for _ in self.world.steps(length + 2 * DAY):
            self.ledger.look()
        left = self.ledger.rows(LIVE)
        assert left == [], f"nothing is in the way of these any more, but they did not end: {left[:5]}"

    def _set_up(self) -> None:
        world = self.world
        rate = QueueChanges(rate_limit=5, rate_window_ms=MINUTE)
        for name, changes in {
            "heavy": QueueChanges(concurrency=2, queue_class=QueueClass.HEAVY),
            "light": QueueChanges(queue_class=QueueClass.LIGHT),
            "paced": rate,
            "short": QueueChanges(max_length=12),
            "shedding": QueueChanges(max_length=8, overflow=Overflow.SHED, concurrency=1),
        }.items():
            world.call(set_queue, name, changes)
        world.call(set_weight, "ann", 100)
        self.machines = [Hardware(world, node, has_battery=node == "laptop") for node in NODES]
        for node in NODES:
            world.call(note_tokens, node, TokenSetting(tokens=USUAL_TOKENS), True, world.now)
        world.call(put_template, NewTemplate(id="t1", name="tidy", task="index", queue="nightly"), world.now)
        for name, (cron, misfire, overlap) in SCHEDULES.items():
            schedule = NewSchedule(id=name, name=name, template="tidy", cron=cron, misfire=misfire, overlap=overlap)
            world.call(put_schedule, schedule, world.now)
        named = {"default": 2, "shared": 2, "heavy": 2, "paced": 2, "nightly": 1}
        self.ledger.workers += [
            Worker(world, self.ledger, "app-1", "laptop", named, TASKS),
            Worker(world, self.ledger, "app-2", "laptop", {"*": 3, "shared": 1}, TASKS),
            Worker(world, self.ledger, "far-1", "server", {"*": 2, "heavy": 1}, ("index", "build")),
        ]
        self.keeper = self.ledger.keeper = Keeper(world, self.ledger, "server")
        for action, often in (
            (self.ask, HOUR / self.busyness),
            (self.flood, 2 * HOUR),
            (self.meddle, 10 * MINUTE),
            (self.crash, 2 * HOUR),
            (self.stop, 5 * HOUR),
            (self.change_machine, 15 * MINUTE),
            (self.drain, 10 * MINUTE),
            (self.change_tokens, 4 * HOUR),
            (self.break_something, 4 * HOUR),
            (self.reserve, 3 * HOUR),
            (self.keeper.plan, 10 * MINUTE),
            (self.keeper.crash, 6 * HOUR),
            (self.lose_power, 12 * HOUR),
            (self.set_clock, 9 * HOUR),
        ):
            self._again(action, often)

    def _again(self, action: Callable[[], None], often: float) -> None:
        def happen() -> None:
            if not self.is_over:
                action()
                self._again(action, often)

        self.world.plan(self.random.expovariate(1 / often), happen)

    # Work

    def ask(self) -> None:
        """Somebody enqueues a few jobs."""
        live = [row["id"] for row in self.ledger.rows(LIVE)]
        self._enqueue([any_job(self.world, live) for _ in range(self.random.choice((1, 1, 1, 2, 5)))])

    def flood(self) -> None:
        """Some tenants want everything at once."""
        for tenant in self.random.sample(TENANTS, self.random.randint(1, 3)):
            many = self.random.randint(20, 80)
            self._enqueue([plain_job(self.world, tenant) for _ in range(many)])

    def _enqueue(self, jobs: list[NewJob]) -> None:
        # The disks of these machines are not the one of a server.
        counts = int(self.world.engine.dialect is Dialect.SQLITE)
        refusing = self.ledger.rows(REFUSING, now=self.world.now, latest=self.world.now + REFUSAL_MS, counts=counts)
        answers: list[Enqueued] = []
        is_refused = False
        try:
            answers = self.world.call(enqueue, jobs, self.world.now)
        except QueueFull:
            self.world.counts["refused by a full queue"] += len(jobs)
            return
        except (StoreBusy, StoreFull):
            is_refused = True
            self.world.counts["refused by a full machine"] += len(jobs)
        assert is_refused == bool(refusing), f"refused: {is_refused}, and the machines say {refusing}"
        self.ledger.accepted += sum(not answer.existing for answer in answers)
        self.world.counts["enqueued"] += sum(not answer.existing for answer in answers)

    def _some(self) -> list[dict[str, Any]]:
        live = self.ledger.rows(LIVE)
        return self.random.sample(live, min(1, len(live)))

    # People

    def meddle(self) -> None:
        """Somebody changes his mind about something."""
        random, world = self.random, self.world
        queue = random.choice(QUEUES)
        some = [row["id"] for row in self._some()]
        deeds: list[Callable[[], Any]] = [
            lambda: self._pause(queue),
            lambda: world.call(set_queue, "heavy", QueueChanges(concurrency=random.randint(1, 3))),
            lambda: self._pace(random.randint(1, 10), random.choice((10 * SECOND, MINUTE, 10 * MINUTE))),
            lambda: world.call(note_activity, random.choice(TENANTS), world.now),
            lambda: world.call(set_weight, random.choice(TENANTS), random.choice((1, 10, 100)), "shared"),
            lambda: world.call(emit, world.fresh("e"), random.choice(("git:commit", "other")), {}, world.now, None),
            *[lambda job_id=one: world.call(cancel_job, job_id, world.now) for one in some],
            *[lambda job_id=one: world.call(reorder.move_to_top, job_id) for one in some],
            *[lambda job_id=one: world.call(reorder.set_priority, job_id, 5) for one in some],
        ]
        try:
            random.choice(deeds)()
        except (Conflict, NotFound):
            world.counts["refused to a person"] += 1

    def _pause(self, queue: str) -> None:
        self.world.call(pause, queue, "somebody looks at it", self.world.now)
        self.world.plan(self.random.uniform(0, HOUR), lambda: self.world.call(resume, queue, self.world.now))

    def _pace(self, limit: int, window: Millis) -> None:
        """Starts under another rate count for this one too, unless it is cleared first."""
        if self.random.random() < 0.3:
            self.world.call(set_queue, "paced", QueueChanges(clear=(QueueSetting.RATE,)))
            self.world.settle()
        self.ledger.windows.forget("paced")
        self.world.call(set_queue, "paced", QueueChanges(rate_limit=limit, rate_window_ms=window))

    def reserve(self) -> None:
        """A person reserves a queue, or everything."""
        worker = self.random.choice(self.ledger.workers)
        if worker.session is None:
            return
        wanted = NewReservation(
            id=self.world.fresh("r"),
            scope=self.random.choice(("*", "shared", "default")),
            reserved_by="somebody",
            session_id=worker.session,
            ttl_ms=self.random.randint(SECOND, 20 * MINUTE),
            wait_ms=self.random.randint(SECOND, 20 * MINUTE),
            in_line=self.random.random() < 0.5,
        )
        try:
            self.world.call(reserve, wanted, self.world.now)
        except Busy:
            return
        self.world.plan(self.random.uniform(0, 20 * MINUTE), lambda: self._release(wanted.id))

    def _release(self, reservation_id: str) -> None:
        self.world.call(release, reservation_id, self.world.now)

    # The machine

    def change_machine(self) -> None:
        """Somebody comes or goes, plugs it in or takes it away, or it suffers from something."""
        self.random.choice(self.machines).change()

    def drain(self) -> None:
        """Batteries drain and charge."""
        for machine in self.machines:
            machine.drift()

    def change_tokens(self) -> None:
        """Somebody wants a machine to do less, or more."""
        self.world.call(
            set_tokens, self.world.now, self.random.choice(NODES), self.random.randint(1, 6), None, None, None
        )

    def break_something(self) -> None:
        """For a while, whatever runs in a queue fails, and its jobs are not to blame."""
        queue = self.random.choice(QUEUES)
        self.ledger.broken.add(queue)
        self.world.plan(self.random.uniform(MINUTE, HOUR), lambda: self.ledger.broken.discard(queue))

    def crash(self) -> None:
        """A worker dies."""
        self.random.choice(self.ledger.workers).crash()

    def stop(self) -> None:
        """A worker is restarted in order."""
        self.random.choice(self.ledger.workers).stop()

    def lose_power(self) -> None:
        """The process that has the store dies, and another one opens what it left."""
        self.world.place.crash()
        self.world.counts["stores reopened"] += 1
        self.world.wake(*self.world.sleepers)

    def set_clock(self) -> None:
        """The wall clock was wrong; it is set forward or back."""
        self.world.set_clock(self.random.choice((-10 * MINUTE, -2 * SECOND, 2 * MINUTE, 2 * HOUR)))
        self.ledger.windows.forget("paced")
        self.ledger.paces.forget()

    def calm_down(self) -> None:
        """Nothing new comes, and nothing is in the way any more."""
        self.is_over = True
        for queue in QUEUES:
            self.world.call(resume, queue, self.world.now)
        self.ledger.broken.clear()
        for machine in self.machines:
            machine.calm_down()
            self.world.call(set_tokens, self.world.now, machine.node, USUAL_TOKENS.cpu, None, None, None)
        self.world.call(emit, self.world.fresh("e"), "git:last", {}, self.world.now, None)
        for schedule in SCHEDULES:
            self.world.call(pause_schedule, schedule, self.world.now)
        self.world.settle()
