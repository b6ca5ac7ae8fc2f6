"""Gates and claim agree about every job: what no gate holds is taken by the next worker that asks, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from holdfast.core.gates.pressure import Pressure
from holdfast.core.gates.queue import QueueClass
from holdfast.core.gates.queue_gates import QUEUE_GATES, HoldReason
from holdfast.core.job import WAITING, JobId
from holdfast.core.jobs.requests import ANY_QUEUE, COMMAND, Claimed, ClaimRequest, NewJob, QueueSlots
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.measures import Level, Thresholds
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.messages.why import Why
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.machines.nodes import note_node
from holdfast.store.scripts.machines.pressure import press_machine
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.queues.queues import pause, set_queue
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.queues.tenants import set_weight
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions import sessions
from tests.store.acts import NOW, TABLES, TASK, new_job, report, statement, write

QUEUES = ("a", "b")
NODES = ("laptop", "server")
AWAY = "gone"  # a machine on which nobody works
LEND = """
INSERT INTO node_tokens (node, cpu, gpu, io, timeout_ms, set_by, set_at)
VALUES (:node, :cpu, 0, 0, 30000, 'hand', :now)
"""
BREAK = """
INSERT INTO queue_breakers (queue, failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe)
VALUES (:queue, 5, :now, 'the disk is full', :now, :until, :is_half_open, :probe)
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
    is_probed: bool
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
    is_probed=st.booleans(),
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


def open_breaker(tx: Tx, queue: str, probe: JobId | None = None) -> None:
    """Runs of the queue have failed one after the other; if there is a probe, that was a while ago."""
    until = NOW + 30_000 if probe is None else NOW
    tx.run(statement(BREAK), queue=queue, now=NOW - 1, until=until, is_half_open=int(probe is not None), probe=probe)


def arrange(tx: Tx, scene: Scene) -> dict[str, list[Claimed]]:
    """An empty database, and then all of the scene; which runs each worker holds."""
    for table in TABLES:
        tx.run(statement(f"DELETE FROM {table}"))
    for node in (*NODES, AWAY):
        note_node(tx, node, node, NOW)
    for node, machine in scene.machines.items():
        seen = JudgedMachine(
            is_idle=machine.is_idle, idle="so", is_charging=machine.is_charging, charging="so", source="test"
        )
        note_machine(tx, node, seen, None, NOW)
        pressing = [Pressure(reading, level, "it presses", NOW) for reading, level in machine.pressing.items()]
        press_machine(tx, node, [], pressing, Thresholds(), NOW)
        tx.run(statement(LEND), node=node, cpu=machine.cpu, now=NOW)
    for tenant, weight in scene.weights.items():
        set_weight(tx, tenant, weight)
    for number, hand in enumerate(scene.hands):
        offer = Offer(
            f"s{number}",
            "worker",
            hand.tasks,
            tuple(hand.slots),
            sum(hand.slots.values()),
            tuple(QueueSlots(queue, count) for queue, count in hand.slots.items()),
            hand.wild_tasks,
        )
        sessions.open_session(tx, NewSession(f"s{number}", "worker", hand.node, "b", 1, None), offer, NOW)
    asked: list[NewJob] = [
        new_job(f"j{number}", payload='{"argv":["true"]}', **options) for number, options in enumerate(scene.jobs)
    ]
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
        started = [run.job_id for found in held.values() for run in found if run.queue == queue]
        probe = started[0] if started and scene.is_probed else None
        open_breaker(tx, queue, probe)
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
    print(f"{examples} scenes")


def start(tx: Tx) -> Claimed:
    """A job of the queue that runs."""
    enqueue(tx, [new_job("running", queue="a", priority=9)], NOW)
    [run] = claim(tx, ClaimRequest(session_id="s0", slots=1, queues=(QueueSlots("a", 1),), tasks=(TASK,)), NOW)
    return run


def start_probe(tx: Tx) -> None:
    open_breaker(tx, "a", start(tx).job_id)


def use_up_rate(tx: Tx) -> None:
    set_queue(tx, "a", QueueChanges(rate_limit=1, rate_window_ms=60_000))
    finish(tx, [report(start(tx))], NOW)


def press_on(tx: Tx, reading: str, level: Level) -> None:
    judged = JudgedMachine(is_idle=False, idle="so", is_charging=True, charging="so", source="test")
    note_machine(tx, "laptop", judged, None, NOW)
    press_machine(tx, "laptop", [], [Pressure(reading, level, "it presses", NOW)], Thresholds(), NOW)


def pull_under_pressure(tx: Tx) -> None:
    press_on(tx, "cpu", Level.HIGH)
    finish(tx, [report(start(tx))], NOW)


REASONS: dict[HoldReason, tuple[str, Callable[[Tx], object]]] = {
    HoldReason.PAUSED: ("queue paused", lambda tx: pause(tx, "a", None, NOW)),
    HoldReason.RESERVED: (
        "reservation",
        lambda tx: reserve(tx, NewReservation("r", "a", "ann", "s0", 600_000, 0), NOW),
    ),
    HoldReason.BREAKER_OPEN: ("breaker", lambda tx: open_breaker(tx, "a")),
    HoldReason.PROBE_RUNNING: ("breaker", start_probe),
    HoldReason.CONCURRENCY_REACHED: ("queue concurrency", lambda tx: set_queue(tx, "a", QueueChanges(concurrency=0))),
    HoldReason.RATE_REACHED: ("rate limit", use_up_rate),
    HoldReason.MACHINE_RESTS: ("machine pressure", lambda tx: press_on(tx, "battery", Level.CRITICAL)),
    HoldReason.PULLS_LATER: ("machine pressure", pull_under_pressure),
}
ONE_JOB = Scene(
    hands=[Hand("laptop", {"a": 2}, (TASK,), False)],
    jobs=[{"queue": "a"}],
    queues={},
    paused=set(),
    reserved=set(),
    machines={},
    broken=set(),
    is_probed=False,
    weights={},
    suspects=set(),
    running=0,
    ended=0,
    later=0,
)


@pytest.mark.parametrize("reason", HoldReason)
def test_each_reason_of_a_queue_gate_alone_keeps_the_claim_from_it_and_is_what_why_says(
    engine: Engine, reason: HoldReason
) -> None:
    gate, shut = REASONS[reason]
    write(engine, arrange, ONE_JOB)
    request = next_request("s0", ONE_JOB.hands[0])
    assert would_take(engine, request, NOW) == {"j0"}
    assert engine.query(why, "j0", NOW).closed == []
    write(engine, shut)
    assert would_take(engine, request, NOW) == set()
    assert [closed.gate for closed in engine.query(why, "j0", NOW).closed] == [gate]
    assert {name for name, _ in REASONS.values()} == set(QUEUE_GATES)
