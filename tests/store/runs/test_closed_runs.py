"""A closed run is history: no column of it changes, whoever tries, on both engines."""

from __future__ import annotations

import pytest

from holdfast.core.errors import StoreError
from holdfast.core.job import JobId
from holdfast.store.engine import Engine
from holdfast.store.statements import Dialect
from tests.store.acts import claim_some, execute, put_and_end, put_one, select

MAY_CHANGE = {"artifacts", "log_path"}
COLUMNS = {
    Dialect.SQLITE: "SELECT name FROM pragma_table_info('job_runs')",
    Dialect.POSTGRES: "SELECT column_name FROM information_schema.columns"
    " WHERE table_name = 'job_runs' AND table_schema = current_schema()",
}
ANOTHER = {"status": "'FAILED'", "error_kind": "'infra'"}
A_TEXT = "'another'"
A_NUMBER = "987654"


@pytest.fixture
def closed(engine: Engine) -> Engine:
    """A store with a run that was completed, without artifacts and log."""
    put_and_end(engine, "done")
    return engine


def columns(engine: Engine) -> list[str]:
    """The columns of a run, as the database itself lists them."""
    return [str(*row.values()) for row in select(engine, COLUMNS[engine.dialect])]


def try_to_set(engine: Engine, column: str, value: str, job: JobId = "done") -> bool:
    """Whether the database takes another value for a column of the run of a job."""
    try:
        return execute(engine, f"UPDATE job_runs SET {column} = {value} WHERE job_id = '{job}'") == 1
    except StoreError:
        return False


def test_no_column_of_a_closed_run_changes(closed: Engine) -> None:
    guarded = [name for name in columns(closed) if name not in MAY_CHANGE]
    assert len(guarded) > 15
    taken = []
    for column in guarded:
        [row] = select(closed, f"SELECT {column} FROM job_runs WHERE job_id = 'done'")
        others = [ANOTHER[column]] if column in ANOTHER else [A_TEXT, A_NUMBER]
        others += ["NULL"] if row[column] is not None else []
        taken += [column for other in others if try_to_set(closed, column, other)]
    assert taken == []


def test_an_open_run_changes(engine: Engine) -> None:
    """So that the test above cannot pass because nothing can be set at all."""
    put_one(engine, "open")
    claim_some(engine)
    assert try_to_set(engine, "worker_id", A_TEXT, "open")
    assert try_to_set(engine, "exit_code", A_NUMBER, "open")
    assert try_to_set(engine, "error_kind", ANOTHER["error_kind"], "open")


def test_the_place_of_its_log_can_be_set_once(closed: Engine) -> None:
    assert try_to_set(closed, "log_path", "'runs/1'")
    assert try_to_set(closed, "log_path", "'runs/1'")
    assert not try_to_set(closed, "log_path", "'runs/2'")
    assert not try_to_set(closed, "log_path", "NULL")


def test_its_artifacts_grow_at_their_end_only(closed: Engine) -> None:
    assert try_to_set(closed, "artifacts", "'[]'")
    assert try_to_set(closed, "artifacts", """'[{"name":"a"}]'""")
    assert try_to_set(closed, "artifacts", """'[{"name":"a"},{"name":"b"}]'""")
    for other in ("NULL", "'[]'", """'[{"name":"a"}]'""", """'[{"name":"b"},{"name":"a"},{"name":"c"}]'""", "'x'"):
        assert not try_to_set(closed, "artifacts", other), other
