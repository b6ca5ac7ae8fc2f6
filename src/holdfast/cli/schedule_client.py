"""The client that keeps templates and schedules too, and how the commands about them reach the daemon."""

from __future__ import annotations

from pathlib import Path

from holdfast.cli.failing import speak_up
from holdfast.cli.options import choose
from holdfast.client.remote import Client
from holdfast.client.schedules import Schedules


class ScheduleClient(Client, Schedules):
    """A daemon's client with the calls about templates and schedules."""


def schedule_client(home: Path | None) -> ScheduleClient:
    """The client of the daemon of this home."""
    choose(home)
    speak_up()
    return ScheduleClient()
