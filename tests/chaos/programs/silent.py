"""A program that stands still in the middle of a transaction: it stops itself, and is never heard of again."""

from __future__ import annotations

import os
import signal
import sys

from holdfast.store.engine import Tx
from holdfast.store.postgres import pool
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.queues.queues import list_queues

target, schema, patience = sys.argv[1:]
pool.SILENCE_S = float(patience)
engine = PostgresEngine(target, schema=schema, now=lambda: 0)


def stand_still(tx: Tx) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


engine.query(list_queues)
engine.submit(stand_still).result()
