"""Files of runs on other machines: asked for, answered and removed by way of the database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.core.errors import Elsewhere, InvalidInput, NotFound
from holdfast.core.messages.runs import Artifact
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.clock import ManualClock, SystemClock
from holdfast.runtime.file_answers import KEEP_S, FileAnswers
from holdfast.runtime.parts import Parts, commits_of
from holdfast.store import remote_files
from holdfast.store.files import JobFiles, segment_name
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.runs import output
from holdfast.store.scripts.runs.file_requests import (
    PIECE_BYTES,
    FileKind,
    FileRequest,
    FileRequestRow,
    ask_file,
    list_requests,
)
from holdfast.store.scripts.runs.output import list_artifacts, read_artifact, read_log, tail_log
from holdfast.store.scripts.sessions import sessions
from tests.store.acts import NOW, claim_some, end, execute, put_one, write


class Pair:
    """Two machines on one database. A job runs on the second one; the first wants to read what it writes."""

    def __init__(self, here: PostgresEngine, there: PostgresEngine) -> None:
        self.here = here
        self.there = there
        self.files = JobFiles(there.files)
        for name, engine in (("here", here), ("there", there)):
            session = NewSession(name, "daemon", engine.node, "boot", 1, None, host=name)
            write(engine, sessions.open_session, session, None, NOW)
        put_one(here, "j", node="there")
        [self.run] = claim_some(there, session="there")

    def log(self, data: bytes) -> None:
        """What the run has written so far."""
        folder = self.files.make(self.files.log_of("j", self.run.run_id))
        (folder / segment_name(0)).write_bytes(data)


@pytest.fixture
def pair(postgres_url: str, postgres_schema: str, tmp_path: Path) -> Iterator[Pair]:
    def machine(name: str) -> PostgresEngine:
        home = tmp_path / name
        return PostgresEngine(
            postgres_url, schema=postgres_schema, now=lambda: NOW, home=home, files=home / "jobs", pool_size=2
        )

    with closing(machine("here")) as here, closing(machine("there")) as there:
        yield Pair(here, there)


@contextmanager
def answering(engine: PostgresEngine) -> Iterator[None]:
    """The loop of a machine that answers, in a thread of its own."""
    ready = threading.Event()
    stops: list[object] = []

    async def work() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        answers = Parts([FileAnswers(engine, SystemClock())])
        await answers.start(commits_of(engine))
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        ready.set()
        await stop.wait()
        await answers.stop()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        stops[0]()  # type: ignore[operator]
        thread.join()


def test_a_log_of_another_machine_is_read_piece_by_piece(pair: Pair) -> None:
    data = bytes(range(256)) * 2_500
    pair.log(data)
    with answering(pair.there):
        found, sizes = b"", []
        while True:
            part = read_log(pair.here, "j", offset=len(found), limit=1 << 20)
            if not part.data:
                break
            found += part.data
            sizes.append(len(part.data))
        assert not part.eof
        end(pair.there, pair.run)
        assert read_log(pair.here, "j", offset=len(found)).eof
    assert found == data
    assert sizes == [PIECE_BYTES, PIECE_BYTES, len(data) - 2 * PIECE_BYTES]
    assert pair.here.query(list_requests) == []


def test_the_last_lines_come_from_there_as_well(pair: Pair) -> None:
    pair.log(b"one\ntwo\nthree\n")
    with answering(pair.there):
        assert tail_log(pair.here, "j", lines=2).data == b"two\nthree\n"


def test_several_read_at_the_same_time(pair: Pair) -> None:
    pair.log(b"hello\n")
    found: list[bytes] = []
    with answering(pair.there):
        threads = [threading.Thread(target=lambda: found.append(read_log(pair.here, "j").data)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [b"hello\n"] * 5
    assert pair.here.query(list_requests) == []


def test_artifacts_of_another_machine_are_listed_and_read(pair: Pair) -> None:
    data = b"x" * (PIECE_BYTES + 7)
    pair.files.artifact("j", "plots/a.png").write_bytes(data)
    with answering(pair.there):
        assert list_artifacts(pair.here, "j") == [Artifact("plots/a.png", len(data))]
        first = read_artifact(pair.here, "j", "plots/a.png", limit=1 << 20)
        rest = read_artifact(pair.here, "j", "plots/a.png", len(first.data))
        assert (first.size, first.data + rest.data) == (len(data), data)
        with pytest.raises(NotFound, match="job j has no artifact 'nothing'"):
            read_artifact(pair.here, "j", "nothing")


def test_no_request_leads_out_of_the_folder_of_its_job(pair: Pair) -> None:
    secret = pair.there.files.parent / "secret"
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("secret")
    pair.files.artifact("j", "fine").write_bytes(b"fine")
    folder = pair.files.artifacts_of("j")
    (folder / "link").symlink_to(secret)
    with answering(pair.there):
        with pytest.raises(NotFound, match="has no artifact 'link'"):
            read_artifact(pair.here, "j", "link")
        with pytest.raises(InvalidInput, match="is not a valid name"):
            read_artifact(pair.here, "j", "../../secret")
        # A caller that writes into the database itself gets no further either.
        request = FileRequest("r", pair.there.node, pair.run.run_id, FileKind.ARTIFACT, "../../../secret")
        assert remote_files.answer_for(pair.there, asked(request)).data is None


def asked(request: FileRequest) -> FileRequestRow:
    """A request as the machine that is asked reads it; nobody answers it."""
    fields = {name: getattr(request, name) for name in FileRequest.__struct_fields__}
    return FileRequestRow(**fields, is_answered=0)


def test_a_large_artifact_needs_a_folder_that_is_shared(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "LARGEST_ARTIFACT", 2 << 20)
    pair.files.artifact("j", "big").write_bytes(b"x" * (3 << 20))
    with answering(pair.there), pytest.raises(Elsewhere, match=r"has 3 MiB and is on node 'there'.*\[files\] shared"):
        read_artifact(pair.here, "j", "big")


def test_a_machine_that_is_away_is_named_with_when_it_was_last_seen(pair: Pair) -> None:
    pair.log(b"hello\n")
    execute(pair.there, "UPDATE sessions SET status = 'unknown', stopped_at = 1 WHERE id = 'there'")
    with pytest.raises(
        Elsewhere, match="is on node 'there', which is away; it was last seen at 2023-11-14 22:13:20 UTC"
    ):
        read_log(pair.here, "j")
    assert pair.here.query(list_requests) == []


def test_a_machine_that_does_not_answer_is_not_waited_for_forever(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "ANSWER_S", 0.05)
    with pytest.raises(Elsewhere, match=r"has not answered within 0.05 s; it was last seen at 2023"):
        read_log(pair.here, "j")
    assert pair.here.query(list_requests) == []


def test_what_nobody_reads_is_removed_after_a_minute(pair: Pair) -> None:
    for request_id, node in (("mine", pair.there.node), ("of another", "nobody")):
        write(pair.here, ask_file, FileRequest(request_id, node, pair.run.run_id, FileKind.LOG))
    pair.log(b"hello\n")

    async def work() -> None:
        clock = ManualClock()
        answers = FileAnswers(pair.there, clock)
        assert await answers.tick() == KEEP_S
        rows = {row.id: row.is_answered for row in pair.here.query(list_requests)}
        assert rows == {"mine": 1, "of another": 0}
        clock.advance(KEEP_S - 1)
        assert await answers.tick() == 1.0
        clock.advance(1)
        assert await answers.tick() is None

    asyncio.run(work())
    assert pair.here.query(list_requests) == []


def test_a_request_is_left_for_a_moment_to_who_may_have_the_file(pair: Pair) -> None:
    write(pair.here, ask_file, FileRequest("r", pair.there.node, pair.run.run_id, FileKind.LOG))

    async def work() -> None:
        clock = ManualClock()
        answers = FileAnswers(pair.there, clock)
        assert await answers.tick() == 1.0
        assert [row.is_answered for row in pair.here.query(list_requests)] == [0]
        clock.advance(1)
        await answers.tick()
        assert [row.is_answered for row in pair.here.query(list_requests)] == [1]

    asyncio.run(work())
