"""The jobs that are asked for in a simulated world: most are plain, and each has something unlikely now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.core.job import JobId
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.tokens import Tokens
from holdfast.core.values.group import Dependency
from holdfast.core.values.retry import RetryPolicy
from tests.simulation.world import HOUR, SECOND, World

TENANTS = ("default", "ann", "bob", "eve")
TASKS = ("index", "mail", "build")
SHARED = "shared"  # where nothing but fair turns and slots decides
QUEUES = ("default", SHARED, "heavy", "light", "paced", "short", "shedding", "nightly")
USUAL_TOKENS = Tokens(cpu=4, gpu=1, io=2)
UNLIKELY = 0.08
LIKELY = {"tokens": 0.3}  # so that room is short often


def plain_job(world: World, tenant: str) -> NewJob:
    """One that every worker takes, in the queue that all tenants share."""
    return NewJob(id=world.fresh("j"), queue=SHARED, tenant=tenant, task=TASKS[0])


def any_job(world: World, live: Sequence[JobId]) -> NewJob:
    """One of any kind; it may wait for one of those that live."""
    random = world.random
    queue = random.choice(QUEUES)
    if queue == SHARED:
        return plain_job(world, random.choice(TENANTS))
    unlikely: dict[str, Callable[[], Any]] = {
        "priority": lambda: random.choice((5, -5)),
        "delay_ms": lambda: random.randint(0, HOUR),
        "ttl_ms": lambda: random.randint(SECOND, HOUR),
        "deadline": lambda: world.now + random.randint(0, HOUR),
        "subject": lambda: random.choice(("a::b::c", "a::b::d")),
        "policy": lambda: RetryPolicy(retries=2, infra=random.choice((0, 3))),
        "wait_for_idle": lambda: True,
        "require_charging": lambda: True,
        "wait_for_event": lambda: "git:*",
        "tokens": lambda: random.choice(
            (
                Tokens(cpu=random.randint(1, USUAL_TOKENS.cpu)),
                Tokens(gpu=1),
                Tokens(io=random.randint(1, USUAL_TOKENS.io)),
                Tokens(cpu=1, gpu=1),
            )
        ),
        "after": lambda: tuple(Dependency(job_id) for job_id in random.sample(live, min(1, len(live)))),
    }
    options = {name: value() for name, value in unlikely.items() if random.random() < LIKELY.get(name, UNLIKELY)}
    return NewJob(id=world.fresh("j"), queue=queue, task=random.choice(TASKS), tenant=random.choice(TENANTS), **options)
