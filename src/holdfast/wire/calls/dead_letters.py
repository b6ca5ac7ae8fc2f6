"""Calls about jobs that ended without being done, by cause."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import dead_letter_rows, dead_letters
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "dead letters", "GET", "/v1/dead-letters", dead_letters.list_dead_letters),
    ApiCall(Role.READ, "dead letters", "GET", "/v1/dead-letters/{fingerprint}", dead_letters.find_dead_letters),
    ApiCall(
        Role.OPERATE, "dead letters", "POST", "/v1/dead-letters/{fingerprint}/retry", dead_letters.retry_dead_letters
    ),
    ApiCall(
        Role.OPERATE,
        "dead letters",
        "POST",
        "/v1/dead-letters/{fingerprint}/discard",
        dead_letters.discard_dead_letters,
    ),
    ApiCall(Role.READ, "dead letters", "GET", "/v1/jobs/{job_id}/letter", dead_letter_rows.letter_of),
)
