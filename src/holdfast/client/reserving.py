"""Direct reservation: keep a queue, or everything, free of new runs while this program uses the machine itself."""

from __future__ import annotations

import logging
import os
import threading
from types import TracebackType

from holdfast.client.durations import Duration, to_millis
from holdfast.client.store_access import StoreAccess
from holdfast.client.waiting import Countdown
from holdfast.core.errors import Busy, Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.core.job import SessionId
from holdfast.core.limits import check_label, check_name
from holdfast.core.timing import LONGEST
from holdfast.runtime.heartbeat import BEAT_S
from holdfast.runtime.node import boot_id, node_name, process_id
from holdfast.runtime.processes import RUN_VARIABLE
from holdfast.runtime.session import lock_folder
from holdfast.store.locks import LifeLock
from holdfast.store.scripts import look, reserve, sessions
from holdfast.store.scripts.reserve import EVERYTHING, NewReservation, Reservation
from holdfast.store.scripts.sessions import NewSession

LOOK_AGAIN_S = 1.0
LONGEST_WAIT = LONGEST // 4

log = logging.getLogger("holdfast.client")


class Reserving:
    """A reservation for the time of a `with` or `async with` block. If this program dies, it ends by itself.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> with hf.reserve("build", wait=0) as reservation:
    ...     reservation.scope
    'build'
    """

    def __init__(
        self, access: StoreAccess, scope: str, wait: Duration | None, ttl: Duration, reserved_by: str | None
    ) -> None:
        self._access = access
        self._scope = scope if scope == EVERYTHING else check_name("queue", scope)
        self._wait_ms = LONGEST_WAIT if wait is None else min(to_millis("wait", wait), LONGEST_WAIT)
        self._ttl_ms = to_millis("ttl", ttl)
        self._reserved_by = check_label("reserved_by", reserved_by or f"pid {os.getpid()} on {node_name()}")
        self._life: _Life | None = None
        self._reservation: Reservation | None = None

    def __enter__(self) -> Reservation:
        """Wait until nothing runs in the scope. Raises Busy if that, or another reservation, takes too long."""
        if self._life is not None:
            raise InvalidInput("this reservation is in use already; make another one")
        self._refuse_inside_a_run()
        self._life = _Life(self._access)
        try:
            self._reservation = self._obtain(self._life.session_id)
        except BaseException:
            self._leave()
            raise
        return self._reservation

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    async def __aenter__(self) -> Reservation:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self._leave)

    def _refuse_inside_a_run(self) -> None:
        """It would wait for the end of the very run that waits for it."""
        run_id, job_id = os.environ.get(RUN_VARIABLE), os.environ.get("HOLDFAST_JOB_ID")
        if not run_id or not job_id:
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
            self._access.new_id(), self._scope, self._reserved_by, session_id, self._ttl_ms, self._wait_ms
        )
        left = Countdown(self._wait_ms / 1000)
        told = threading.Event()
        leave = self._access.engine.listen(lambda _: told.set())
        try:
            while True:
                told.clear()
                try:
                    held = self._access.write(reserve.reserve, wanted, self._access.now())
                except Busy:
                    if left.seconds() == 0:
                        raise
                else:
                    if held.granted_at is not None:
                        return held
                    if held.status != "ACTIVE":
                        raise Conflict(f"the reservation of {self._scope!r} was ended before it was granted")
                    if left.seconds() == 0:
                        self._access.write(reserve.release, held.id, self._access.now())
                        raise Busy(f"what runs in {self._scope!r} has not ended in time; wait longer, or cancel it")
                told.wait(min(LOOK_AGAIN_S, left.seconds()))
        finally:
            leave()

    def _leave(self) -> None:
        held, self._reservation = self._reservation, None
        life, self._life = self._life, None
        try:
            if held is not None:
                ended = self._access.write(reserve.release, held.id, self._access.now())
                if ended.status == "EXPIRED":
                    log.warning("the reservation of %r had run out before it was released", self._scope)
        finally:
            if life is not None:
                life.end()


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
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="holdfast-reservation", daemon=True)
        self._heart.start()

    def end(self) -> None:
        """End in order."""
        self._ended.set()
        self._heart.join()
        try:
            self._access.write(sessions.close_session, self.session_id, "success", self._access.now())
        finally:
            self._lock.release()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            try:
                if not self._access.write(sessions.beat, self.session_id, self._access.now()):
                    log.warning("others took this program for dead; its reservation has ended")
                    return
            except HoldfastError as error:
                log.warning("the reservation could not be kept alive: %s; trying again", error)
