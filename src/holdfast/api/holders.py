"""Sessions without a secret, where the settings refuse them."""

from __future__ import annotations

from typing import Any

from holdfast.core.errors import NotHolder


def check_secret(wanted: Any, is_required: bool) -> None:
    """Refuse a caller that opens a session, or speaks for one, without a secret. Other calls have no place for it."""
    place = getattr(wanted, "session", getattr(wanted, "request", wanted))
    if is_required and getattr(place, "secret", "") is None:
        raise NotHolder(
            "this daemon takes no sessions without a secret (api.require_session_secret in holdfast.toml); use a "
            "worker that speaks protocol 2"
        )
