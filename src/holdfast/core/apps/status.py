"""What becomes of an app, and what a person wants of it."""

from __future__ import annotations

from enum import StrEnum

OWNER_PREFIX = "app:"


class AppStatus(StrEnum):
    """Whether an app has an owner, and how far that is. One that failed keeps its owner, so that no other tries it."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


class Wanted(StrEnum):
    """What a person wants an app to do. It lasts until that is changed."""

    RUNNING = "running"
    STOPPED = "stopped"


def pattern_owner(app_key: str) -> str:
    """Who waits for the events that an app listens to, as their patterns name it."""
    return f"{OWNER_PREFIX}{app_key}"
