"""The messages between a worker and the process of a task keep the names that they had in 0.4.

While Holdfast is upgraded, a worker of the old version goes on, and starts processes that have the new code.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.core.jobs.settle import Completed
from holdfast.tasks.raising import StopReason
from holdfast.workers.process.channel import (
    CheckpointKept,
    Happened,
    LineSaid,
    Noted,
    PredecessorsAsked,
    PredecessorsTold,
    Saved,
    Stop,
    TaskEnded,
    from_child,
    to_child,
)

TO_CHILD = {
    '{"type":"Stop","reason":"cancel"}': Stop(StopReason.CANCEL),
    '{"type":"Kept","number":1,"code":null,"error":null}': CheckpointKept(1),
    '{"type":"Told","number":2,"predecessors":[]}': PredecessorsTold(2, []),
}
FROM_CHILD = {
    '{"type":"Noted","fraction":0.5,"text":null}': Noted(0.5, None),
    '{"type":"Saved","number":1,"data":"{}"}': Saved(1, "{}"),
    '{"type":"Asked","number":2}': PredecessorsAsked(2),
    '{"type":"Happened","number":3,"name":"go","attributes":{}}': Happened(3, "go", {}),
    '{"type":"Said","level":20,"text":"hello"}': LineSaid(20, "hello"),
    '{"type":"Ended","outcome":{"type":"Completed","result":"1"},"traceback":null}': TaskEnded(Completed("1")),
}
MESSAGES = [
    *((line, message, to_child) for line, message in TO_CHILD.items()),
    *((line, message, from_child) for line, message in FROM_CHILD.items()),
]


@pytest.mark.parametrize(("line", "message", "decoder"), MESSAGES, ids=[line.split('"')[3] for line, _, _ in MESSAGES])
def test_a_message_is_written_and_read_as_in_0_4(line: str, message: Any, decoder: msgspec.json.Decoder[Any]) -> None:
    assert msgspec.json.encode(message).decode() == line
    assert decoder.decode(line) == message
