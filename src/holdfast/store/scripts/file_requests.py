"""Files of runs on other machines: a reader asks, the machine that has the file answers, by way of the database.

A request names a run and, of its artifacts, one by its name; never a path. The answer has at most 256 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs

from holdfast.core.job import RunId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

PIECE_BYTES = 256 << 10


class FileKind(StrEnum):
    """What is asked for."""

    LOG = "log"
    TAIL = "tail"
    ARTIFACT = "artifact"
    ARTIFACTS = "artifacts"


class FileRequest(Struct, frozen=True):
    """At most `most` bytes from `start` on of a log or an artifact; of a tail, `start` is how many lines."""

    id: str
    node: str
    run_id: RunId
    what: FileKind
    name: str | None = None
    start: int = 0
    most: int = PIECE_BYTES


class FileRequestRow(Struct, frozen=True):
    """A row of `file_requests`, without its answer."""

    id: str
    node: str
    run_id: RunId
    what: str
    name: str | None
    start: int
    most: int
    is_answered: int


class FileAnswer(Struct, frozen=True):
    """Some bytes: where they begin, and where the whole ends by now; or the `problem` that there is none."""

    begins: int | None = None
    ends: int | None = None
    data: bytes | None = None
    problem: str | None = None


def ask_file(tx: Tx, request: FileRequest) -> None:
    """Ask; whoever is on that machine hears of it."""
    tx.run(sql.insert_file_request, **structs.asdict(request))
    tx.changes.files = True


def list_requests(tx: Tx) -> list[FileRequestRow]:
    """All that is asked for, and not read yet."""
    return tx.all(sql.list_file_requests, FileRequestRow)


def answer_file(tx: Tx, request_id: str, answer: FileAnswer) -> None:
    """Answer, unless somebody has, or nobody asks any more."""
    if tx.run(sql.answer_file_request, id=request_id, **structs.asdict(answer)):
        tx.changes.files = True


def is_answered(tx: Tx, request_id: str) -> bool:
    """Whether there is something to read: an answer, or nothing any more."""
    return bool(tx.value(sql.is_file_answered, id=request_id) != 0)


def take_answer(tx: Tx, request_id: str) -> FileAnswer | None:
    """Read the answer, which is removed with that; None if the request is gone."""
    return tx.one(sql.take_file_answer, FileAnswer, id=request_id)


def forget_requests(tx: Tx, ids: Iterable[str]) -> None:
    """Remove what nobody reads any more."""
    tx.run_many(sql.delete_file_request, [{"id": request_id} for request_id in ids])
