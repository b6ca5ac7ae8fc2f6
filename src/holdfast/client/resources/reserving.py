"""Direct reservation: keep a queue, or everything, free of new runs while this program uses the machine itself."""

from __future__ import annotations

import logging
import os
import threading
from types import TracebackType

from holdfast.client.store_access import StoreAccess
from holdfast.client.waiting import Countdown
from holdfast.core.errors import Busy, Conflict, InvalidInput, NotFound, StoreError
from holdfast.core.job import SessionId
from holdfast.core.messages import reservations
from holdfast.core.messages.reservations import EVERYTHING, NewReservation, Reservation
from holdfast.core.rules.timing import LONGEST
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.core.settings import rule_table
from holdfast.hosting.recovery_thread import RecoveryThread
from holdfast.hosting.reservation_session import ReservationSession
from holdfast.runtime.current import current_run
from holdfast.runtime.node import node_name
from holdfast.runtime.sessions.processes import RUN_VARIABLE
from holdfast.store.script_names import read_jobs, reserve

LOOK_AGAIN_S = 1.0
LONGEST_WAIT = LONGEST // 4

log = logging.getLogger("holdfast.client")


class Held:
    """A reservation that was granted. Its time may run out while it is still in use: `is_held` tells, `check` raises.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> with hf.reserve("build", ttl=3600) as held:
    ...     held.check()
    ...     held.is_held
    True
    >>> held.is_held
    False
    """

    def __init__(self, access: StoreAccess, row: Reservation, session: ReservationSession) -> None:
        self._access = access
        self._session = session
        self.row = row
        self.id = row.id
        self.scope = row.scope
        self.reserved_by = row.reserved_by
        self.granted_at = row.granted_at
        self.expires_at = row.expires_at

    def __repr__(self) -> str:
        return f"<Held {self.scope} {'until' if self.is_held else 'no more since'} {self.expires_at}>"

    @property
    def is_held(self) -> bool:
        """Whether nothing starts in the scope: not given back, not run out, and not taken away."""
        return self._session.is_alive and self._access.now() < self.expires_at

    def check(self) -> None:
        """Raise Conflict if jobs may start again in the scope."""
        if not self.is_held:
            raise Conflict(
                f"the reservation of {self.scope!r} is over, and jobs may run there again; reserve with a longer ttl"
            )


class Reserving:
    """A reservation for the time of a `with` or `async with` block. If this program dies, it ends by itself.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> with hf.reserve("build", wait=0) as held:
    ...     held.scope
    'build'
    """

    def __init__(
        self, access: StoreAccess, scope: str, wait: Duration | None, ttl: Duration, reserved_by: str | None
    ) -> None:
        self._access = access
        self._scope = rule_table.check("scope", scope)
        self._wait_ms = LONGEST_WAIT if wait is None else min(DURATION.millis("wait", wait), LONGEST_WAIT)
        self._ttl_ms = rule_table.millis("NewReservation.ttl_ms", ttl, "ttl")
        self._reserved_by = rule_table.check("reserved_by", reserved_by or f"pid {os.getpid()} on {node_name()}")
        self._session: ReservationSession | None = None
        self._held: Held | None = None

    def __enter__(self) -> Held:
        """Wait until nothing runs in the scope. Raises Busy if that, or another reservation, takes too long."""
        if self._session is not None:
            raise InvalidInput("this reservation is in use already; make another one")
        self._refuse_inside_a_run()
        session = self._session = ReservationSession(self._access)
        try:
            row = self._obtain(session.session_id)
        except BaseException:
            self._leave()
            raise
        self._held = Held(self._access, row, session)
        session.tell_at(
            row.expires_at, f"the reservation of {reservations.named(self._scope)} has run out while it is in use"
        )
        return self._held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    async def __aenter__(self) -> Held:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self._leave)

    def _refuse_inside_a_run(self) -> None:
        """Refuse it inside a run in its scope: it would wait for the end of that run."""
        run = current_run()
        job_id = os.environ.get("HOLDFAST_JOB_ID") if os.environ.get(RUN_VARIABLE) else None
        if run is not None:
            job_id = run.job_id
        if not job_id:
            return
        try:
            job = self._access.read(read_jobs.find_job, job_id)
        except NotFound:
            return  # A run of another database.
        if self._scope in (EVERYTHING, job.queue):
            raise InvalidInput(
                f"this is a run of job {job.number} on queue {job.queue!r}, which the reservation would wait for; "
                "reserve from outside, or another queue"
            )

    def _obtain(self, session_id: SessionId) -> Reservation:
        wanted = NewReservation(
            self._access.new_id(),
            self._scope,
            self._reserved_by,
            session_id,
            self._ttl_ms,
            self._wait_ms,
            in_line=self._wait_ms > 0,
        )
        left = Countdown(self._wait_ms / 1000)
        told = threading.Event()
        leave = self._access.engine.listen(lambda _: told.set())
        row: Reservation | None = None
        recovery: RecoveryThread | None = None
        try:
            while True:
                told.clear()
                try:
                    row = self._access.write(reserve.reserve, wanted, self._access.now())
                except StoreError as error:
                    # The reservation is stored, and stays while the daemon is away.
                    if row is None or left.seconds() == 0:
                        raise
                    log.warning("the reservation is not granted yet: %s; trying again", error)
                else:
                    if row.granted_at is not None:
                        return row
                    self._refuse_if_over(row, left)
                    recovery = recovery or RecoveryThread(self._access, session_id)
                told.wait(min(LOOK_AGAIN_S, left.seconds()))
        finally:
            leave()
            if recovery is not None:
                recovery.end()

    def _refuse_if_over(self, row: Reservation, left: Countdown) -> None:
        """Raise if it will not be granted any more, or not in time."""
        has_ended = row.ended_at is not None
        if row.ended_at is not None and row.ended_at < row.expires_at:
            raise Conflict(f"the reservation of {self._scope!r} was ended before it was granted")
        if not has_ended and left.seconds() > 0:
            return
        self._access.write(reserve.release, row.id, self._access.now())
        others = self._access.read(reserve.list_reservations)
        first = next(
            (other for other in others if other.id != row.id and reservations.overlap(other.scope, self._scope)), None
        )
        if row.status == "ACTIVE" or first is None:
            raise Busy(f"what runs in {self._scope!r} has not ended in time; wait longer, or cancel it")
        raise Busy(f"{reservations.whose(first, self._scope)}; wait longer")

    def _leave(self) -> None:
        held, self._held = self._held, None
        session, self._session = self._session, None
        try:
            if held is not None:
                ended = self._access.write(reserve.release, held.id, self._access.now())
                if ended.status == "EXPIRED" and session is not None:
                    session.tell()
        finally:
            if session is not None:
                session.end()
