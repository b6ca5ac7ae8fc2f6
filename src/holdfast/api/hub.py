"""Commits, told to every long call that waits for one: a single listener on the engine for all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from holdfast.store.engine import Changes, Engine

MOST_IDS = 5_000


class Subscription:
    """What a long call has not yet been told. One that falls behind is told to look for itself."""

    def __init__(self) -> None:
        self._waiting = Changes()
        self._told = asyncio.Event()

    def take(self, changes: Changes) -> None:
        """Add a commit to what is to be told."""
        self._waiting.merge(changes)
        if len(self._waiting.ended) > MOST_IDS:
            self._waiting = Changes(unknown=True)
        self._told.set()

    async def next(self, limit: float) -> Changes:
        """Everything since the last call, as soon as there is something; nothing after `limit` seconds."""
        try:
            async with asyncio.timeout(limit):
                await self._told.wait()
        except TimeoutError:
            return Changes()
        self._told.clear()
        told, self._waiting = self._waiting, Changes()
        return told


class Hub:
    """Lives on the event loop of the API."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._home = asyncio.get_running_loop()
        self._subscriptions: set[Subscription] = set()
        self._lock = threading.Lock()
        self._heard: Changes | None = None
        self._leave: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Begin to listen."""
        self._leave = await asyncio.to_thread(self._engine.listen, self._hear)

    def stop(self) -> None:
        """Listen no longer."""
        self._leave()

    def subscribe(self) -> Subscription:
        """Be told of every commit from now on, until `leave`."""
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Be told no longer."""
        self._subscriptions.discard(subscription)

    def _hear(self, changes: Changes) -> None:
        with self._lock:
            if self._heard is not None:
                self._heard.merge(changes)
                return
            self._heard = Changes()
            self._heard.merge(changes)
        self._home.call_soon_threadsafe(self._spread)

    def _spread(self) -> None:
        with self._lock:
            heard, self._heard = self._heard, None
        if heard is not None:
            for subscription in self._subscriptions:
                subscription.take(heard)
