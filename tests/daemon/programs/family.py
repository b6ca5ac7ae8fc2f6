"""A command with a grandchild, which may ignore SIGTERM. The first time it never ends; later it looks who is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.chaos.processes import KnownProcess

folder, manner = Path(sys.argv[1]), sys.argv[2]
if len(sys.argv) > 3:
    if manner == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / "grandchild").write_text(str(KnownProcess.of(os.getpid())))
    time.sleep(3600)
elif (folder / "grandchild").exists():
    is_left = KnownProcess.read((folder / "grandchild").read_text()).is_alive
    sys.exit("there is somebody left from before" if is_left else 0)
else:
    subprocess.run([sys.executable, "-m", "tests.daemon.programs.family", *sys.argv[1:], "grandchild"], check=False)
