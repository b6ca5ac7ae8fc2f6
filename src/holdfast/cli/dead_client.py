"""The client with the calls about dead letters."""

from __future__ import annotations

from holdfast.client.dead_letters import DeadLetterCalls
from holdfast.client.remote import Client


class DeadLetterClient(Client, DeadLetterCalls):
    """A daemon's client with the calls about dead letters."""
