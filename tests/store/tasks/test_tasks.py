"""Workers declare their tasks: each version is known while it is offered, and for thirty days after that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from holdfast.core.errors import InvalidInput, Reserved, UnknownTask
from holdfast.core.job import Millis
from holdfast.core.messages.sessions import Offer
from holdfast.core.messages.tasks import KnownTask, UndeclaredTask
from holdfast.core.tasks.task import MAX_SCHEMA, DeclaredTask
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.cancel import cancel_job
from holdfast.store.scripts.maintenance.retention import enqueue_measured
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.tasks.declared_tasks import find_task, forget_tasks, list_tasks, list_undeclared
from tests.store.acts import NOW, claim_one, dump, job, lose, open_session, put_one, write
from tests.store.task_acts import begin, declared

LATER = NOW + 1_000


def index(queue: str | None = None, **more: Any) -> DeclaredTask:
    return declared("index", queue=queue, **more)


def stop(engine: Engine, session: str, now: Millis = LATER) -> None:
    assert write(engine, sessions.close_session, session, "success", now)


def find(engine: Engine, name: str = "index") -> KnownTask:
    return engine.query(find_task, name)


def queues(engine: Engine) -> list[str | None]:
    """Of every version, the newest first."""
    return [version.options.queue for version in find(engine).versions]


def test_what_a_worker_declares_is_known(engine: Engine) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    begin(
        engine, "a", structs.replace(index("code", arguments=schema), source="app:3", doc="Indexes."), declared("other")
    )
    [known, other] = engine.query(list_tasks)
    assert (known.name, known.workers, other.name) == ("index", 1, "other")
    [version] = known.versions
    assert (version.options.queue, version.arguments, version.source, version.doc) == (
        "code",
        schema,
        "app:3",
        "Indexes.",
    )
    assert (version.declared_at, version.offered_at) == (NOW, NOW)


def test_a_version_that_is_offered_already_is_not_written_again(engine: Engine) -> None:
    begin(engine, "a", structs.replace(index(), source="app:3"))
    before = dump(engine)["task_versions"]
    begin(engine, "b", structs.replace(index(), source="app:9"), now=LATER)
    assert dump(engine)["task_versions"] == before
    assert find(engine).workers == 2


def test_a_repeat_of_the_call_changes_nothing(engine: Engine) -> None:
    tables = ("task_versions", "task_offers", "workers")
    begin(engine, "a", index())
    before = dump(engine)
    begin(engine, "a", index(), now=LATER)
    assert [dump(engine)[table] for table in tables] == [before[table] for table in tables]


def test_of_several_versions_the_one_that_came_last_is_first(engine: Engine) -> None:
    begin(engine, "a", index("old"))
    begin(engine, "b", index("new"), now=LATER)
    assert queues(engine) == ["new", "old"]
    begin(engine, "c", index("old"), now=LATER + 1)
    assert queues(engine) == ["new", "old"], "one more worker of a version that lives makes it no newer"


def test_a_version_that_is_offered_comes_before_one_that_was(engine: Engine) -> None:
    begin(engine, "a", index("old"))
    begin(engine, "b", index("new"), now=LATER)
    stop(engine, "b", LATER + 5)
    assert queues(engine) == ["old", "new"]
    assert [version.workers for version in find(engine).versions] == [1, 0]
    assert find(engine).versions[1].offered_at == LATER + 5


def test_going_back_to_an_earlier_version_makes_it_the_newest(engine: Engine) -> None:
    for session, queue in (("a", "old"), ("b", "new")):
        begin(engine, session, index(queue))
    stop(engine, "a")
    begin(engine, "c", structs.replace(index("old"), source="app:7"), now=LATER)
    assert queues(engine) == ["old", "new"]
    assert find(engine).versions[0].source == "app:7"


def test_a_clock_that_was_set_back_does_not_keep_the_newest_from_coming_first(engine: Engine) -> None:
    begin(engine, "a", index("old"), now=NOW + 10**9)
    begin(engine, "b", index("new"))
    assert queues(engine) == ["new", "old"]


def test_a_worker_that_died_offers_nothing_any_more(engine: Engine) -> None:
    begin(engine, "a", index("old"))
    begin(engine, "b", index("new"))
    put_one(engine, "j1")
    claim_one(engine, session="b")
    lose(engine, "b", now=LATER)
    assert queues(engine) == ["old", "new"]


def test_what_nobody_offered_for_thirty_days_is_forgotten(engine: Engine) -> None:
    begin(engine, "a", index())
    begin(engine, "b", declared("other"))
    stop(engine, "a", NOW)
    assert write(engine, forget_tasks, NOW, 10) == 0
    assert write(engine, forget_tasks, NOW + 1, 10) == 1
    assert [task.name for task in engine.query(list_tasks)] == ["other"], "a worker still offers that one"
    with pytest.raises(UnknownTask, match="there is no task 'index'"):
        find(engine)


@pytest.mark.parametrize(
    ("asked", "says"),
    [("indx_file", "did you mean 'index_file'"), ("zzz", "holdfast tasks lists those there are")],
)
def test_an_unknown_name_is_told_with_the_nearest_one(engine: Engine, asked: str, says: str) -> None:
    with pytest.raises(UnknownTask, match="no worker has declared any task yet"):
        find(engine, asked)
    begin(engine, "a", declared("index_file"), declared("send_mail"))
    with pytest.raises(UnknownTask, match=says):
        find(engine, asked)


def test_a_worker_declares_each_task_once_and_only_what_it_offers(engine: Engine) -> None:
    before = dump(engine)
    with pytest.raises(InvalidInput, match="declared twice"):
        begin(engine, "a", index(), index("other"))
    offer = Offer("w", "w", tasks=("other",), queues=(), slots=1, declared=(index(),))
    with pytest.raises(InvalidInput, match="declared but not offered"):
        open_session(engine, "a", offer=offer)
    with pytest.raises(Reserved, match=r"queue 'holdfast\.maintenance' is reserved"):
        begin(engine, "a", index("holdfast.maintenance"))
    with pytest.raises(Reserved, match=r"task 'holdfast\.x' is reserved: .* choose another name"):
        begin(engine, "a", declared("holdfast.x"))
    # Nor can it be offered without a word about it.
    offer = Offer("w", "w", tasks=("other", "holdfast.x"), queues=("holdfast.x",), slots=1)
    with pytest.raises(Reserved, match=r"task 'holdfast\.x' is reserved"):
        open_session(engine, "a", offer=offer)
    with pytest.raises(InvalidInput, match="no JSON schema of an object"):
        begin(engine, "a", index(arguments={"required": 5}))
    with pytest.raises(InvalidInput, match="the schema of task 'index' is"):
        begin(engine, "a", index(arguments={"properties": {"x": {"const": "x" * MAX_SCHEMA}}}))
    assert dump(engine) == before


def test_a_list_leaves_out_long_arguments(engine: Engine) -> None:
    long = {"properties": {"x": {"const": "x" * 3_000}}}
    begin(engine, "a", index(arguments=long), declared("other"))
    assert [task.versions[0].arguments for task in engine.query(list_tasks)] == [None, {}]
    assert find(engine).versions[0].arguments == long


def test_lists_go_on_behind_a_name(engine: Engine) -> None:
    begin(engine, "a", *(declared(f"t{number}") for number in range(3)))
    begin(engine, "b", declared("t1", queue="other"))
    assert [task.name for task in engine.query(list_tasks, "t0", 1)] == ["t1"]
    assert [len(task.versions) for task in engine.query(list_tasks)] == [1, 2, 1]


def test_tasks_that_jobs_wait_for_and_nobody_declares_are_listed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(engine, "a", index())
    open_session(engine, "b", offer=Offer("w-b", "w", tasks=("plain",), queues=("default",), slots=1))
    for number, name in enumerate(["indx", "index", "plain", "command", "zebra"]):
        put_one(engine, f"j{number}", task=name)
    put_one(engine, "later", task="indx", due=LATER)
    found = engine.query(list_undeclared)
    [first, last] = (job(engine, name).number for name in ("j0", "j4"))
    assert found == [UndeclaredTask("indx", 2, first, "index"), UndeclaredTask("zebra", 1, last, None)]
    monkeypatch.setattr("holdfast.store.scripts.tasks.declared_tasks.MOST_UNDECLARED", 1)
    assert engine.query(list_undeclared) == found[:1]
    write(engine, cancel_job, "j4", NOW)
    begin(engine, "c", declared("indx"))
    assert engine.query(list_undeclared) == []


def test_jobs_of_the_systems_own_wait_for_tasks_that_need_no_declaration(engine: Engine) -> None:
    write(engine, enqueue_measured, ["m"], NOW)
    assert engine.query(list_undeclared) == []
