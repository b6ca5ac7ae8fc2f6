"""What reads the calls of the API can be made and unmade: some unions crash msgspec when they are freed."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from holdfast.wire.calls import CALLS
from holdfast.wire.special_calls import SPECIAL_CALLS
for call in (*CALLS, *SPECIAL_CALLS):
    call.body_decoder, call.path_part, call.query_part
for call in CALLS:
    call.decoder
"""


def test_a_process_that_read_every_call_ends_well() -> None:
    # With this setting, memory that was freed is never what it was.
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
