"""The words for the options of a job, and how they become options of the SDK."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import structs

from holdfast.cli.frame import times, typed
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.typed import READERS
from holdfast.cli.frame.words import Option
from holdfast.core.declared.option import JobOption as JobOption
from holdfast.core.declared.option import SaidIn, Word
from holdfast.core.declared.options import FILTERS, NAMES, OPTIONS, options_for
from holdfast.core.errors import InvalidInput, UnknownTask
from holdfast.core.rules.pairs import JOB, check_pairs

if TYPE_CHECKING:
    from holdfast.client.remote import Client

Here = Annotated[bool, Option("--here", help="On this machine alone.")]
OnNode = Annotated[
    str | None, Option("--node", metavar="NODE", field="node", help="On this machine alone, by name or id.")
]
Anywhere = Annotated[bool, Option("--anywhere", help="On any machine that shares the database.")]
WaitForRoom = Annotated[
    str | None,
    Option(metavar="TIME", help="How long to wait while there is no room for it: 0 for not at all; 30s if not said."),
]
Anyway = Annotated[bool, Option("--anyway", help="Store it even if no worker has declared the task yet.")]


class OptionWords:
    """The words of the options that may be given in one place, for `**said: Annotated[Any, OptionWords(…)]`.

    `more` are further words, by their names.
    """

    def __init__(self, said: SaidIn, **more: Any) -> None:
        self._said = said
        self._more = more

    def hints(self) -> dict[str, Any]:
        """What the command line needs to know of each."""
        words = {option.name: typed.hint_of(option, option.word) for option in options_for(self._said) if option.word}
        return words | self._more


class FilterWords:
    """The words by which lists and bulk actions name jobs, for `**said: Annotated[Any, FilterWords()]`."""

    def hints(self) -> dict[str, Any]:
        """What the command line needs to know of each."""
        return {option.name: _filter_hint(option) for option in FILTERS}


def _filter_hint(option: JobOption) -> Any:
    # Short names may have another meaning there.
    word = structs.replace(
        option.word or Word(), names=(typed.word_name(option.name, None),), help=f"Only this {option.label}."
    )
    return typed.hint_of(option, word)


PLACE: Mapping[str, Any] = {"here": Here, "node": OnNode, "anywhere": Anywhere, "wait_for_room": WaitForRoom}


def read_options(
    hf: Client, said: Mapping[str, Any], *, elsewhere: Collection[str] = (), template: str | None = None
) -> dict[str, Any]:
    """The given options of a job, as the SDK takes them. What was not given is left out.

    `elsewhere` are fields that a template may have, and that options may need; `template` is that one."""
    found: dict[str, Any] = {}
    for name, value in said.items():
        if value is None or value is False:
            continue
        option = OPTIONS[name]
        word = typed.word_name(name, option.word)
        value = READERS[option.kind.typed](hf, word, value)
        option.kind.check(word, value)
        found[name] = value
    check_pairs(JOB, lambda field: found.get(NAMES[field]), _word, elsewhere=elsewhere)
    if template is not None:
        _check_event(hf, found, template)
    at = found.get("at")
    if at is not None and at < datetime.now(UTC):
        say(f"holdfast: --at {said['at']} was {times.ago(round(at.timestamp() * 1000))}; it runs as soon as it can")
    return found


def _word(field: str) -> str:
    return typed.word_name(NAMES[field], None)


def _check_event(hf: Any, options: Mapping[str, Any], template: str) -> None:
    from holdfast.client.resources.templates import check_event_of, lacks_event

    if lacks_event(options):
        check_event_of(hf.template(template), options, _word)


def machine(hf: Client, here: bool, node: str | None, anywhere: bool, *, is_usual_here: bool = False) -> str | None:
    """The only machine that may run it. None: any may."""
    if here + (node is not None) + anywhere > 1:
        raise InvalidInput("give one of --here, --node and --anywhere: a job may run on one machine, or on any")
    if here or (is_usual_here and node is None and not anywhere and hf.engine.is_shared):
        return hf.here
    return node


@contextmanager
def known_tasks() -> Iterator[None]:
    """In the block, the error for an unknown task says how to insist."""
    try:
        yield
    except UnknownTask as error:
        raise UnknownTask(f"{error}; to store it all the same: --anyway") from None
