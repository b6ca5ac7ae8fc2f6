"""The user and the program of this process, as jobs and events show them."""

from __future__ import annotations

import os
import pwd
import sys
from functools import cache

from holdfast.core.jobs import trigger
from holdfast.runtime.current import current_call, current_run

LONGEST = 100

_program: str | None = None


def name_program(name: str) -> None:
    """Set the name of this program, if its file does not tell it."""
    global _program
    _program = name
    _called.cache_clear()


def what_triggers() -> str:
    """The trigger of calls from here: the run or the handler that they come from, or this user with this program."""
    if (run := current_run()) is not None:
        return trigger.by_run(run.job_id, run.run_id)
    call = current_call()
    return _called() if call is None else trigger.by_app(call.app_key, call.handler, call.invocation)


@cache
def _called() -> str:
    name = _program or os.path.basename(getattr(sys, "argv", [""])[0] or "")
    return trigger.called(by=user_name(os.getuid()), program=_storable(name) or "python")


@cache
def user_name(uid: int) -> str:
    """The name of a user of this machine, or the number."""
    try:
        return _storable(pwd.getpwuid(uid).pw_name)
    except (KeyError, OSError):
        return str(uid)


def _storable(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return "".join(letter for letter in clean if letter.isprintable())[:LONGEST]
