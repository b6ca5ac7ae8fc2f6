"""Tokens: the cores, graphics cards and slots for heavy input and output of a machine.

A job takes its tokens when it starts, and gives them back when its run ends. A job that needs none is not counted.
"""

from __future__ import annotations

from msgspec import Struct

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
    """A number of each kind: what a job needs, what a machine has, or what is free on it."""

    cpu: int = 0
    gpu: int = 0
    io: int = 0

    def fit(self, room: Tokens) -> bool:
        """Whether the room has all of them."""
        return self.cpu <= room.cpu and self.gpu <= room.gpu and self.io <= room.io

    def less(self, taken: Tokens) -> Tokens:
        """What is left when these are taken. It is never less than none."""
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
    """What a machine with so many cores has, unless a person sets it. One core is left to that person."""
    return Tokens(cpu=max(1, cores - RESERVED_CORES), gpu=USUAL_GPU, io=USUAL_IO)
