"""The client with the calls about webhooks."""

from __future__ import annotations

from holdfast.client.remote import Client
from holdfast.client.resources.webhooks import Webhooks


class WebhookClient(Client, Webhooks):
    """A daemon's client with the calls about webhooks."""
