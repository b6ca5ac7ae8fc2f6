"""The roles of callers, and the tokens of users."""

from __future__ import annotations

import hashlib
from enum import StrEnum

SECRET_BYTES = 32
TOKEN_PREFIX = "hf_"


class Role(StrEnum):
    """What a caller may do. Each role may also do what those before it may.

    `metrics` reads the metrics. `read` makes every call that changes nothing, and sees payloads redacted. `operate`
    deals with jobs, groups, events, templates and schedules, and may be a worker; it can therefore run commands as the
    user of the daemon. `admin` does the rest.
    """

    METRICS = "metrics"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Whether this role may do all that the other one may."""
        return _RANKS[self] >= _RANKS[other]


_RANKS = {role: rank for rank, role in enumerate(Role)}

ANYBODY = None
"""The role of calls that need no token."""


def hash_secret(secret: str) -> str:
    """The hash of a secret, which is stored. Secrets are random and long, so no salt and no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()
