"""Subjects and generations: which of several requests about the same thing is the one to run."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

DEFAULT_TENANT = "default"


class Newest(Struct, frozen=True):
    """It is the newest generation: every waiting job of the subject gives way to it."""

    generation: int


class Same(Struct, frozen=True):
    """That generation was asked for before: the earlier request stands for this one."""

    generation: int


class Stale(Struct, frozen=True):
    """A newer generation is known: it is stored as superseded at once."""

    generation: int
    newest: int


Arrival: TypeAlias = Newest | Same | Stale


def arrive(asked: int | None, newest: int | None) -> Arrival:
    """How a request for generation `asked` (None: the next one) meets the newest one known."""
    if asked is None:
        return Newest((newest or 0) + 1)
    if newest is None or asked > newest:
        return Newest(asked)
    if asked == newest:
        return Same(asked)
    return Stale(asked, newest)


def tenant_of(subject: str | None) -> str:
    """`client::repo` of a three-part subject, otherwise the default tenant."""
    if subject is None:
        return DEFAULT_TENANT
    client, _, rest = subject.partition("::")
    repo, separator, _ = rest.partition("::")
    return f"{client}::{repo}" if client and repo and separator else DEFAULT_TENANT
