"""What readers of `/v1/changes` are told of a commit."""

from __future__ import annotations

import msgspec

from holdfast.decoding import decode
from holdfast.store.engine import Changes
from holdfast.store.topics import TopicFlags, flags


class ToldChanges(TopicFlags, frozen=True, kw_only=True, omit_defaults=False):
    """What a commit changed. `ready`: queues in which jobs may start. `ended`: ids of jobs.

    `due`: a job, a schedule or a limit may be due earlier than before. `stops`: runs are to stop. `unknown`: anything
    may be different. `foreign`: another process did more than to add jobs. `watches`, `files`: what they say.
    `topics`: what else it is about.
    """

    ready: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    @classmethod
    def of(cls, changes: Changes) -> ToldChanges:
        """Readers are told of new jobs by the queues that are ready for them, which the caller has added."""
        return cls(ready=frozenset(changes.ready), ended=frozenset(changes.ended), **flags(changes.topics))

    def encoded(self) -> bytes:
        """A line of the stream."""
        return msgspec.json.encode(self)

    @classmethod
    def read(cls, line: bytes) -> Changes:
        """The changes that a line tells, as far as this program knows them."""
        told = decode(line, cls)
        return Changes(set(told.ready), set(told.ended), told.known())
