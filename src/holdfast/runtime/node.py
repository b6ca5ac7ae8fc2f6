"""This machine and this process, as sessions name them."""

from __future__ import annotations

import os

from holdfast.core.rules.tokens import Tokens, usual_tokens
from holdfast.store.machine import boot_id as boot_id
from holdfast.store.machine import node_name as node_name


def own_tokens() -> Tokens:
    """The tokens of this machine by default, given the cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usual_tokens(cores or 1)


def process_id() -> int:
    """The pid of this process in its own pid namespace."""
    return os.getpid()
