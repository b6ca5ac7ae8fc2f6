"""Dead letters: jobs that failed for good, by fingerprint. Every blocking call has an awaitable twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.client.store_access import StoreAccess
from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import JobRef
from holdfast.core.messages.dead_letters import AT_ONCE, Closing, DeadLetterJobs, DeadLetterPage, Letter
from holdfast.core.settings import rule_table
from holdfast.runtime.caller import what_triggers
from holdfast.store.script_names import dead_letter_rows, dead_letters, read_jobs


class DeadLetterCalls:
    """The part of `Holdfast` that deals with jobs that failed for good."""

    _access: StoreAccess

    def dead_letters(self, *, limit: int = 50, cursor: str | None = None, poison: bool = False) -> DeadLetterPage:
        """Jobs that failed for good and are not dealt with: one entry for each fingerprint, the last seen first.

        With `poison`, only jobs that are parked because process after process died with them.
        """
        return self._access.read(dead_letters.list_dead_letters, *_page(limit, cursor), bool(poison))

    async def adead_letters(
        self, *, limit: int = 50, cursor: str | None = None, poison: bool = False
    ) -> DeadLetterPage:
        """The awaitable twin of `dead_letters`."""
        return await self._access.aread(dead_letters.list_dead_letters, *_page(limit, cursor), bool(poison))

    def dead_letters_of(
        self, fingerprint: str, *, limit: int = 50, cursor: str | None = None, payloads: bool = False
    ) -> DeadLetterJobs:
        """The letters of one fingerprint, with a page of their jobs, newest first, bounded as that of `hf.jobs`."""
        wanted = (_fingerprint(fingerprint), *_page(limit, cursor), payloads)
        return self._access.read(dead_letters.find_dead_letters, *wanted)

    async def adead_letters_of(
        self, fingerprint: str, *, limit: int = 50, cursor: str | None = None, payloads: bool = False
    ) -> DeadLetterJobs:
        """The awaitable twin of `dead_letters_of`."""
        wanted = (_fingerprint(fingerprint), *_page(limit, cursor), payloads)
        return await self._access.aread(dead_letters.find_dead_letters, *wanted)

    def dead_letter(self, job: JobRef | int) -> Letter:
        """The letter of one job that failed for good, and who has dealt with it. NotFound if it has none."""
        found = self._access.read(read_jobs.find_job, _ref(job))
        return self._access.read(dead_letter_rows.letter_of, found.id)

    async def adead_letter(self, job: JobRef | int) -> Letter:
        """The awaitable twin of `dead_letter`."""
        found = await self._access.aread(read_jobs.find_job, _ref(job))
        return await self._access.aread(dead_letter_rows.letter_of, found.id)

    def retry_dead_letters(self, fingerprint: str, *, priority: int | None = None) -> Closing:
        """Run every job of a fingerprint again, as a new one, in the order in which they were enqueued.

        Jobs whose subject has a newer generation are taken from the list without running again. A job that fails again
        is a new letter.
        """
        steps = Steps(dead_letters.retry_dead_letters, self.dead_letters_of(fingerprint, limit=1))
        while steps.more:
            steps.add(self._access.write(*steps.next(self._access.now(), _priority(priority))))
        self._access.enqueued()
        return steps.closing

    async def aretry_dead_letters(self, fingerprint: str, *, priority: int | None = None) -> Closing:
        """The awaitable twin of `retry_dead_letters`."""
        steps = Steps(dead_letters.retry_dead_letters, await self.adead_letters_of(fingerprint, limit=1))
        while steps.more:
            steps.add(await self._access.awrite(*steps.next(await self._access.anow(), _priority(priority))))
        await self._access.aenqueued()
        return steps.closing

    def discard_dead_letters(self, fingerprint: str, *, reason: str | None = None) -> Closing:
        """Take every letter of a fingerprint from the list. The jobs stay as they are, with who did it and why."""
        steps = Steps(dead_letters.discard_dead_letters, self.dead_letters_of(fingerprint, limit=1))
        while steps.more:
            steps.add(self._access.write(*steps.next(self._access.now(), _reason(reason))))
        return steps.closing

    async def adiscard_dead_letters(self, fingerprint: str, *, reason: str | None = None) -> Closing:
        """The awaitable twin of `discard_dead_letters`."""
        steps = Steps(dead_letters.discard_dead_letters, await self.adead_letters_of(fingerprint, limit=1))
        while steps.more:
            steps.add(await self._access.awrite(*steps.next(await self._access.anow(), _reason(reason))))
        return steps.closing


class Steps:
    """An action on all letters that were there at its start, a few at a time, so that other callers need not wait."""

    def __init__(self, action: Callable[..., Closing], found: DeadLetterJobs) -> None:
        self._action = action
        self._fingerprint = found.letters.fingerprint
        # Jobs that fail again meanwhile have higher numbers.
        self.closing = Closing(0, 0, more=True, upto=found.letters.example.number)

    @property
    def more(self) -> bool:
        """Whether another step is needed."""
        return self.closing.more

    def next(self, now: int, how: Any) -> tuple[Any, ...]:
        """The next step, as the store takes it."""
        return (self._action, self._fingerprint, now, how, self.closing.upto, AT_ONCE, what_triggers())

    def add(self, step: Closing) -> None:
        """Count what a step has done."""
        done = self.closing
        self.closing = Closing(done.jobs + step.jobs, done.outdated + step.outdated, step.more, done.upto)


def _fingerprint(value: str) -> str:
    return rule_table.check("fingerprint", value)


def _page(limit: int, cursor: str | None) -> tuple[int, str | None]:
    return rule_table.check("limit", limit), None if cursor is None else rule_table.check("cursor", cursor)


def _ref(job: JobRef | int) -> str | int:
    return rule_table.check("job_id", job, "job") if isinstance(job, int) else option_kinds.id_of(job)


def _priority(value: int | None) -> int | None:
    return None if value is None else rule_table.check("priority", value)


def _reason(value: str | None) -> str | None:
    return None if value is None else rule_table.check("reason", value)
