"""What this program knows of its daemon, and how long it tries to reach it."""

from __future__ import annotations

import errno
import os
import time

import msgspec

from holdfast.core.errors import HoldfastError, InvalidToken, NoDaemon, OutcomeUnknown
from holdfast.observe import trace
from holdfast.store.locks import is_locked
from holdfast.wire.home import Address, find_home
from holdfast.wire.http import bracketed
from holdfast.wire.problem import NO_ROOM, Problem

PATIENCE_S = 10.0
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
NOT_READY = "ERR_NOT_READY"
# A call with this header comes from a worker or a job. Such calls are allowed while the daemon stops.
INSIDE = "Holdfast-Inside"
INSIDE_VARIABLES = ("HOLDFAST_INSIDE", "HOLDFAST_RUN_ID")


class Peer:
    """A daemon at an address."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.has_met_it = False
        self.is_given_up = False
        self._headers = {"Host": bracketed(address.host), "Content-Type": "application/json"}
        self._show(address.token)
        if any(os.environ.get(name) for name in INSIDE_VARIABLES):
            self.come_inside()

    def destination(self) -> Address:
        """Where to connect to now. Without a token of its own, that is the daemon of the home folder, or nowhere."""
        address = self.address
        if address.socket is not None or address.token is not None:
            return address
        from holdfast.wire.left_hello import host_at_home, left_at_home  # With a token they are not needed.

        home = find_home()
        hello = left_at_home(home)
        host = None if hello is None else host_at_home(address, hello)
        if host is not None:
            self._show(home.token.read_text().strip())
            return msgspec.structs.replace(address, host=host)
        if hello is None:
            said = f"that of {home.folder} does not run, and another needs Holdfast(…, token=…) or HOLDFAST_TOKEN"
            raise ConnectionRefusedError(errno.ECONNREFUSED, said)
        raise InvalidToken(
            f"there is no token for {address}: that of {home.folder} is only for the daemon that runs there; give one "
            "with Holdfast(…, token=…) or HOLDFAST_TOKEN"
        )

    def _show(self, token: str | None) -> None:
        if token is not None:
            self._headers = {**self._headers, "Authorization": f"Bearer {token}"}

    def come_inside(self) -> None:
        """Mark the calls of this program as those of a worker from now on."""
        self._headers = {**self._headers, INSIDE: "1"}

    def headers(self) -> dict[str, str]:
        """The headers of every request: the caller, and the trace that it belongs to."""
        here = trace.current()
        return self._headers if here is None else {**self._headers, "traceparent": here.header}

    def is_coming_back(self) -> bool:
        """Whether it is worth waiting: the daemon is starting, or this program has reached it before."""
        return not self.is_given_up and (self.has_met_it or self.is_there() is True)

    def is_there(self) -> bool | None:
        """Whether a daemon runs at the address, as the kernel knows it. None: that cannot be known from here."""
        lock = self.address.lock
        return None if lock is None else is_locked(lock) is True

    def unreachable(self, error: BaseException) -> NoDaemon:
        """The error that the daemon cannot be reached."""
        untrusted = getattr(error, "verify_message", None)
        if untrusted:
            return NoDaemon(
                f"the certificate of {self.address} cannot be trusted ({untrusted}); name the one to trust with "
                "HOLDFAST_CA or Holdfast(ca=…)"
            )
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NoDaemon(f"no daemon answers at {self.address} ({said}); start one with: holdfast up")


class Persistence:
    """Decides after each failure of a call whether it is tried again. One for each call."""

    def __init__(self, peer: Peer, what: str, *, is_repeatable: bool) -> None:
        self._peer = peer
        self._what = what
        self._is_repeatable = is_repeatable
        self._until = time.monotonic() + PATIENCE_S
        self._pause = FIRST_PAUSE_S
        self.may_have_come_through = False

    def broke_off(self, error: Exception, *, is_fresh: bool, is_sent: bool) -> float:
        """After a failed connection: how many seconds to wait before the next try. Raise if there is none."""
        if is_sent and not self._is_repeatable:
            raise OutcomeUnknown(f"the daemon went away during {self._what}; look before you repeat") from error
        self.may_have_come_through |= is_sent
        failure = self._peer.unreachable(error)
        if not is_fresh:
            return 0.0  # A kept connection may have been closed long ago. That says nothing about the daemon.
        # A daemon that resets a new connection is there, but has too many of them. The next try may go well.
        was_taken = getattr(error, "errno", None) == errno.ECONNRESET
        if not was_taken and not self._peer.is_coming_back():
            raise failure from error
        return self._patiently(failure)

    def answered(self, problem: Problem, retry_after: float | None = None) -> float:
        """After a refusal: how many seconds to wait, if it may pass soon. Raise otherwise."""
        if problem.code == NOT_READY:
            return self._patiently(NoDaemon(problem.detail))
        failure = problem.error(retry_after)
        if problem.code not in NO_ROOM:
            raise failure
        return max(self._patiently(failure), retry_after or 0.0)

    def _patiently(self, failure: HoldfastError) -> float:
        if time.monotonic() > self._until or self._peer.is_given_up:
            raise failure
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE_S)
        return pause
