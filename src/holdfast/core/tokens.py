"""Tokens: what a machine has of cores, of graphics cards and of heavy input and output, and what jobs take of it.

A job takes its tokens when it starts and gives them back when its run ends; those that need none are not counted.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Millis: TypeAlias = int

CPU = 4
GPU = 8
IO = 16
TOKEN_LANES = CPU | GPU | IO

KINDS = ("cpu", "gpu", "io")
MOST_TOKENS = 1_000_000
RESERVED_CORES = 1
USUAL_GPU = 1
USUAL_IO = 2
USUAL_TIMEOUT_MS = 30_000


class Tokens(Struct, frozen=True):
    """So many of each kind: what a job needs, what a machine has, or what is free on it."""

    cpu: int = 0
    gpu: int = 0
    io: int = 0

    def fit(self, room: Tokens) -> bool:
        """Whether there is room for all of them."""
        return self.cpu <= room.cpu and self.gpu <= room.gpu and self.io <= room.io

    def less(self, taken: Tokens) -> Tokens:
        """What is left when others take theirs: never less than none."""
        return Tokens(max(0, self.cpu - taken.cpu), max(0, self.gpu - taken.gpu), max(0, self.io - taken.io))

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(self.cpu + other.cpu, self.gpu + other.gpu, self.io + other.io)

    @property
    def lanes(self) -> int:
        """The kinds of which there is at least one, as bits of a lane."""
        return CPU * (self.cpu > 0) | GPU * (self.gpu > 0) | IO * (self.io > 0)

    def __bool__(self) -> bool:
        return self.lanes > 0

    def __str__(self) -> str:
        said = [f"{count} {kind}" for kind in KINDS if (count := getattr(self, kind))]
        return ", ".join(said) or "none"


NO_TOKENS = Tokens()


def usual_tokens(cores: int) -> Tokens:
    """What a machine with so many cores has unless somebody decides otherwise: one core is left to the person."""
    return Tokens(cpu=max(1, cores - RESERVED_CORES), gpu=USUAL_GPU, io=USUAL_IO)


def is_overdue(since: Millis | None, timeout_ms: Millis, now: Millis) -> bool:
    """Whether others have passed a job for long enough."""
    return since is not None and now - since >= timeout_ms
