"""The program of a workspace that must be alone in its home: it leaves a file `two` if another one is there.

`python lonely.py PORT` listens on the port, and adds a line to `life` when it begins.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    with open("lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            Path("two").touch()
            sys.exit("there is another one in this home")
        with open("life", "a") as life:
            life.write(f"{os.getpid()}\n")
        listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        while True:
            listening.accept()[0].close()
            time.sleep(0)
