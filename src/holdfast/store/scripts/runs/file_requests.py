"""Files of runs on other machines. A reader asks, and the machine that has the file answers, through the database.

A request names a run and, for an artifact, its name, but never a path. An answer has at most 256 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs

from holdfast.core.job import RunId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql
from holdfast.store.topics import FILES

PIECE_BYTES = 256 << 10


class FileKind(StrEnum):
    """What is asked for."""

    LOG = "log"
    TAIL = "tail"
    ARTIFACT = "artifact"
    ARTIFACTS = "artifacts"


class FileRequest(Struct, frozen=True):
    """At most `most` bytes of a log or an artifact, from `start` on. For a tail, `start` is the number of lines."""

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
    """Some bytes, where they begin, and where the file ends by now. Without bytes, `problem` says why."""

    begins: int | None = None
    ends: int | None = None
    data: bytes | None = None
    problem: str | None = None


def ask_file(tx: Tx, request: FileRequest) -> None:
    """Store a request. The programs on that machine are told of it."""
    tx.run(sql.insert_file_request, **structs.asdict(request))
    tx.changes.topics.add(FILES)


def list_requests(tx: Tx) -> list[FileRequestRow]:
    """All requests whose answers have not been read."""
    return tx.all(sql.list_file_requests, FileRequestRow)


def answer_file(tx: Tx, request_id: str, answer: FileAnswer) -> None:
    """Store an answer, unless there is one, or the request is gone."""
    if tx.run(sql.answer_file_request, id=request_id, **structs.asdict(answer)):
        tx.changes.topics.add(FILES)


def is_answered(tx: Tx, request_id: str) -> bool:
    """Whether the request has an answer, or is gone."""
    return bool(tx.value(sql.is_file_answered, id=request_id) != 0)


def take_answer(tx: Tx, request_id: str) -> FileAnswer | None:
    """Read the answer, and remove it. None if the request is gone."""
    return tx.one(sql.take_file_answer, FileAnswer, id=request_id)


def forget_requests(tx: Tx, ids: Iterable[str]) -> None:
    """Remove requests that are not waited for any more."""
    tx.run_many(sql.delete_file_request, [{"id": request_id} for request_id in ids])
