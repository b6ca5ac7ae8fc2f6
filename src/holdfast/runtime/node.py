"""Which machine this is, as far as it matters for who can judge whom."""

from __future__ import annotations

import os

from holdfast.core.tokens import Tokens, usual_tokens
from holdfast.store.machine import boot_id as boot_id
from holdfast.store.machine import node_name as node_name


def own_tokens() -> Tokens:
    """What this machine has unless somebody decides otherwise, by the cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usual_tokens(cores or 1)


def process_id() -> int:
    """This process, as its own pid namespace numbers it."""
    return os.getpid()
