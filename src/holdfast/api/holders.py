"""Refuse sessions without a secret, if the settings say so."""

from __future__ import annotations

from typing import Any

from holdfast.core.errors import NotHolder


def check_secret(wanted: Any, is_required: bool) -> None:
    """Refuse a caller that opens a session, or acts for one, without a secret. Other calls have no secret."""
    place = getattr(wanted, "session", getattr(wanted, "request", wanted))
    if is_required and getattr(place, "secret", "") is None:
        raise NotHolder(
            "this daemon takes no sessions without a secret (api.require_session_secret in holdfast.toml); use a "
            "worker that speaks protocol 2"
        )
