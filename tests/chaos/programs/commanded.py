"""A command with a child, both deaf to SIGTERM. The first waits for ever; a later one says who of it still lives."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tests.chaos.processes import KnownProcess

folder = Path(sys.argv[1])
run_id = os.environ["HOLDFAST_RUN_ID"]
earlier = [KnownProcess.read(path.name) for path in folder.glob("processes/*")]
alive = [process for process in earlier if process.is_alive]
(folder / "runs" / run_id).write_text(" ".join(map(str, alive)))
if not earlier:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.fork()
    (folder / "processes" / str(KnownProcess.of(os.getpid()))).touch()
    while True:
        time.sleep(3600)
