"""A command with a child, both deaf to SIGTERM. The first waits for ever; a later one says who of it still lives."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from holdfast.runtime.processes import look_at

folder = Path(sys.argv[1])
run_id = os.environ["HOLDFAST_RUN_ID"]
earlier = [int(path.name) for path in folder.glob("pids/*")]
alive = [pid for pid in earlier if (seen := look_at(pid)) is not None and seen.is_alive]
(folder / "runs" / run_id).write_text(" ".join(map(str, alive)))
if not earlier:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.fork()
    (folder / "pids" / str(os.getpid())).touch()
    while True:
        time.sleep(3600)
