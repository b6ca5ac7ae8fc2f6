"""Queues: what is set for them, live and for all processes at once.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.client.durations import Duration, to_millis, to_timeout
from holdfast.client.retry import Retry
from holdfast.client.store_access import StoreAccess
from holdfast.core.breaker import LONGEST_OPEN_MS, MOST_FAILURES
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_int, check_label, check_name, shown
from holdfast.core.queue import MOST_WAITING, Overflow, QueueChanges, QueueClass, QueuePreset, QueueSetting
from holdfast.core.rate import Rate, check_rate, parse_rate
from holdfast.core.retry import RetryPolicy
from holdfast.store.scripts import queues
from holdfast.store.scripts.queues import Queue

LONGEST_REASON = 1_000
MOST_AT_ONCE = 1_000_000


class Queues:
    """The part of `Holdfast` that sets queues up and looks at what is set for them."""

    _access: StoreAccess

    def set_queue(
        self,
        queue: str,
        *,
        limit: int | None = None,
        rate: str | tuple[int, Duration] | None = None,
        max_length: int | None = None,
        overflow: str | None = None,
        queue_class: str | None = None,
        retry: Retry | int | None = None,
        preset: str | None = None,
        timeout: Duration | None = None,
        breaker: int | None = None,
        breaker_for: Duration | None = None,
        clear: str | Iterable[str] = (),
    ) -> Queue:
        """Change what is set for a queue: `hf.set_queue("mail", limit=2, rate="10/min", max_length=1000)`.

        `limit` is how many of its jobs run at once and `rate` how many start within any such time, over all processes.
        With `max_length` jobs waiting it is full: it refuses more (`overflow="reject"`), or ends waiting ones of lower
        priority to make room (`"shed"`). `queue_class` is `"light"`, `"normal"` or `"heavy"`. `retry` and `timeout` are
        for jobs that say nothing themselves. Without a `retry`, `preset` stands for one: `"cleanup"` for a single
        retry, `"indexing"` for 5, after 1 s, 3 s and so on up to 5 min. After `breaker` failures in a row by the fault
        of the machine (5; 0 for never), nothing of it starts for `breaker_for` (30 s); then one job tries. None leaves
        a setting as it is; `clear` names those that get their default back.
        """
        changes = make_changes(
            limit, rate, max_length, overflow, queue_class, retry, preset, timeout, breaker, breaker_for, clear
        )
        return self._access.write(queues.set_queue, check_name("queue", queue), changes)

    async def aset_queue(
        self,
        queue: str,
        *,
        limit: int | None = None,
        rate: str | tuple[int, Duration] | None = None,
        max_length: int | None = None,
        overflow: str | None = None,
        queue_class: str | None = None,
        retry: Retry | int | None = None,
        preset: str | None = None,
        timeout: Duration | None = None,
        breaker: int | None = None,
        breaker_for: Duration | None = None,
        clear: str | Iterable[str] = (),
    ) -> Queue:
        """The awaitable twin of `set_queue`."""
        changes = make_changes(
            limit, rate, max_length, overflow, queue_class, retry, preset, timeout, breaker, breaker_for, clear
        )
        return await self._access.awrite(queues.set_queue, check_name("queue", queue), changes)

    def limit(self, queue: str, concurrency: int | None) -> None:
        """How many jobs of a queue may run at once over all processes; None lifts the limit."""
        self._access.write(queues.set_limit, check_name("queue", queue), _limit("concurrency", concurrency))

    async def alimit(self, queue: str, concurrency: int | None) -> None:
        """The awaitable twin of `limit`."""
        await self._access.awrite(queues.set_limit, check_name("queue", queue), _limit("concurrency", concurrency))

    def pause(self, queue: str, reason: str | None = None) -> None:
        """Start nothing new from a queue. What runs goes on."""
        self._access.write(queues.pause, check_name("queue", queue), _reason(reason), self._access.now())

    async def apause(self, queue: str, reason: str | None = None) -> None:
        """The awaitable twin of `pause`."""
        await self._access.awrite(queues.pause, check_name("queue", queue), _reason(reason), await self._access.anow())

    def resume(self, queue: str) -> None:
        """Start jobs of a paused queue again, also if its breaker was open."""
        self._access.write(queues.resume, check_name("queue", queue), self._access.now())

    async def aresume(self, queue: str) -> None:
        """The awaitable twin of `resume`."""
        await self._access.awrite(queues.resume, check_name("queue", queue), await self._access.anow())

    def queue(self, name: str) -> Queue:
        """What is set for a queue; one that nobody has set anything for has the defaults."""
        return self._access.read(queues.find_queue, check_name("queue", name))

    async def aqueue(self, name: str) -> Queue:
        """The awaitable twin of `queue`."""
        return await self._access.aread(queues.find_queue, check_name("queue", name))

    def queues(self) -> list[Queue]:
        """Every queue that has settings of its own."""
        return self._access.read(queues.list_queues)

    async def aqueues(self) -> list[Queue]:
        """The awaitable twin of `queues`."""
        return await self._access.aread(queues.list_queues)


def make_changes(
    limit: int | None = None,
    rate: str | tuple[int, Duration] | None = None,
    max_length: int | None = None,
    overflow: str | None = None,
    queue_class: str | None = None,
    retry: Retry | int | None = None,
    preset: str | None = None,
    timeout: Duration | None = None,
    breaker: int | None = None,
    breaker_for: Duration | None = None,
    clear: str | Iterable[str] = (),
) -> QueueChanges:
    """What is to change, from the words of `set_queue`; InvalidInput names what does not fit."""
    starts = None if rate is None else _rate(rate)
    cleared = [_clearable(name) for name in ([clear] if isinstance(clear, str) else list(clear))]
    _say_one_of_both(
        cleared,
        {
            "limit": limit,
            "rate": rate,
            "max_length": max_length,
            "overflow": overflow,
            "class": queue_class,
            "retry": retry if retry is not None else preset,
            "timeout": timeout,
            "breaker": breaker if breaker is not None else breaker_for,
        },
    )
    return QueueChanges(
        concurrency=_limit("limit", limit),
        rate_limit=None if starts is None else starts.limit,
        rate_window_ms=None if starts is None else starts.window_ms,
        max_length=None if max_length is None else check_int("max_length", max_length, 0, MOST_WAITING),
        overflow=None if overflow is None else Overflow(_one_of("overflow", overflow, tuple(Overflow))),
        queue_class=None if queue_class is None else QueueClass(_one_of("class", queue_class, tuple(QueueClass))),
        retry=None if retry is None else _policy(retry),
        preset=None if preset is None else QueuePreset(_one_of("preset", preset, tuple(QueuePreset))),
        timeout_ms=to_timeout(timeout),
        breaker=None if breaker is None else check_int("breaker", breaker, 0, MOST_FAILURES),
        breaker_for_ms=None if breaker_for is None else _breaker_for(breaker_for),
        clear=tuple(SETTINGS[name] for name in cleared),
    )


# What can be cleared, by the names that people give.
SETTINGS = {
    "limit": QueueSetting.CONCURRENCY,
    "rate": QueueSetting.RATE,
    "max_length": QueueSetting.MAX_LENGTH,
    "overflow": QueueSetting.OVERFLOW,
    "class": QueueSetting.QUEUE_CLASS,
    "retry": QueueSetting.RETRY,
    "timeout": QueueSetting.TIMEOUT,
    "breaker": QueueSetting.BREAKER,
}
# The same by the names of options and arguments.
ALSO_CALLED = {"retries": "retry", "queue_class": "class", "breaker_for": "breaker"}


def _clearable(name: str) -> str:
    word = name.replace("-", "_") if isinstance(name, str) else name
    word = ALSO_CALLED.get(word, word) if isinstance(word, str) else word
    if word not in tuple(SETTINGS):
        _one_of("clear", name, tuple(SETTINGS))
    return word


def _say_one_of_both(cleared: Iterable[str], given: Mapping[str, object]) -> None:
    for name in cleared:
        if given[name] is not None:
            raise InvalidInput(f"{name} is to be set to {shown(given[name])} and to be cleared; say one of them")


def _breaker_for(value: Duration) -> int:
    millis = to_millis("breaker_for", value)
    if not 1 <= millis <= LONGEST_OPEN_MS:
        raise InvalidInput(
            f"breaker_for {millis / 1000:g} s is not valid: use 1 ms to 366 days; for no breaker, set breaker to 0"
        )
    return millis


def _rate(value: str | tuple[int, Duration]) -> Rate:
    if isinstance(value, str) or not isinstance(value, tuple) or len(value) != 2:
        return parse_rate(value)
    count, window = value
    return check_rate(Rate(check_int("rate", count, 1, MOST_AT_ONCE), to_millis("rate window", window)))


def _policy(value: Retry | int) -> RetryPolicy:
    retry = Retry.of(value)
    if retry.permanent:
        raise InvalidInput("permanent= belongs to a task, not to a queue; use @hf.task(retry=Retry(…, permanent=…))")
    return retry.policy


def _one_of(what: str, value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidInput(
            f"{what} {shown(value)} is not valid: use {' or '.join(repr(str(word)) for word in allowed)}"
        )
    return str(value)


def _limit(what: str, value: int | None) -> int | None:
    return None if value is None else check_int(what, value, 0, MOST_AT_ONCE)


def _reason(value: str | None) -> str | None:
    return None if value is None else check_label("reason", value, LONGEST_REASON)
