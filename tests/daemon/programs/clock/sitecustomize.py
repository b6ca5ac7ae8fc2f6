"""Sets the wall clock of every process that finds this on its path by as many seconds as a file says.

Only the wall clock: the monotonic one stays what it is, as when somebody sets the clock of a machine.
"""

import os
import time

_file = os.environ["HOLDFAST_TEST_CLOCK"]
_time, _time_ns = time.time, time.time_ns


def _offset() -> int:
    try:
        with open(_file) as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


time.time = lambda: _time() + _offset()
time.time_ns = lambda: _time_ns() + _offset() * 1_000_000_000
