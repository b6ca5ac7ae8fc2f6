"""The client that can queue commands too."""

from __future__ import annotations

from holdfast.client.commands import Commands
from holdfast.client.remote import Client


class CommandClient(Client, Commands):
    """A daemon's client with `command`."""
