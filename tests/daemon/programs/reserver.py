"""Holds a reservation until a file says that it is to end: NAME SCOPE TTL."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from holdfast import Holdfast

name, scope, ttl = sys.argv[1:]
side = Path(os.environ["HOLDFAST_TEST_SIDE"])

with Holdfast().reserve(scope, ttl=float(ttl), reserved_by=name) as held:
    (side / f"{name}-granted").touch()
    while not (side / f"{name}-end").exists():
        if not held.is_held:
            (side / f"{name}-lost").touch()
        time.sleep(0.01)
