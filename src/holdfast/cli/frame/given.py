"""Reads what a person gave: the arguments of a job, the name of a group."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import NotFound
from holdfast.core.rules import limits

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.client.resources.group_handle import GroupHandle


def read_object(given: str) -> dict[str, Any]:
    """The arguments of a job as they were typed, or as they come from standard input."""
    from holdfast.core.values.payload import read_payload

    text = sys.stdin.read() if given == "-" else given
    return dict(read_payload(text.encode("utf-8", "surrogateescape")))


def read_json(word: str, given: str) -> Any:
    """Any JSON as it was typed, or as it comes from standard input."""
    from holdfast.core.values.event_data import read_data

    return read_data(sys.stdin.read() if given == "-" else given, word)


def find_group(hf: Client, ref: str) -> GroupHandle:
    """A group by its id or its name; of several with one name, the newest."""
    try:
        return hf.find_group(ref)
    except NotFound:
        raise NotFound(f"there is no group {limits.shown(ref)}; make it with: holdfast group create {ref}") from None
