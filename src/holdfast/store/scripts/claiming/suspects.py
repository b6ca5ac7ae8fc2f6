"""Suspects: jobs whose processes died. They run with nothing beside them, so that it shows which one is to blame."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.rules.tokens import Tokens
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

MOST_SUSPECTS = 64


class Suspect(Struct, frozen=True, gc=False):
    """A job that waits to run with nothing beside it."""

    number: int
    id: JobId
    queued_at: Millis
    cpu: int
    gpu: int
    io: int
    tokens_since: Millis | None

    @property
    def needs(self) -> Tokens:
        """What it takes of the machine."""
        return Tokens(self.cpu, self.gpu, self.io)


def waiting_suspects(
    tx: Tx, offers: Iterable[tuple[Collection[str], Collection[str]]], open_lanes: int, node: int
) -> list[Suspect]:
    """The suspects of these queues and tasks that may run on this machine in these lanes, the longest wait first."""
    found = [
        suspect
        for queues, tasks in offers
        if queues and tasks
        for suspect in tx.all(
            sql.ready_suspects,
            Suspect,
            queues=msgspec.json.encode(list(queues)).decode(),
            tasks=msgspec.json.encode(list(tasks)).decode(),
            open_lanes=open_lanes,
            node=node,
            limit=MOST_SUSPECTS,
        )
    ]
    return sorted(found, key=lambda suspect: (suspect.queued_at, suspect.number))
