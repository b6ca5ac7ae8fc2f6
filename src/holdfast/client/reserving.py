"""Direct reservation: keep a queue, or everything, free of new runs while this program uses the machine itself."""

from __future__ import annotations

import logging
import os
import threading
from time import monotonic
from types import TracebackType

from holdfast.client.durations import Duration, to_millis
from holdfast.client.store_access import StoreAccess
from holdfast.client.waiting import Countdown
from holdfast.core.errors import Busy, Conflict, HoldfastError, InvalidInput, NotFound, StoreError
from holdfast.core.job import Millis, SessionId
from holdfast.core.limits import check_label, check_name
from holdfast.core.timing import LONGEST
from holdfast.runtime.current import current_run
from holdfast.runtime.heartbeat import BEAT_S
from holdfast.runtime.judge import Judge
from holdfast.runtime.node import boot_id, node_name, process_id
from holdfast.runtime.processes import RUN_VARIABLE
from holdfast.runtime.recovery import Recovery
from holdfast.runtime.session import lock_folder
from holdfast.store.locks import LifeLock
from holdfast.store.scripts import look, reserve, sessions
from holdfast.store.scripts.reserve import EVERYTHING, NewReservation, Reservation
from holdfast.store.scripts.scopes import overlap
from holdfast.store.scripts.sessions import NewSession
from holdfast.store.statements import Dialect
from holdfast.wire.remote import RemoteEngine

LOOK_AGAIN_S = 1.0
SHORTEST_S = 0.01
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

    def __init__(self, access: StoreAccess, row: Reservation, life: _Life) -> None:
        self._access = access
        self._life = life
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
        return self._life.is_alive and self._access.now() < self.expires_at

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
        self._scope = scope if scope == EVERYTHING else check_name("queue", scope)
        self._wait_ms = LONGEST_WAIT if wait is None else min(to_millis("wait", wait), LONGEST_WAIT)
        self._ttl_ms = to_millis("ttl", ttl)
        if self._ttl_ms == 0:
            raise InvalidInput("ttl 0 is not valid: a reservation lasts at least a millisecond")
        self._reserved_by = check_label("reserved_by", reserved_by or f"pid {os.getpid()} on {node_name()}")
        self._life: _Life | None = None
        self._held: Held | None = None

    def __enter__(self) -> Held:
        """Wait until nothing runs in the scope. Raises Busy if that, or another reservation, takes too long."""
        if self._life is not None:
            raise InvalidInput("this reservation is in use already; make another one")
        self._refuse_inside_a_run()
        life = self._life = _Life(self._access)
        try:
            row = self._obtain(life.session_id)
        except BaseException:
            self._leave()
            raise
        self._held = Held(self._access, row, life)
        life.tell_at(row.expires_at, f"the reservation of {self._scope!r} has run out while it is in use")
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
        """It would wait for the end of the very run that waits for it."""
        run = current_run()
        job_id = os.environ.get("HOLDFAST_JOB_ID") if os.environ.get(RUN_VARIABLE) else None
        if run is not None:
            job_id = run.job_id
        if not job_id:
            return
        try:
            job = self._access.read(look.find_job, job_id)
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
        undertaker: _Undertaker | None = None
        try:
            while True:
                told.clear()
                try:
                    row = self._access.write(reserve.reserve, wanted, self._access.now())
                except StoreError as error:
                    # What stands in the database stands there while its daemon is away.
                    if row is None or left.seconds() == 0:
                        raise
                    log.warning("the reservation is not granted yet: %s; trying again", error)
                else:
                    if row.granted_at is not None:
                        return row
                    self._refuse_if_over(row, left)
                    undertaker = undertaker or _Undertaker(self._access, session_id)
                told.wait(min(LOOK_AGAIN_S, left.seconds()))
        finally:
            leave()
            if undertaker is not None:
                undertaker.end()

    def _refuse_if_over(self, row: Reservation, left: Countdown) -> None:
        """Raise if it will not be granted any more, or not in time."""
        has_ended = row.ended_at is not None
        if row.ended_at is not None and row.ended_at < row.expires_at:
            raise Conflict(f"the reservation of {self._scope!r} was ended before it was granted")
        if not has_ended and left.seconds() > 0:
            return
        self._access.write(reserve.release, row.id, self._access.now())
        others = self._access.read(reserve.list_reservations)
        first = next((other for other in others if other.id != row.id and overlap(other.scope, self._scope)), None)
        if row.status == "ACTIVE" or first is None:
            raise Busy(f"what runs in {self._scope!r} has not ended in time; wait longer, or cancel it")
        raise Busy(f"{self._scope!r} is reserved by {first.reserved_by} ({first.scope!r}); wait longer")

    def _leave(self) -> None:
        held, self._held = self._held, None
        life, self._life = self._life, None
        try:
            if held is not None:
                ended = self._access.write(reserve.release, held.id, self._access.now())
                if ended.status == "EXPIRED":
                    log.warning("the reservation of %r had run out before it was released", self._scope)
        finally:
            if life is not None:
                life.end()


class _Undertaker:
    """While somebody waits: settles what dead processes hold. Without a daemon, nobody else may be there to do it."""

    def __init__(self, access: StoreAccess, own: SessionId) -> None:
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if isinstance(access.engine, RemoteEngine):
            return  # That is the daemon's business.
        engine = access.engine
        locks = lock_folder(engine) if engine.dialect is Dialect.SQLITE else None
        self._recovery = Recovery(engine, access.clock, Judge(boot_id(), node_name(), locks=locks), own)
        self._thread = threading.Thread(target=self._work, name="holdfast-undertaker", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look at nobody any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        import asyncio

        while True:
            try:
                asyncio.run(self._recovery.tick())
            except HoldfastError as error:
                log.warning("whether others are gone could not be seen: %s; trying again", error)
            if self._over.wait(LOOK_AGAIN_S):
                return


class _Life:
    """A session without a worker: whoever sees that it is gone ends what it had reserved."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access
        self.session_id = access.new_id()
        access.engine.open()
        path = lock_folder(access.engine) / self.session_id
        self._lock = LifeLock(path)
        row = NewSession(self.session_id, "embedded", node_name(), boot_id(), process_id(), str(path))
        try:
            access.write(sessions.open_session, row, None, access.now())
        except BaseException:
            self._lock.release()
            raise
        self.is_alive = True
        self._expiry: tuple[Millis, str] | None = None
        self._stirred = threading.Event()
        self._heart = threading.Thread(target=self._live, name="holdfast-reservation", daemon=True)
        self._heart.start()

    def tell_at(self, moment: Millis, text: str) -> None:
        """Warn when a moment is reached."""
        self._expiry = (moment, text)
        self._stirred.set()

    def end(self) -> None:
        """End in order."""
        self.is_alive = False
        self._stirred.set()
        self._heart.join()
        try:
            self._access.write(sessions.close_session, self.session_id, "success", self._access.now())
        finally:
            self._lock.release()

    def _live(self) -> None:
        next_beat = monotonic() + BEAT_S
        while self.is_alive:
            self._stirred.wait(max(SHORTEST_S, min(next_beat - monotonic(), self._until_expiry())))
            self._stirred.clear()
            if self._expiry is not None and self._access.now() >= self._expiry[0]:
                log.warning("%s; jobs may start there again", self._expiry[1])
                self._expiry = None
            if self.is_alive and monotonic() >= next_beat:
                next_beat = monotonic() + BEAT_S
                self._beat()

    def _until_expiry(self) -> float:
        return BEAT_S if self._expiry is None else (self._expiry[0] - self._access.now()) / 1000

    def _beat(self) -> None:
        try:
            if not self._access.write(sessions.beat, self.session_id, self._access.now()):
                log.warning("others took this program for dead; its reservation has ended")
                self.is_alive = False
        except HoldfastError as error:
            log.warning("the reservation could not be kept alive: %s; trying again", error)
