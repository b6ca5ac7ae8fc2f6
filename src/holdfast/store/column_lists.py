"""The lists of columns and the filters that statements use by name. They are made from declarations.

`@columns(new_job)` and `@rows(r: new_job)` name a list, `@part(option_filters)` a part. Columns have types for
PostgreSQL, where new rows come as a JSON document. SQLite needs no types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.core.declared.option import JobOption, RetryKind
from holdfast.core.declared.options import FILTERS
from holdfast.store.macros import ColumnLists
from holdfast.store.option_columns import LONG, STORED, TOLD, kept_in
from holdfast.store.record_columns import RECORD_LISTS, RECORD_PARTS
from holdfast.store.rows import JobRow
from holdfast.store.setting_columns import OPTION_COLUMNS_OF_QUEUE, QUEUE_COLUMNS, WATCH_COLUMNS

_TYPES = {str: "TEXT", int: "BIGINT", float: "DOUBLE PRECISION"}


def _typed(columns: Mapping[str, type]) -> dict[str, str]:
    return {column: _TYPES[kind] for column, kind in columns.items()}


def _columns(options: Iterable[JobOption]) -> dict[str, str]:
    return {column: kind for option in options for column, kind in _typed(option.columns).items()}


# What every link of a retry chain has in common: what the job is, and its place.
_REQUEST = {
    "job_type": "TEXT",
    "payload": "TEXT",
    "position": "BIGINT",
    "parent_job_id": "TEXT",
    "group_seq": "BIGINT",
    "trigger": "TEXT",
    "template_id": "TEXT",
    "schedule_id": "TEXT",
    "fire_time": "BIGINT",
}

# A list shows only the beginning of these, because they may be long.
_DOCUMENTS = ("payload", "result_summary", "checkpoint", *LONG.values())

COLUMN_LISTS: ColumnLists = {
    # A job as it is enqueued.
    "new_job": {
        "id": "TEXT",
        **_REQUEST,
        **_columns(STORED),
        "state": "TEXT",
        "created_at": "BIGINT",
        "queued_at": "BIGINT",
        "finished_at": "BIGINT",
        "error_code": "TEXT",
        "reason": "TEXT",
        "schedule_type": "TEXT",
        "open_conditions": "BIGINT",
        "retry_of": "TEXT",
        "retried_from": "TEXT",
    },
    # What the next link of a retry chain takes from the one before.
    "continued_job": {
        **_REQUEST,
        **_columns(kept_in(RetryKind.IN_CHAIN)),
        "attempts": "BIGINT",
        "transient_tries": "BIGINT",
        "infra_tries": "BIGINT",
        "deaths": "BIGINT",
        "has_aged": "BIGINT",
        "checkpoint": "TEXT",
    },
    # What a worker is told of the options of a job.
    "told_options": _columns(TOLD),
    # What a list shows whole.
    "listed_job": {column: "" for column in JobRow.__struct_fields__ if column not in _DOCUMENTS},
    # What is set for a queue.
    "queue": _typed(QUEUE_COLUMNS.types),
    # What a queue says of jobs that say nothing.
    "options_of_queue": _typed(OPTION_COLUMNS_OF_QUEUE.types),
    # The settings of a watch, which may be changed.
    "watch": {"path": "TEXT", **_typed(WATCH_COLUMNS.types)},
    **RECORD_LISTS,
}


def _filter(option: JobOption) -> str:
    [(column, kind)] = option.columns.items()
    return f"(CAST(:{option.wire} AS {_TYPES[kind]}) IS NULL OR {column} = :{option.wire})"


def _document(column: str) -> str:
    """A document of at most :most bytes; of a longer one, its size and its beginning."""
    return (
        f"CASE WHEN octet_length({column}) <= :most THEN {column} END AS {column},\n"
        f"octet_length({column}) AS {column}_bytes,\n"
        f"CASE WHEN octet_length({column}) > :most THEN substr({column}, 1, :head) END AS {column}_head"
    )


MADE_PARTS: Mapping[str, str] = {
    "option_filters": "\nAND ".join(map(_filter, FILTERS)),
    "documents": ",\n".join(map(_document, _DOCUMENTS)),
    **RECORD_PARTS,
}
