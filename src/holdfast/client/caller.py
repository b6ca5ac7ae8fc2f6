"""Who calls: the user and the program of this process, as jobs and events show it."""

from __future__ import annotations

import os
import pwd
import sys
from functools import cache

from holdfast.core import trigger
from holdfast.runtime.current import current_run

LONGEST = 100

_program: str | None = None


def name_program(name: str) -> None:
    """What this program is called, where the file it was started from does not tell."""
    global _program
    _program = name
    _called.cache_clear()


def what_triggers() -> str:
    """What a call from here is triggered by: the run that it comes from, or this user with this program."""
    run = current_run()
    return _called() if run is None else trigger.by_run(run.job_id, run.run_id)


@cache
def _called() -> str:
    name = _program or os.path.basename(getattr(sys, "argv", [""])[0] or "")
    return trigger.called(by=user_name(os.getuid()), program=_storable(name) or "python")


@cache
def user_name(uid: int) -> str:
    """The name of a user of this machine, or his number."""
    try:
        return _storable(pwd.getpwuid(uid).pw_name)
    except (KeyError, OSError):
        return str(uid)


def _storable(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return "".join(letter for letter in clean if letter.isprintable())[:LONGEST]
