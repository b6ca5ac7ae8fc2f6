"""A process that runs jobs for the daemon: the tasks of one or several apps, or the system's own."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Sequence

from msgspec import Struct, structs

from holdfast.client.apps import load
from holdfast.client.holdfast import Holdfast
from holdfast.client.kept import ALONE_S, Kept
from holdfast.client.options import Options
from holdfast.core.addresses import AddressPolicy
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.requests import SYSTEM_QUEUE
from holdfast.core.reserved import BENCH, CANARY
from holdfast.core.webhook import TIMEOUT_MS, WEBHOOK, WEBHOOK_QUEUE
from holdfast.wire.home import find_home
from holdfast.wire.peer import INSIDE_VARIABLES
from holdfast.wire.places import Place, app_words, take
from holdfast.wire.remote import RemoteEngine
from holdfast.workers.files import USUAL, LogLimits
from holdfast.workers.printing import show_nothing
from holdfast.workers.webhook import DELIVERIES, Deliverer

log = logging.getLogger("holdfast.worker")


class Limits(Struct, frozen=True, kw_only=True):
    """What is set for the workers of a daemon; None is as the code says."""

    command_slots: int | None = None
    concurrency: int | dict[str, int] | None = None
    log: LogLimits = USUAL
    short: float = 5.0
    grace: float = 5.0
    webhook_allow: tuple[str, ...] = ()
    webhook_timeout_ms: Millis = TIMEOUT_MS


USUAL_LIMITS = Limits()


def serve(
    apps: Sequence[str],
    *,
    is_system: bool = False,
    place: str | None = None,
    limits: Limits = USUAL_LIMITS,
    alone_s: float = ALONE_S,
) -> None:
    """Run jobs until SIGINT or SIGTERM. With a `place`, be the worker that the daemon keeps there."""
    words = ("--system",) if is_system else app_words(tuple(apps))
    lock = None if place is None else take(find_home(), Place(place, words))
    os.environ[INSIDE_VARIABLES[0]] = "1"
    if place is not None:
        # What is printed outside of runs goes where the daemon's own goes, line by line.
        show_nothing()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # There is none where the daemon was started without.
                stream.reconfigure(line_buffering=True)
    try:
        if is_system:
            hf = system_app(limits)
        else:
            hf = merged([(name, load(name)) for name in apps])
            hf._concurrency = hf._concurrency if limits.concurrency is None else limits.concurrency
        hf._log_limits, hf._patience = limits.log, {"short": limits.short, "grace": limits.grace}
        hf._kept = Kept(None if place is None else find_home(), alone_s)
        log.info("offering %s", ", ".join(sorted(hf._specs)))
        hf.run()
    finally:
        if lock is not None:
            lock.release()


def system_app(limits: Limits = USUAL_LIMITS) -> Holdfast:
    """What every daemon runs by itself: commands of any queue, the deliveries of webhooks, and the canary."""
    slots = {"*": limits.command_slots or os.cpu_count() or 1, SYSTEM_QUEUE: 2, WEBHOOK_QUEUE: DELIVERIES}
    hf = Holdfast(concurrency=slots, commands=True)
    policy = AddressPolicy.of(limits.webhook_allow)
    deliverer = Deliverer(hf._access.engine, hf._access.clock, policy, limits.webhook_timeout_ms)
    hf._built_in[WEBHOOK] = deliverer.spec

    async def canary() -> None:
        """Shows that the whole path works."""

    async def bench() -> None:
        """Shows how fast it is."""

    hf._register(canary, CANARY, Options(queue=SYSTEM_QUEUE), is_system=True)
    hf._register(bench, BENCH, Options(queue=BENCH), is_system=True)
    # Of all other queues it takes commands alone, which have an index of their own.
    hf._specs = {name: structs.replace(spec, roams=False) for name, spec in hf._specs.items()}
    return hf


def merged(apps: list[tuple[str, Holdfast]]) -> Holdfast:
    """One worker for the tasks of all of them."""
    if not apps:
        raise InvalidInput("a worker needs code to run: give --app module:name or --app path/to/file.py")
    (first_name, first), *rest = apps
    for name, app in apps:
        if not isinstance(app._access.engine, RemoteEngine):
            raise InvalidInput(
                f"app {name!r} has a database of its own ({app!r}); write Holdfast() to use the daemon's"
            )
    for name, app in rest:
        if app is not first:
            first._adopt(app, f"app {name!r} and app {first_name!r}")
    return first
