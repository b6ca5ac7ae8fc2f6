"""Gates and claim agree about every job: what no gate holds is taken by the next worker that asks, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from holdfast.core.job import WAITING, JobId
from holdfast.core.machine import Judged
from holdfast.core.measures import Level, Thresholds
from holdfast.core.pressure import Pressure
from holdfast.core.queue import QueueChanges, QueueClass
from holdfast.core.requests import ANY_QUEUE, COMMAND, Claimed, ClaimRequest, NewJob, QueueSlots
from holdfast.core.tokens import Tokens
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts import sessions
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.machines import note_machine
from holdfast.store.scripts.nodes import note_node
from holdfast.store.scripts.pressed import press_machine
from holdfast.store.scripts.queues import pause, set_queue
from holdfast.store.scripts.reserve import NewReservation, reserve
from holdfast.store.scripts.tenants import set_weight
from holdfast.store.scripts.why import Why, why
from tests.store.acts import NOW, TABLES, TASK, new_job, report, statement, write

QUEUES = ("a", "b")
NODES = ("laptop", "server")
AWAY = "gone"  # a machine on which nobody works
LEND = """
INSERT INTO node_tokens (node, cpu, gpu, io, timeout_ms, set_by, set_at)
VALUES (:node, :cpu, 0, 0, 30000, 'hand', :now)
"""
BREAK = """
INSERT INTO queue_breakers (queue, failures, failed_at, reason, opened_at, half_opens_at)
VALUES (:queue, 5, :now, 'the disk is full', :now, :until)
"""
LATER = 31_000  # longer than a worker waits until it is left to run empty for a job that must run alone


class Hand(Struct, frozen=True):
    """A worker: where it is, what it offers, and how many slots each of its queues has."""

    node: str
    slots: dict[str, int]
    tasks: tuple[str, ...]
    commands_roam_alone: bool

    @property
    def wild_tasks(self) -> tuple[str, ...] | None:
        """What it takes from queues that it does not name; None: everything."""
        return tuple(task for task in self.tasks if task == COMMAND) if self.commands_roam_alone else None


class Machine(Struct, frozen=True):
    """What a machine is like, what presses there, and how many processors it lends."""

    is_idle: bool
    is_charging: bool
    pressing: dict[str, Level]
    cpu: int


class Scene(Struct, frozen=True):
    """Everything that a job may wait for, and jobs that do."""

    hands: list[Hand]
    jobs: list[dict[str, Any]]
    queues: dict[str, QueueChanges]
    paused: set[str]
    reserved: set[str]
    machines: dict[str, Machine]
    broken: set[str]
    weights: dict[str, int]
    suspects: set[int]
    running: int
    ended: int
    later: int


slots = st.sampled_from((1, 1, 2, 4))
hands = st.builds(
    Hand,
    node=st.sampled_from(NODES),
    slots=st.dictionaries(st.sampled_from((*QUEUES, ANY_QUEUE)), slots, min_size=1),
    tasks=st.sampled_from(((TASK,), (TASK,), (TASK, COMMAND), (COMMAND,))),
    commands_roam_alone=st.sampled_from((False, False, True)),
)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "tenant": st.sampled_from(("x", "y", "z")),
    "priority": st.sampled_from((0, 5)),
    "subject": st.just("s"),
    "delay_ms": st.sampled_from((1_000, LATER)),
    "ttl_ms": st.sampled_from((1_000, 60_000)),
    "deadline": st.sampled_from((NOW + 1_000, NOW + 60_000)),
    "wait_for_idle": st.just(True),
    "require_charging": st.just(True),
    "task": st.sampled_from((COMMAND, "unheard")),
    "node": st.sampled_from((*NODES, AWAY)),
    "tokens": st.builds(Tokens, cpu=st.sampled_from((1, 2, 3))),
}
option: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.sampled_from(list(OPTIONS)).flatmap(
    lambda name: st.fixed_dictionaries({name: OPTIONS[name]})
)
jobs = st.builds(lambda queue, one, other: {"queue": queue} | one | other, st.sampled_from(QUEUES), option, option)
changes = st.builds(
    QueueChanges,
    concurrency=st.sampled_from((None, None, 1, 2, 0)),
    rate_limit=st.sampled_from((1, 2, 3)),
    rate_window_ms=st.sampled_from((60_000, 500)),
    queue_class=st.sampled_from((None, QueueClass.HEAVY, QueueClass.LIGHT)),
)
machines = st.builds(
    Machine,
    is_idle=st.booleans(),
    is_charging=st.booleans(),
    pressing=st.dictionaries(st.sampled_from(("battery", "cpu")), st.sampled_from((Level.HIGH, Level.CRITICAL))),
    cpu=st.sampled_from((2, 3, 0)),
)
few = st.sets(st.sampled_from(QUEUES), max_size=1)
scenes = st.builds(
    Scene,
    hands=st.lists(hands, min_size=1, max_size=3),
    jobs=st.lists(jobs, min_size=1, max_size=9),
    queues=st.dictionaries(st.sampled_from(QUEUES), changes, max_size=1),
    paused=st.just(set()) | few,
    reserved=st.just(set()) | st.just(set()) | few,
    machines=st.dictionaries(st.sampled_from(NODES), machines),
    broken=st.just(set()) | st.just(set()) | few,
    weights=st.dictionaries(st.sampled_from(("default", "x", "y")), st.sampled_from((1, 30))),
    suspects=st.just(set()) | st.sets(st.integers(0, 8), max_size=2),
    running=st.sampled_from((0, 1, 2, 4)),
    ended=st.sampled_from((0, 0, 1)),
    later=st.sampled_from((0, 0, 1_000, LATER)),
)


def next_request(name: str, hand: Hand, held: Sequence[Claimed] = ()) -> ClaimRequest:
    """What a worker asks for that holds these runs."""
    free = dict(hand.slots)
    for run in held:
        free[run.queue if run.queue in free else ANY_QUEUE] -= 1
    return ClaimRequest(
        session_id=name,
        worker_id=name,
        slots=sum(free.values()),
        queues=tuple(QueueSlots(queue, count) for queue, count in free.items()),
        tasks=hand.tasks,
        wild_tasks=hand.wild_tasks,
    )


def arrange(tx: Tx, scene: Scene) -> dict[str, list[Claimed]]:
    """An empty database, and then all of the scene; which runs each worker holds."""
    for table in TABLES:
        tx.run(statement(f"DELETE FROM {table}"))
    for node in (*NODES, AWAY):
        note_node(tx, node, node, NOW)
    for node, machine in scene.machines.items():
        seen = Judged(is_idle=machine.is_idle, idle="so", is_charging=machine.is_charging, charging="so", source="test")
        note_machine(tx, node, seen, None, NOW)
        pressing = [Pressure(reading, level, "it presses", NOW) for reading, level in machine.pressing.items()]
        press_machine(tx, node, [], pressing, Thresholds(), NOW)
        tx.run(statement(LEND), node=node, cpu=machine.cpu, now=NOW)
    for tenant, weight in scene.weights.items():
        set_weight(tx, tenant, weight)
    for number, hand in enumerate(scene.hands):
        offer = sessions.Offer(
            f"s{number}",
            "worker",
            hand.tasks,
            tuple(hand.slots),
            sum(hand.slots.values()),
            tuple(QueueSlots(queue, count) for queue, count in hand.slots.items()),
            hand.wild_tasks,
        )
        sessions.open_session(tx, sessions.NewSession(f"s{number}", "worker", hand.node, "b", 1, None), offer, NOW)
    asked: list[NewJob] = [new_job(f"j{number}", **options) for number, options in enumerate(scene.jobs)]
    enqueue(tx, asked[: scene.running], NOW)
    for queue, change in scene.queues.items():
        set_queue(tx, queue, change)
    held = {
        f"s{number}": list(claim(tx, next_request(f"s{number}", hand), NOW)) for number, hand in enumerate(scene.hands)
    }
    runs = [run for found in held.values() for run in found][: scene.ended]
    finish(tx, [report(run) for run in runs], NOW)
    enqueue(tx, asked[scene.running :], NOW)
    for queue in scene.paused:
        pause(tx, queue, None, NOW)
    for queue in scene.reserved:
        reserve(tx, NewReservation(f"r{queue}", queue, "ann", "s0", 600_000, 0), NOW)
    for queue in scene.broken:
        tx.run(statement(BREAK), queue=queue, now=NOW, until=NOW + 30_000)
    for nth in scene.suspects:
        tx.run(statement("UPDATE jobs SET is_suspect = 1 WHERE id = :id AND state = 'QUEUED'"), id=f"j{nth}")
    return {name: [run for run in found if run not in runs] for name, found in held.items()}


class NotMeant(Exception):
    """Undoes a claim, and tells what it would have taken."""


def would_take(engine: Engine, request: ClaimRequest, now: int) -> set[JobId]:
    """What a claim takes, which is then undone."""

    def try_it(tx: Tx) -> None:
        raise NotMeant({run.job_id for run in claim(tx, request, now)})

    try:
        write(engine, try_it)
    except NotMeant as told:
        taken: set[JobId] = told.args[0]
        return taken
    raise AssertionError("a claim that is undone raises")


def explain(tx: Tx, count: int, now: int) -> list[Why]:
    """What the gates say of every job."""
    return [why(tx, f"j{number}", now) for number in range(count)]


@pytest.mark.parametrize("examples", [30, pytest.param(1_000, marks=pytest.mark.long)])
def test_what_no_gate_holds_is_what_the_next_claim_of_a_worker_takes(engine: Engine, examples: int) -> None:
    @given(scene=scenes)
    @settings(max_examples=examples, deadline=None, database=None)
    def agree(scene: Scene) -> None:
        held = write(engine, arrange, scene)
        now = NOW + scene.later
        requests = [next_request(name, scene.hands[int(name[1:])], runs) for name, runs in held.items()]
        taken = {job for request in requests for job in would_take(engine, request, now)}
        said = engine.query(explain, len(scene.jobs), now)
        waiting = [one for one in said if one.state in WAITING]
        assert all(one.gates for one in waiting)
        free = {one.job_id for one in waiting if not one.closed}
        assert free == taken, "\n".join(str(one) for one in said)

    agree()
