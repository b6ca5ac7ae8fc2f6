"""The client with the calls about templates and schedules."""

from __future__ import annotations

from holdfast.client.remote import Client
from holdfast.client.resources.schedules import Schedules


class ScheduleClient(Client, Schedules):
    """A daemon's client with the calls about templates and schedules."""
