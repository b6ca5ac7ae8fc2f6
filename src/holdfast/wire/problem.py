"""An error as it is sent (RFC 9457), and back."""

from __future__ import annotations

import msgspec

from holdfast.core import errors
from holdfast.core.errors import HoldfastError, JobError

_BY_CODE: dict[str, type[HoldfastError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HoldfastError) and not issubclass(kind, JobError)
}
# The daemon has no room for one more caller or request. That passes.
NO_ROOM = frozenset({"ERR_TOO_MANY_CONNECTIONS", "ERR_TOO_MUCH_AT_ONCE"})
# With these nothing was stored, so the same call may be made again.
_REPEATABLE = NO_ROOM | {
    errors.QueueFull.code,
    errors.StoreFull.code,
    errors.StoreBusy.code,
    errors.StoreUnavailable.code,
}
_BY_CODE["ERR_TOO_LARGE"] = errors.InvalidInput  # only the API knows it, and no repeat would help
_BY_CODE["ERR_TOO_MANY_TRIES"] = errors.InvalidToken


def error_of(code: str, detail: str) -> HoldfastError:
    """Our error with this code."""
    return _BY_CODE.get(code, HoldfastError)(detail)


class Problem(msgspec.Struct, omit_defaults=True):
    """What went wrong, for programs (`code`, which stays the same) and for people (`detail`)."""

    title: str
    status: int
    detail: str
    code: str
    type: str = "about:blank"
    trace_id: str | None = None

    def error(self, retry_after: float | None = None) -> HoldfastError:
        """Our error for this problem. `retry_after` is what the answer says about another try."""
        made = error_of(self.code, self.detail)
        if retry_after is not None and self.code in _REPEATABLE:
            made.retry_after = retry_after
        return made
