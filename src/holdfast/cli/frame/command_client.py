"""The client that can queue commands too."""

from __future__ import annotations

from holdfast.client.remote import Client
from holdfast.client.resources.commands import Commands


class CommandClient(Client, Commands):
    """A daemon's client with `command`."""
