"""The errors that only the API has, each with the code of its problem document."""

from __future__ import annotations

from holdfast.core.errors import HoldfastError, InvalidInput, StoreUnavailable


class TooLarge(InvalidInput):
    """The body is larger than the daemon takes."""

    code = "ERR_TOO_LARGE"


class TooMuchAtOnce(HoldfastError):
    """Too many bytes of requests are under way."""

    code = "ERR_TOO_MUCH_AT_ONCE"

    def __init__(self) -> None:
        super().__init__(
            "the daemon reads as many bytes of requests as it takes at once; nothing of this one was done: try again "
            "later, or send less in one call"
        )


class TooManyLongCalls(HoldfastError):
    """Every place for a long call is taken."""

    code = "ERR_TOO_MANY_LONG_CALLS"


class TooManyTries(HoldfastError):
    """Too many wrong tokens have come from an address."""

    code = "ERR_TOO_MANY_TRIES"

    def __init__(self, wait_s: float) -> None:
        super().__init__(
            "too many wrong tokens came from this address, and this is not a valid one either: wait, then try again"
        )
        self.retry_after = wait_s


class NotReady(StoreUnavailable):
    """The daemon does not do this yet, or not any more."""

    code = "ERR_NOT_READY"


class DaemonStopping(NotReady):
    """The daemon stops, so all waits end."""

    def __init__(self) -> None:
        super().__init__("the daemon is stopping")


class Gone(Exception):
    """The caller has gone away before the answer."""
