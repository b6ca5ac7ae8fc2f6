"""The client with the calls about dead letters."""

from __future__ import annotations

from holdfast.client.remote import Client
from holdfast.client.resources.dead_letters import DeadLetterCalls


class DeadLetterClient(Client, DeadLetterCalls):
    """A daemon's client with the calls about dead letters."""
