"""The clients of the daemon for commands. Calls that few commands need are imported by those alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from holdfast.cli.frame.failures import show_warnings

if TYPE_CHECKING:
    from holdfast.cli.frame.command_client import CommandClient
    from holdfast.cli.frame.dead_client import DeadLetterClient
    from holdfast.cli.frame.schedule_client import ScheduleClient
    from holdfast.cli.frame.watch_client import WatchClient
    from holdfast.cli.frame.webhook_client import WebhookClient
    from holdfast.client.remote import Client

AnyClient = TypeVar("AnyClient", bound="Client")


def client() -> Client:
    """The SDK, as a client of the daemon."""
    from holdfast.client.remote import Client

    return _connect(Client)


def command_client() -> CommandClient:
    """A client that queues commands too."""
    from holdfast.cli.frame.command_client import CommandClient

    return _connect(CommandClient)


def dead_letter_client() -> DeadLetterClient:
    """A client with the calls about dead letters."""
    from holdfast.cli.frame.dead_client import DeadLetterClient

    return _connect(DeadLetterClient)


def schedule_client() -> ScheduleClient:
    """A client with the calls about templates and schedules."""
    from holdfast.cli.frame.schedule_client import ScheduleClient

    return _connect(ScheduleClient)


def watch_client() -> WatchClient:
    """A client with the calls about watches."""
    from holdfast.cli.frame.watch_client import WatchClient

    return _connect(WatchClient)


def webhook_client() -> WebhookClient:
    """A client with the calls about webhooks."""
    from holdfast.cli.frame.webhook_client import WebhookClient

    return _connect(WebhookClient)


def _connect(kind: type[AnyClient]) -> AnyClient:
    show_warnings()
    return kind()
