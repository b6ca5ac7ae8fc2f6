"""A command of a besieged daemon: it notes its start, that it lives, and its end, with nothing of ours imported."""

import os
import sys
import time

path = os.path.join(sys.argv[1], f"{os.getpid()}-{time.monotonic_ns()}.journal")
file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
run = (os.environ["HOLDFAST_RUN_ID"], os.environ["HOLDFAST_JOB_ID"])


def note(word: str, *about: str) -> None:
    os.write(file, " ".join((str(time.monotonic_ns()), word, *about, "\n")).encode())


note("start", *run)
for _ in range(int(sys.argv[2])):
    time.sleep(0.005)
    note("alive")
note("end", *run)
