"""Arguments that are filled when a run starts: `{"$holdfast": "previous"}` stands for the result of the job before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

MARK = {"$holdfast": "previous"}

_NAME = "$holdfast"


class Gap:
    """The result of the job before: `PREVIOUS` as an argument is filled when the run starts.

    In a chain it is what the previous member returned; elsewhere what the job returned that this one is `after`, or a
    list if there are several. If that does not fit the task, the job fails for good, and says so.

    >>> from holdfast import PREVIOUS, Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def fetch(url: str) -> str:
    ...     return f"the page at {url}"
    >>> @hf.task
    ... def count(page: str) -> int:
    ...     return len(page)
    >>> chain = hf.chain(fetch.call(url="https://example.org"), count.call(page=PREVIOUS))
    >>> hf.drain()
    2
    >>> chain.results()
    ['the page at https://example.org', 31]
    """

    def __init__(self) -> None:
        self.__doc__ = type(self).__doc__

    def __repr__(self) -> str:
        return "PREVIOUS"


# Typed as Any, so that it can be an argument of any type.
PREVIOUS: Final[Any] = Gap()


def gaps(payload: str) -> list[str]:
    """The names of the arguments that are still to be filled."""
    if _NAME not in payload:
        return []
    arguments = msgspec.json.decode(payload)
    return [name for name, value in arguments.items() if value == MARK] if isinstance(arguments, dict) else []


def wants_previous(payload: str) -> bool:
    """Whether an argument is still to be filled."""
    return bool(gaps(payload))


def filled(payload: str, names: Sequence[str], value: Any) -> str:
    """The payload with a value in these places."""
    arguments: Mapping[str, Any] = msgspec.json.decode(payload)
    return msgspec.json.encode({**arguments, **dict.fromkeys(names, value)}).decode()
