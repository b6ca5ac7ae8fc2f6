"""The client with the calls about watches."""

from __future__ import annotations

from holdfast.client.remote import Client
from holdfast.client.resources.watches import Watches


class WatchClient(Client, Watches):
    """A daemon's client with the calls about watches."""
