"""The files that a job of a watch is about."""

from __future__ import annotations

import json

from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules.limits import MOST_CHANGED
from holdfast.core.values.watch import SeenFile
from holdfast.store.engine import Engine
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.watches.changed_files import changed_files
from holdfast.store.scripts.watches.plans import take_in, tell
from holdfast.store.scripts.watches.watches import remove_watch
from holdfast.store.statements import sql
from tests.store.acts import NOW, select, write
from tests.store.watch_acts import add, jobs, planned


def test_the_files_of_a_job_that_never_ran_belong_to_the_one_in_its_place(engine: Engine) -> None:
    add(engine, payload='{"paths": "{paths}", "n": "{paths_changed}", "cut": "{truncated}"}')
    write(engine, take_in, "w1", 1, [SeenFile("a", "1"), SeenFile("b", "1")], NOW)
    write(engine, tell, "w1", NOW)
    write(engine, take_in, "w1", 1, [SeenFile("b", None), SeenFile("c", "1")], NOW)
    write(engine, tell, "w1", NOW)
    first, second = jobs(engine)
    assert (first["state"], second["state"]) == ("SUPERSEDED", "QUEUED")
    assert json.loads(second["payload"]) == {"paths": ["/src/a", "/src/b", "/src/c"], "n": 3, "cut": False}
    found = engine.query(changed_files, second["id"])
    assert [(file.path, file.change) for file in found] == [
        ("/src/a", "added"),
        ("/src/b", "deleted"),
        ("/src/c", "added"),
    ]
    assert (found.total, found.truncated) == (3, False)
    assert [file.relative for file in engine.query(changed_files, second["id"], "a", 1)] == ["b"]


def test_of_very_many_files_the_first_are_kept(engine: Engine) -> None:
    add(engine, payload='{"paths": "{paths}", "cut": "{truncated}"}')
    for start in range(0, MOST_CHANGED + 500, 500):
        write(engine, take_in, "w1", 1, [SeenFile(f"{n:06}", "1") for n in range(start, start + 500)], NOW)
    write(engine, tell, "w1", NOW)
    [job] = jobs(engine)
    found = engine.query(changed_files, job["id"])
    assert (len(found), found.total, found.truncated) == (MOST_CHANGED, MOST_CHANGED + 500, True)
    payload = json.loads(job["payload"])
    assert payload["cut"]
    assert 60_000 < len(json.dumps(payload["paths"], separators=(",", ":"))) <= 64 << 10
    assert select(engine, "SELECT * FROM watch_changes") == []


def test_a_job_about_one_file_and_a_retry_are_about_it(engine: Engine) -> None:
    add(engine)
    planned(engine, ("deep/a", "1"))
    [job] = jobs(engine)
    [file] = engine.query(changed_files, job["id"])
    assert (file.path, file.relative, file.change) == ("/src/deep/a", "deep/a", "added")
    again = write(engine, retry_job, job["id"], NOW)
    assert list(engine.query(changed_files, again.id or "")) == [file]
    for number, trigger in enumerate((None, "no JSON", "[]", '{"kind":"watch"}', '{"kind":"watch","change":7}')):
        write(engine, enqueue, [NewJob(id=f"plain{number}", task="other", trigger=trigger)], NOW)
        assert len(engine.query(changed_files, f"plain{number}")) == 0


def test_files_go_with_their_job_and_their_watch(engine: Engine) -> None:
    add(engine)
    write(engine, take_in, "w1", 1, [SeenFile("a", "1")], NOW)
    write(engine, tell, "w1", NOW)
    write(engine, take_in, "w1", 1, [SeenFile("b", "1")], NOW)
    write(engine, remove_watch, "src")
    assert select(engine, "SELECT * FROM watch_changes") == []
    [job] = jobs(engine)
    write(engine, lambda tx: tx.run(sql.delete_job, id=job["id"]))
    assert select(engine, "SELECT * FROM changed_files") == select(engine, "SELECT * FROM changed_file_lists") == []


def test_of_a_job_that_is_about_something_else_nothing_is_carried_over(engine: Engine) -> None:
    add(engine, subject="all")
    elsewhere = '{"kind":"watch","watch":"other","path":"/elsewhere/x","change":"added"}'
    write(engine, enqueue, [NewJob(id="j", task="index", subject="all", trigger=elsewhere)], NOW)
    write(engine, take_in, "w1", 1, [SeenFile("a", "1")], NOW)
    write(engine, tell, "w1", NOW)
    assert [file.relative for file in engine.query(changed_files, jobs(engine)[-1]["id"])] == ["a"]
