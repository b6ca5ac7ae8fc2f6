"""A program that runs commands, and that kills itself when it is about to call a certain function of Holdfast."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from holdfast import Holdfast

target, schema, last_call = sys.argv[1:]


def die_at(frame: FrameType, event: str, argument: Any) -> None:
    if event == "call" and frame.f_code.co_qualname == last_call:
        os.kill(os.getpid(), signal.SIGKILL)


if last_call != "none":
    threading.setprofile(die_at)
Holdfast(target, schema=schema).run()
