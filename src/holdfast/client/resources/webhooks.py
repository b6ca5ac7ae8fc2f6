"""Webhooks: receivers that are told about events over HTTP. Every blocking call has an awaitable twin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from holdfast.client.store_access import StoreAccess
from holdfast.core.job import Millis
from holdfast.core.messages.webhooks import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryView,
    NewWebhook,
    Webhook,
    WebhookChanges,
)
from holdfast.core.rules import rule
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import check_target, read_url
from holdfast.store.script_names import deliveries, webhooks

ALLOW = "HOLDFAST_WEBHOOK_ALLOW"


def make_policy(allow: Iterable[str] | None) -> AddressPolicy:
    """The policy of a program without a daemon: from `allow`, or from the environment, separated by commas."""
    if allow is not None:
        return AddressPolicy.of(allow)
    return AddressPolicy.of((word for word in os.environ.get(ALLOW, "").split(",") if word.strip()), ALLOW)


class Webhooks:
    """The part of `Holdfast` that keeps webhooks and looks at what was delivered to them."""

    _access: StoreAccess
    # None: the daemon decides which addresses are allowed.
    _targets: AddressPolicy | None = None

    def add_webhook(
        self,
        url: str,
        *,
        on: str | Sequence[str],
        name: str | None = None,
        secret: str | None = None,
        timeout: Duration | None = None,
    ) -> CreatedWebhook:
        """Tell a receiver about events: `hf.add_webhook("https://ci.example/done", on="job.run.*").secret`.

        `on` is a name of events, the beginning of one followed by `*`, or several of these. Only the answer has the
        secret. Receivers check with it who has sent a delivery, see `verify_webhook`.
        """
        return self._access.write(webhooks.put_webhook, self._new(url, on, name, secret, timeout), self._access.now())

    async def aadd_webhook(
        self,
        url: str,
        *,
        on: str | Sequence[str],
        name: str | None = None,
        secret: str | None = None,
        timeout: Duration | None = None,
    ) -> CreatedWebhook:
        """The awaitable twin of `add_webhook`."""
        made = self._new(url, on, name, secret, timeout)
        return await self._access.awrite(webhooks.put_webhook, made, await self._access.anow())

    def edit_webhook(
        self,
        ref: str,
        *,
        url: str | None = None,
        on: str | Sequence[str] | None = None,
        name: str | None = None,
        secret: str | None = None,
        timeout: Duration | None = None,
    ) -> Webhook:
        """Change what is given. After a new secret, deliveries carry the signature of the old one too, for a day."""
        changes = self._changes(url, on, name, secret, timeout)
        return self._access.write(webhooks.edit_webhook, _ref(ref), changes, self._access.now())

    async def aedit_webhook(
        self,
        ref: str,
        *,
        url: str | None = None,
        on: str | Sequence[str] | None = None,
        name: str | None = None,
        secret: str | None = None,
        timeout: Duration | None = None,
    ) -> Webhook:
        """The awaitable twin of `edit_webhook`."""
        changes = self._changes(url, on, name, secret, timeout)
        return await self._access.awrite(webhooks.edit_webhook, _ref(ref), changes, await self._access.anow())

    def webhook(self, ref: str) -> Webhook:
        """A webhook by its name or id, without its secret."""
        return self._access.read(webhooks.find_webhook, _ref(ref))

    async def awebhook(self, ref: str) -> Webhook:
        """The awaitable twin of `webhook`."""
        return await self._access.aread(webhooks.find_webhook, _ref(ref))

    def webhooks(self) -> list[Webhook]:
        """Every webhook, by name, without the secrets."""
        return self._access.read(webhooks.list_webhooks)

    async def awebhooks(self) -> list[Webhook]:
        """The awaitable twin of `webhooks`."""
        return await self._access.aread(webhooks.list_webhooks)

    def pause_webhook(self, ref: str, reason: str | None = None) -> Webhook:
        """Send nothing to it. Events meanwhile are not sent. Deliveries on their way fail, and are listed."""
        return self._access.write(webhooks.pause_webhook, _ref(ref), self._access.now(), _reason(reason))

    async def apause_webhook(self, ref: str, reason: str | None = None) -> Webhook:
        """The awaitable twin of `pause_webhook`."""
        return await self._access.awrite(webhooks.pause_webhook, _ref(ref), await self._access.anow(), _reason(reason))

    def resume_webhook(self, ref: str) -> Webhook:
        """Send events to it again, after a pause or after its receiver said that it was gone."""
        return self._access.write(webhooks.resume_webhook, _ref(ref), self._access.now())

    async def aresume_webhook(self, ref: str) -> Webhook:
        """The awaitable twin of `resume_webhook`."""
        return await self._access.awrite(webhooks.resume_webhook, _ref(ref), await self._access.anow())

    def remove_webhook(self, ref: str) -> Webhook:
        """Delete it, with the list of its deliveries; those on their way are cancelled."""
        return self._access.write(webhooks.delete_webhook, _ref(ref), self._access.now())

    async def aremove_webhook(self, ref: str) -> Webhook:
        """The awaitable twin of `remove_webhook`."""
        return await self._access.awrite(webhooks.delete_webhook, _ref(ref), await self._access.anow())

    def test_webhook(self, ref: str) -> DeliveryView:
        """Send an event `webhook.test` to it alone; `hf.job(answer.job_id)` tells how it went."""
        return self._access.write(deliveries.send_test, _ref(ref), self._access.now())

    async def atest_webhook(self, ref: str) -> DeliveryView:
        """The awaitable twin of `test_webhook`."""
        return await self._access.awrite(deliveries.send_test, _ref(ref), await self._access.anow())

    def deliveries(self, ref: str, *, failed: bool = False, limit: int = 50, cursor: str | None = None) -> DeliveryPage:
        """A page of what was sent to a webhook, newest first; with `failed`, only what failed for good."""
        return self._access.read(deliveries.list_deliveries, *_page(ref, failed, limit, cursor))

    async def adeliveries(
        self, ref: str, *, failed: bool = False, limit: int = 50, cursor: str | None = None
    ) -> DeliveryPage:
        """The awaitable twin of `deliveries`."""
        return await self._access.aread(deliveries.list_deliveries, *_page(ref, failed, limit, cursor))

    def redeliver(self, ref: str, delivery: str | None = None) -> list[DeliveryView]:
        """Send one delivery of a webhook again, by its id, or all that failed for good, at most 1000 at once."""
        return self._access.write(deliveries.redeliver, _ref(ref), self._access.now(), _id(delivery))

    async def aredeliver(self, ref: str, delivery: str | None = None) -> list[DeliveryView]:
        """The awaitable twin of `redeliver`."""
        return await self._access.awrite(deliveries.redeliver, _ref(ref), await self._access.anow(), _id(delivery))

    def _new(
        self, url: str, on: str | Sequence[str], name: str | None, secret: str | None, timeout: Duration | None
    ) -> NewWebhook:
        return NewWebhook(
            id=self._access.new_id(),
            url=self._checked(url),
            patterns=_patterns(on),
            name=None if name is None else rule_table.check("name", name),
            # Made here, so that a repeat of a call whose answer was lost still has it.
            secret=webhooks.make_secret()
            if secret is None
            else rule_table.check("NewWebhook.secret", secret, "secret"),
            timeout_ms=_timeout(timeout),
        )

    def _changes(
        self,
        url: str | None,
        on: str | Sequence[str] | None,
        name: str | None,
        secret: str | None,
        timeout: Duration | None,
    ) -> WebhookChanges:
        return WebhookChanges(
            url=None if url is None else self._checked(url),
            patterns=None if on is None else _patterns(on),
            name=None if name is None else rule_table.check("name", name),
            secret=None if secret is None else rule_table.check("NewWebhook.secret", secret, "secret"),
            timeout_ms=_timeout(timeout),
        )

    def _checked(self, url: str) -> str:
        if self._targets is None:
            read_url(url)
        else:
            check_target(url, self._targets)
        return url


def _patterns(on: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(rule.check_all(RULES["patterns"], "on", (on,) if isinstance(on, str) else on))


def _timeout(value: Duration | None) -> Millis | None:
    return None if value is None else rule_table.millis("NewWebhook.timeout_ms", value, "timeout")


def _ref(ref: str) -> str:
    return rule_table.check("ref", ref, "webhook")


def _id(delivery: str | None) -> str | None:
    return None if delivery is None else rule_table.check("delivery_id", delivery, "delivery")


def _reason(reason: str | None) -> str | None:
    return None if reason is None else rule_table.check("reason", reason)


def _page(ref: str, failed: bool, limit: int, cursor: str | None) -> tuple[str, bool, int, str | None]:
    below = None if cursor is None else rule_table.check("cursor", cursor)
    return _ref(ref), FLAG.check("failed", failed), rule_table.check("limit", limit), below
