"""What a listener does with the events that it hears: call its handler now, later or not at all.

It is a fold: a state and what happened give a new state and verdicts, which the caller carries out. The same events,
ends and moments always give the same verdicts, so a listener can be replayed. An event passes two stages:

1. *When*: a debounce holds it until its name has been quiet for so long, and a newer event replaces it. A throttle
   leaves it out if its name was taken less than so long ago. `once` takes the first event alone.
2. *How*: the mode says what becomes of it while a call runs. It waits, is left out, or cancels the call.

Whatever happens at a moment, held events whose time has come by then go first. So it changes no verdict how late
`pass_time` is called. Moments never go back, and the controls of a state stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import islice, takewhile
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.rules.pairs import Excludes, check_pairs
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG, SPAN

PARALLEL_CALLS = 10
# Newer events are dropped and counted.
MOST_WAITING_EVENTS = 1_000
MOST_HELD_NAMES = 1_000
# Of more names, the one whose throttle passes first is forgotten: it may be called a little early.
MOST_THROTTLED_NAMES = 10_000

# What stands for all names together. No event has this name.
_ALL_NAMES = ""
_EXCLUSIVE = (Excludes("debounce", "throttle"), Excludes("debounce", "once"), Excludes("throttle", "once"))


class Per(StrEnum):
    """Whether a debounce or a throttle is for each name of events apart, or for all that the listener hears."""

    NAME = "name"
    LISTENER = "listener"


class CallMode(StrEnum):
    """What becomes of an event while a call runs.

    QUEUED: it waits for its turn. PARALLEL: it is called too, or waits while many calls run. SINGLE: it is left out.
    RESTART: it cancels the call, and is called after its end, unless a newer event comes before.
    """

    QUEUED = "queued"
    PARALLEL = "parallel"
    SINGLE = "single"
    RESTART = "restart"


_PER = ChoiceRule(Per)
_MODE = ChoiceRule(CallMode)


class Controls(Struct, frozen=True):
    """When and how a listener calls its handler. At most one of debounce, throttle and `once` is set."""

    debounce_ms: Millis | None = None
    throttle_ms: Millis | None = None
    once: bool = False
    per: Per = Per.NAME
    mode: CallMode = CallMode.QUEUED


class Heard(Struct, frozen=True, gc=False):
    """An event, as far as it matters here: its number and its name."""

    number: int
    name: str


class HeldEvent(Struct, frozen=True, gc=False):
    """An event that a debounce holds until a moment."""

    heard: Heard
    due: Millis


class Listening(Struct, frozen=True):
    """What a listener has begun: its calls, the events that wait for one, and what a debounce or a throttle keeps.

    `calls` is how many have started; the last one has this number. `waiting` are in the order in which they are called.
    In the mode RESTART at most one waits, and then the running call has been cancelled. `held` are the events that a
    debounce holds, the next to be due first. `throttled` says until when events of a name are left out, the next to
    pass first.
    """

    calls: int = 0
    running: tuple[int, ...] = ()
    waiting: tuple[Heard, ...] = ()
    held: dict[str, HeldEvent] = {}
    throttled: dict[str, Millis] = {}


class StartCall(Struct, frozen=True):
    """Call the handler with this event. `call` is the number of the call."""

    call: int
    heard: Heard


class CancelCall(Struct, frozen=True):
    """Cancel this call, and tell its end. It may have ended already."""

    call: int


class DropEvents(Struct, frozen=True):
    """So many events are lost, since too many wait."""

    count: int


class Finish(Struct, frozen=True):
    """The only call has ended. The listener wants nothing more."""


Verdicts: TypeAlias = tuple[StartCall | CancelCall | DropEvents | Finish, ...]


def check_controls(
    *,
    debounce: Duration | None = None,
    throttle: Duration | None = None,
    once: bool = False,
    per: str = Per.NAME,
    mode: str = CallMode.QUEUED,
) -> Controls:
    """The controls that a program asks for, or InvalidInput."""
    given = {"debounce": debounce, "throttle": throttle, "once": True if FLAG.check("once", once) else None}
    controls = Controls(
        debounce_ms=None if debounce is None else SPAN.millis("debounce", debounce),
        throttle_ms=None if throttle is None else SPAN.millis("throttle", throttle),
        once=once,
        per=Per(_PER.check("per", per)),
        mode=CallMode(_MODE.check("mode", mode)),
    )
    check_pairs(_EXCLUSIVE, given.__getitem__, lambda name: f"{name}={limits.shown(given[name])}")
    return controls


def hear(state: Listening, controls: Controls, heard: Heard, now: Millis) -> tuple[Listening, Verdicts]:
    """What becomes of an event that the listener hears now."""
    state, released = pass_time(state, controls, now)
    if controls.debounce_ms is not None:
        state, verdicts = _hold(state, _key(controls, heard), HeldEvent(heard, now + controls.debounce_ms))
    elif controls.throttle_ms is not None:
        state, verdicts = _throttle(state, controls, heard, now + controls.throttle_ms)
    elif controls.once and state.calls:
        verdicts = ()
    else:
        state, verdicts = _admit(state, controls.mode, heard)
    return state, _joined((released, verdicts))


def pass_time(state: Listening, controls: Controls, now: Millis) -> tuple[Listening, Verdicts]:
    """Release the held events whose moment has come, and forget what has passed."""
    passed = sum(1 for _ in takewhile(lambda until: until <= now, state.throttled.values()))
    due = [event.heard for event in takewhile(lambda event: event.due <= now, state.held.values())]
    if passed:
        state = replace(state, throttled=dict(islice(state.throttled.items(), passed, None)))
    if due:
        state = replace(state, held=dict(islice(state.held.items(), len(due), None)))
    each: list[Verdicts] = []
    for heard in due:
        state, verdicts = _admit(state, controls.mode, heard)
        each.append(verdicts)
    return state, _joined(each)


def end_call(state: Listening, controls: Controls, call: int, now: Millis) -> tuple[Listening, Verdicts]:
    """What follows when a call has ended, however it ended. The end of a call that does not run changes nothing."""
    state, released = pass_time(state, controls, now)
    if call not in state.running:
        return state, released
    state = replace(state, running=tuple(other for other in state.running if other != call))
    if controls.once:
        return state, (*released, Finish())
    if not state.waiting:
        return state, released
    state, verdicts = _start(replace(state, waiting=state.waiting[1:]), state.waiting[0])
    return state, _joined((released, verdicts))


def next_moment(state: Listening) -> Millis | None:
    """When time must pass at the latest. None: nothing is held."""
    return next((event.due for event in state.held.values()), None)


def _hold(state: Listening, key: str, event: HeldEvent) -> tuple[Listening, Verdicts]:
    """Hold an event in the place of the last one of its name, behind all others."""
    if key not in state.held and len(state.held) >= MOST_HELD_NAMES:
        return state, (DropEvents(1),)
    held = state.held.copy()
    held.pop(key, None)
    held[key] = event
    return replace(state, held=held), ()


def _throttle(state: Listening, controls: Controls, heard: Heard, until: Millis) -> tuple[Listening, Verdicts]:
    """Take an event unless one of its name was taken lately. Only what is taken keeps others out."""
    key = _key(controls, heard)
    if key in state.throttled:
        return state, ()
    admitted, verdicts = _admit(state, controls.mode, heard)
    if admitted is state:
        return state, verdicts
    throttled = state.throttled.copy()
    if len(throttled) >= MOST_THROTTLED_NAMES:
        del throttled[next(iter(throttled))]
    throttled[key] = until
    return replace(admitted, throttled=throttled), verdicts


def _admit(state: Listening, mode: CallMode, heard: Heard) -> tuple[Listening, Verdicts]:
    """Call an event, or do what the mode says while calls run. An event that is not taken leaves the state as it is."""
    if len(state.running) < (PARALLEL_CALLS if mode is CallMode.PARALLEL else 1):
        return _start(state, heard)
    match mode:
        case CallMode.SINGLE:
            return state, ()
        case CallMode.RESTART:
            is_cancelled = bool(state.waiting)
            return replace(state, waiting=(heard,)), () if is_cancelled else (CancelCall(state.running[0]),)
        case CallMode.QUEUED | CallMode.PARALLEL:
            if len(state.waiting) >= MOST_WAITING_EVENTS:
                return state, (DropEvents(1),)
            return replace(state, waiting=(*state.waiting, heard)), ()


def _start(state: Listening, heard: Heard) -> tuple[Listening, Verdicts]:
    call = state.calls + 1
    return replace(state, calls=call, running=(*state.running, call)), (StartCall(call, heard),)


def _key(controls: Controls, heard: Heard) -> str:
    return heard.name if controls.per is Per.NAME else _ALL_NAMES


def _joined(each: Iterable[Verdicts]) -> Verdicts:
    """All verdicts in their order, with one count of what is dropped at the end."""
    verdicts = [verdict for some in each for verdict in some]
    dropped = sum(verdict.count for verdict in verdicts if isinstance(verdict, DropEvents))
    rest = tuple(verdict for verdict in verdicts if not isinstance(verdict, DropEvents))
    return (*rest, DropEvents(dropped)) if dropped else rest
