"""Webhooks: receivers that are told about events over HTTP. Every blocking call has an awaitable twin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from holdfast.client.durations import Duration, to_millis
from holdfast.client.options import check_bool
from holdfast.client.store_access import StoreAccess
from holdfast.core.addresses import AddressPolicy
from holdfast.core.errors import InvalidInput
from holdfast.core.event import check_pattern
from holdfast.core.job import Millis
from holdfast.core.limits import check_int, check_label, check_name, shown
from holdfast.core.webhook import LONGEST_TIMEOUT_MS, check_secret, check_target, read_url
from holdfast.store.scripts import deliveries, webhooks
from holdfast.store.scripts.deliveries import DeliveryPage, DeliveryView
from holdfast.store.scripts.webhook_rows import CreatedWebhook, NewWebhook, Webhook, WebhookChanges

ALLOW = "HOLDFAST_WEBHOOK_ALLOW"


def make_policy(allow: Iterable[str] | None) -> AddressPolicy:
    """The policy of a program without a daemon: what it says, or what its environment does, separated by commas."""
    if isinstance(allow, str):
        raise InvalidInput(f"webhook_allow {shown(allow)} is not valid: give a list of hosts, addresses and networks")
    words = [word for word in os.environ.get(ALLOW, "").split(",") if word.strip()] if allow is None else allow
    return AddressPolicy.of(words)


class Webhooks:
    """The part of `Holdfast` that keeps webhooks and looks at what was delivered to them."""

    _access: StoreAccess
    # None: the daemon decides where webhooks may lead.
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

        `on` is a name of events, the beginning of one with `*` behind, or several of these. The answer is the only
        place where the secret is shown; receivers check with it who sent what they get, see `verify_webhook`.
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
        """Send nothing to it. Events that come meanwhile pass it by; what is on its way fails, and is listed."""
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
        """Send an event `webhook.test` to it, and to nobody else; `hf.job(answer.job_id)` tells how it went."""
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
            name=None if name is None else check_name("name", name),
            # Made here, so that a repeat of a call whose answer got lost still knows it.
            secret=webhooks.make_secret() if secret is None else check_secret(secret),
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
            name=None if name is None else check_name("name", name),
            secret=None if secret is None else check_secret(secret),
            timeout_ms=_timeout(timeout),
        )

    def _checked(self, url: str) -> str:
        if self._targets is None:
            read_url(url)
        else:
            check_target(url, self._targets)
        return url


def _patterns(on: str | Sequence[str]) -> tuple[str, ...]:
    words = (on,) if isinstance(on, str) else tuple(on)
    if not words:
        raise InvalidInput("on is empty: name the events, such as 'job.run.failed' or 'job.*'")
    return tuple(check_pattern("on", word) for word in words)


def _timeout(value: Duration | None) -> Millis | None:
    return None if value is None else check_int("timeout", to_millis("timeout", value), 1, LONGEST_TIMEOUT_MS)


def _ref(ref: str) -> str:
    return check_label("webhook", ref)


def _id(delivery: str | None) -> str | None:
    return None if delivery is None else check_label("delivery", delivery)


def _reason(reason: str | None) -> str | None:
    return None if reason is None else check_label("reason", reason, 1_000)


def _page(ref: str, failed: bool, limit: int, cursor: str | None) -> tuple[str, bool, int, str | None]:
    below = None if cursor is None else check_label("cursor", cursor)
    return _ref(ref), check_bool("failed", failed), check_int("limit", limit, 1, 1_000), below
