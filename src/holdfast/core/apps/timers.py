"""When a timer of an app fires. Whoever holds the timers asks here; nothing is stored, and no clock is read.

| made by | trigger | `trigger_type` | `trigger_value` | `repeat` | goes by |
| --- | --- | --- | --- | --- | --- |
| `after` | `OnceAfter` | "after" | the delay, "5m" | no | the monotonic clock |
| `at` | `OnceAt` | "at" | the moment, "2030-01-01T07:00:00.000Z" | no | the wall clock |
| `every` | `Every` | "interval" | the period, "1h" | yes | the monotonic clock, from its first turn on |
| `daily`, `on_cron` | `OnCron` | "cron" | expression and zone, "0 7 * * * Europe/Berlin" | yes | the wall clock |
| `ByHand()` | `ByHand` | None | "" | no | no clock |

A holder keeps a `TimerState` for each timer. It waits for `wait_ms`, calls `due`, and keeps the state that it gets,
also if nothing fires. A wait is never longer than a minute. So a wall clock that was set is noticed, and every question
reckons anew from what the clocks show.

A turn that comes late fires once, if it is no later than `LATE_MS`. Older turns are missed, and of several the newest
fires alone. A one-shot cannot be missed: it fires however late it is. A tick of a cron expression that has fired never
fires again, although the wall clock may show its time twice. A tick that was missed may fire if its time comes again.
"""

from __future__ import annotations

import re
from datetime import UTC as UTC_ZONE
from datetime import datetime, time
from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.rules import limits, rule, units
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION, MOMENT, SPAN
from holdfast.core.schedules.cron import UTC, Cron, parse, parse_stored
from holdfast.core.settings import rule_table

LATE_MS: Millis = 60_000  # a turn that is later than this is missed
LONGEST_WAIT_MS: Millis = 60_000  # a wall clock that was set is noticed after so long
MOST_RUNS = 16  # that are remembered of the ticks that have fired

_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_TIME_FORMS = 'a time of day in whole seconds, such as "7:00", "07:00:30" or datetime.time(7)'


class IfExists(StrEnum):
    """What becomes of a new timer whose name is taken: an error, nothing, or it takes the place of the old one."""

    ERROR = "error"
    SKIP = "skip"
    REPLACE = "replace"


class KeptTimer(StrEnum):
    """Which of two timers of one name stays."""

    OLD = "old"
    NEW = "new"


class OnceAfter(Struct, frozen=True):
    """Once, when so much time has passed."""

    trigger_type: ClassVar[str] = "after"
    repeat: ClassVar[bool] = False
    delay_ms: Millis

    @property
    def trigger_value(self) -> str:
        """The delay as a text."""
        return units.written_duration(self.delay_ms / 1000)


class OnceAt(Struct, frozen=True):
    """Once, when the wall clock shows this moment."""

    trigger_type: ClassVar[str] = "at"
    repeat: ClassVar[bool] = False
    moment: Millis

    @property
    def trigger_value(self) -> str:
        """The moment as a text, in UTC."""
        seconds, millis = divmod(self.moment, 1000)
        return f"{datetime.fromtimestamp(seconds, UTC_ZONE):%Y-%m-%dT%H:%M:%S}.{millis:03}Z"


class Every(Struct, frozen=True):
    """Again and again, after each period.

    The first turn comes at `start_at` by the wall clock, or after `first_ms` if that is None. All others are whole
    periods later by the monotonic clock, however late a turn was fired.
    """

    trigger_type: ClassVar[str] = "interval"
    repeat: ClassVar[bool] = True
    period_ms: Millis
    first_ms: Millis
    start_at: Millis | None = None

    @property
    def trigger_value(self) -> str:
        """The period as a text."""
        return units.written_duration(self.period_ms / 1000)


class OnCron(Struct, frozen=True):
    """Whenever the wall clock shows a time that the expression names."""

    trigger_type: ClassVar[str] = "cron"
    repeat: ClassVar[bool] = True
    expression: str
    timezone: str = UTC

    @property
    def trigger_value(self) -> str:
        """The expression, and its time zone unless that is UTC."""
        return self.expression if self.timezone == UTC else f"{self.expression} {self.timezone}"

    @property
    def cron(self) -> Cron:
        """What knows its ticks."""
        return parse_stored(self.expression, self.timezone)


class ByHand(Struct, frozen=True):
    """Only when somebody asks for it."""

    trigger_type: ClassVar[None] = None
    trigger_value: ClassVar[str] = ""
    repeat: ClassVar[bool] = False


TimerTrigger: TypeAlias = OnceAfter | OnceAt | Every | OnCron | ByHand


class Moments(Struct, frozen=True):
    """Now: what the wall clock shows, and the monotonic clock, in milliseconds."""

    wall: Millis
    monotonic: Millis


class FiredRun(Struct, frozen=True):
    """Ticks that have fired: the first, the last, and all between them."""

    first: Millis
    last: Millis


class TimerState(Struct, frozen=True):
    """What to remember of a timer from one question to the next.

    `asked_at`: the wall clock at the last question. `due_at`: the next turn by the monotonic clock, once it is certain.
    `fired`: the ticks of a cron expression that have fired, oldest first. `has_fired`: whether anything ever did.
    """

    asked_at: Millis
    due_at: Millis | None = None
    fired: tuple[FiredRun, ...] = ()
    has_fired: bool = False


def after(delay: Duration) -> OnceAfter:
    """Once after a delay: seconds, a timedelta or a text such as "1h30m"."""
    return OnceAfter(DURATION.millis("delay", delay))


def at(moment: datetime) -> OnceAt:
    """Once at a moment: a datetime with a time zone. If it has passed already, at once."""
    return OnceAt(MOMENT.millis("moment", moment))


def every(period: Duration, start: Duration | datetime | None = None) -> Every:
    """Every period. The first turn comes after one, or at `start`: a delay (0: at once), or a datetime with a zone.

    Of a start that has passed, only the turns that are still to come fire.
    """
    period_ms = SPAN.millis("period", period)
    if start is None:
        return Every(period_ms, period_ms)
    if isinstance(start, datetime):
        return Every(period_ms, period_ms, MOMENT.millis("start", start))
    if units.parse_duration(start) is None:
        raise rule.refusal("start", start, f"a datetime with a time zone, or a delay of {DURATION.written}")
    return Every(period_ms, DURATION.millis("start", start))


def daily(time_of_day: time | str, tz: str = UTC) -> OnCron:
    """Every day at this time in a time zone: "7:00", "07:00:30" or a `datetime.time`."""
    known = _time_of(time_of_day)
    second = f" {known.second}" if known.second else ""
    return on_cron(f"{known.minute} {known.hour} * * *{second}", tz)


def on_cron(expression: str, tz: str = UTC) -> OnCron:
    """Whenever a cron expression says so, in a time zone."""
    rule_table.check("cron", expression, "cron expression")
    rule_table.check("timezone", tz, "tz")
    parse(expression, tz)
    return OnCron(expression, tz)


def if_exists_of(text: str) -> IfExists:
    """Read "error", "skip" or "replace"."""
    return IfExists(ChoiceRule(IfExists).check("if_exists", text))


def name_of(trigger: TimerTrigger, name: str | None, method: str) -> str | None:
    """The name that no other timer of the app may have: the given one, or that of the method.

    None for a one-shot without a name. There may be many of them.
    """
    if name is not None:
        return rule_table.check("name", name)
    return None if isinstance(trigger, OnceAfter | OnceAt) else method


def on_taken_name(name: str, if_exists: IfExists) -> KeptTimer:
    """Which timer stays if the app has one of this name already."""
    match if_exists:
        case IfExists.ERROR:
            raise InvalidInput(
                f"there is a timer {limits.shown(name)} in this app already: give another name=, or "
                "if_exists='skip' to keep that one, or if_exists='replace' to have this one instead"
            )
        case IfExists.SKIP:
            return KeptTimer.OLD
        case IfExists.REPLACE:
            return KeptTimer.NEW


def begin(trigger: TimerTrigger, now: Moments) -> TimerState:
    """The state of a new timer."""
    match trigger:
        case OnceAfter(delay_ms=delay):
            return TimerState(now.wall, now.monotonic + delay)
        case Every(start_at=None, first_ms=first):
            return TimerState(now.wall, now.monotonic + first)
        case Every(start_at=int(start), period_ms=period) if start < now.wall:
            return TimerState(now.wall, now.monotonic + (start - now.wall) % period)
        case _:
            return TimerState(now.wall)


def due(state: TimerState, trigger: TimerTrigger, now: Moments) -> tuple[TimerState, Millis | None]:
    """The moment for which the timer fires now, by the wall clock, and the state after that. None: it does not."""
    moment = next_run_at(state, trigger, now)
    asked = replace(state, asked_at=now.wall, due_at=_certain_turn(state, trigger, now))
    if moment is None or moment > now.wall:
        return asked, None
    match trigger:
        case Every(period_ms=period):
            return replace(asked, due_at=moment - now.wall + now.monotonic + period, has_fired=True), moment
        case OnCron(cron=cron):
            return replace(asked, fired=_with_tick(state.fired, moment, cron), has_fired=True), moment
        case _:
            return replace(asked, has_fired=True), moment


def wait_ms(state: TimerState, trigger: TimerTrigger, now: Moments) -> Millis | None:
    """How long to wait before asking again, at most a minute. None: never."""
    if isinstance(trigger, ByHand) or is_finished(state, trigger):
        return None
    moment = next_run_at(state, trigger, now)
    return LONGEST_WAIT_MS if moment is None else max(0, min(moment - now.wall, LONGEST_WAIT_MS))


def next_run_at(state: TimerState, trigger: TimerTrigger, now: Moments) -> Millis | None:
    """When it fires next, by the wall clock as it goes now. Up to `now` it is due. None: it never does."""
    if is_finished(state, trigger):
        return None
    match trigger:
        case OnceAfter():
            return now.wall - now.monotonic + _turn(state, None, now)
        case OnceAt(moment=moment):
            return moment
        case Every(period_ms=period, start_at=start):
            return now.wall - now.monotonic + _next_turn(_turn(state, start, now), period, now.monotonic)
        case OnCron(cron=cron):
            return _next_tick(state, cron, now.wall)
        case ByHand():
            return None


def is_finished(state: TimerState, trigger: TimerTrigger) -> bool:
    """Whether it can never fire again."""
    return isinstance(trigger, OnceAfter | OnceAt) and state.has_fired


def _turn(state: TimerState, start: Millis | None, now: Moments) -> Millis:
    """The next turn by the monotonic clock. Up to the first one, a start by the wall clock is reckoned anew."""
    if state.due_at is not None:
        return state.due_at
    assert start is not None
    return now.monotonic + start - now.wall


def _certain_turn(state: TimerState, trigger: TimerTrigger, now: Moments) -> Millis | None:
    """The next turn by the monotonic clock, if no wall clock that is set can move it any more."""
    if not isinstance(trigger, Every):
        return state.due_at
    turn = _turn(state, trigger.start_at, now)
    return turn if turn <= now.monotonic else state.due_at


def _next_turn(turn: Millis, period: Millis, now: Millis) -> Millis:
    """This turn or a later one, whole periods after it: the newest that is due, or the first that is to come."""
    if turn > now:
        return turn
    late = (now - turn) % period
    return now - late if late <= LATE_MS else now - late + period


def _next_tick(state: TimerState, cron: Cron, now: Millis) -> Millis | None:
    """The newest tick that is due, or the first that is to come."""
    tick = _first_unfired(cron, state.fired, min(now, max(state.asked_at, now - LATE_MS - 1)))
    return tick if tick is None or tick > now else _last_unfired(cron, state.fired, now)


def _first_unfired(cron: Cron, fired: tuple[FiredRun, ...], moment: Millis) -> Millis | None:
    tick = cron.next_after(moment)
    while tick is not None and (run := _run_of(fired, tick)) is not None:
        tick = cron.next_after(run.last)
    return tick


def _last_unfired(cron: Cron, fired: tuple[FiredRun, ...], moment: Millis) -> Millis | None:
    tick = cron.previous_or_at(moment)
    while tick is not None and (run := _run_of(fired, tick)) is not None:
        tick = cron.previous_or_at(run.first - 1)
    return tick


def _run_of(fired: tuple[FiredRun, ...], tick: Millis) -> FiredRun | None:
    return next((run for run in fired if run.first <= tick <= run.last), None)


def _with_tick(fired: tuple[FiredRun, ...], tick: Millis, cron: Cron) -> tuple[FiredRun, ...]:
    """The same runs and one more tick. If they become too many, the two that lie closest count as one.

    Then the ticks between these two never fire, should the wall clock be set back so far.
    """
    runs: list[FiredRun] = []
    for run in sorted((*fired, FiredRun(tick, tick)), key=lambda run: run.first):
        if runs and tick in (run.first, runs[-1].last) and cron.next_after(runs[-1].last) == run.first:
            runs[-1] = FiredRun(runs[-1].first, run.last)
        else:
            runs.append(run)
    if len(runs) > MOST_RUNS:
        place = min(range(len(runs) - 1), key=lambda place: runs[place + 1].first - runs[place].last)
        runs[place : place + 2] = [FiredRun(runs[place].first, runs[place + 1].last)]
    return tuple(runs)


def _time_of(value: object) -> time:
    """A time of day without a zone, in whole seconds."""
    if isinstance(value, time):
        if value.tzinfo is not None:
            raise rule.refusal("time", value, "a time without a zone, and tz= beside it, such as tz='Europe/Berlin'")
        if not value.microsecond:
            return value
    found = _TIME_OF_DAY.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        hour, minute, second = (int(part or 0) for part in found.groups())
        if hour < 24 and minute < 60 and second < 60:
            return time(hour, minute, second)
    raise rule.refusal("time", value, _TIME_FORMS)
