"""What a listener does with its events: called, left out, replaced, dropped or waiting, and each of them once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from holdfast.core.apps.listening import (
    MOST_HELD_NAMES,
    MOST_THROTTLED_NAMES,
    MOST_WAITING_EVENTS,
    PARALLEL_CALLS,
    CallMode,
    CancelCall,
    Controls,
    DropEvents,
    Finish,
    Heard,
    HeldEvent,
    Listening,
    Per,
    StartCall,
    Verdicts,
    check_controls,
    end_call,
    hear,
    next_moment,
    pass_time,
)
from holdfast.core.errors import InvalidInput


class Listener:
    """A listener for a test: its state, the last verdicts and all of them."""

    def __init__(self, **controls: Any) -> None:
        self.controls = Controls(**controls)
        self.state = Listening()
        self.all: list[Any] = []
        self.count = 0

    def hear(self, name: str = "a", now: int = 0) -> Verdicts:
        self.count += 1
        self.state, verdicts = hear(self.state, self.controls, Heard(self.count, name), now)
        self.all += verdicts
        return verdicts

    def pass_time(self, now: int) -> Verdicts:
        self.state, verdicts = pass_time(self.state, self.controls, now)
        self.all += verdicts
        return verdicts

    def end(self, call: int, now: int = 0) -> Verdicts:
        self.state, verdicts = end_call(self.state, self.controls, call, now)
        self.all += verdicts
        return verdicts


def start(call: int, number: int, name: str = "a") -> StartCall:
    return StartCall(call, Heard(number, name))


# The modes.


def test_an_event_is_called_at_once() -> None:
    assert Listener().hear() == (start(1, 1),)


def test_a_queued_event_waits_for_the_end_of_the_call() -> None:
    listener = Listener()
    listener.hear()
    assert listener.hear() == ()
    assert listener.end(1) == (start(2, 2),)


def test_queued_events_are_called_in_their_order() -> None:
    listener = Listener()
    for name in "abc":
        listener.hear(name)
    assert [*listener.end(1), *listener.end(2)] == [start(2, 2, "b"), start(3, 3, "c")]


def test_ten_calls_run_in_parallel_and_the_rest_waits() -> None:
    listener = Listener(mode=CallMode.PARALLEL)
    begun = [listener.hear() for _ in range(PARALLEL_CALLS)]
    assert begun == [(start(number, number),) for number in range(1, 11)]
    assert listener.hear() == ()
    assert listener.end(7) == (start(11, 11),)


def test_an_event_is_left_out_while_a_single_call_runs() -> None:
    listener = Listener(mode=CallMode.SINGLE)
    listener.hear()
    assert listener.hear() == ()
    assert listener.end(1) == ()
    assert listener.hear() == (start(2, 3),)


def test_an_event_that_is_left_out_is_not_dropped() -> None:
    listener = Listener(mode=CallMode.SINGLE)
    for _ in range(MOST_WAITING_EVENTS + 2):
        listener.hear()
    assert listener.all == [start(1, 1)]


def test_restart_cancels_the_call_and_starts_the_newest_after_its_end() -> None:
    listener = Listener(mode=CallMode.RESTART)
    listener.hear()
    assert listener.hear() == (CancelCall(1),)
    assert listener.end(1) == (start(2, 2),)


def test_a_call_is_cancelled_once_however_many_events_come() -> None:
    listener = Listener(mode=CallMode.RESTART)
    listener.hear()
    listener.hear()
    assert listener.hear() == ()
    assert listener.end(1) == (start(2, 3),)


def test_the_call_after_a_restart_can_be_cancelled_too() -> None:
    listener = Listener(mode=CallMode.RESTART)
    listener.hear()
    listener.hear()
    listener.end(1)
    assert listener.hear() == (CancelCall(2),)


@pytest.mark.parametrize("mode", [CallMode.QUEUED, CallMode.PARALLEL])
def test_at_most_a_thousand_wait_and_newer_ones_are_dropped(mode: CallMode) -> None:
    listener = Listener(mode=mode)
    running = PARALLEL_CALLS if mode is CallMode.PARALLEL else 1
    for _ in range(running + MOST_WAITING_EVENTS):
        assert DropEvents(1) not in listener.hear()
    assert listener.hear() == (DropEvents(1),)
    assert listener.end(1) == (start(running + 1, running + 1),)
    assert listener.hear() == ()


@pytest.mark.parametrize("mode", CallMode)
def test_the_end_of_a_call_that_does_not_run_changes_nothing(mode: CallMode) -> None:
    listener = Listener(mode=mode)
    listener.hear()
    listener.hear()
    before = listener.state
    assert (listener.end(99), listener.end(0)) == ((), ())
    assert listener.state == before


# Debounce.


def test_a_debounce_calls_the_last_event_after_it_has_been_quiet() -> None:
    listener = Listener(debounce_ms=100)
    assert (listener.hear(now=0), listener.hear(now=60)) == ((), ())
    assert listener.pass_time(159) == ()
    assert listener.pass_time(160) == (start(1, 2),)


def test_the_next_moment_is_when_the_first_held_event_is_due() -> None:
    listener = Listener(debounce_ms=100)
    assert next_moment(listener.state) is None
    listener.hear("a", 0)
    listener.hear("b", 10)
    assert next_moment(listener.state) == 100
    listener.hear("a", 20)
    assert next_moment(listener.state) == 110
    listener.pass_time(200)
    assert next_moment(listener.state) is None


def test_each_name_has_a_debounce_of_its_own() -> None:
    listener = Listener(debounce_ms=100, mode=CallMode.PARALLEL)
    listener.hear("a", 0)
    listener.hear("b", 60)
    assert listener.pass_time(100) == (start(1, 1, "a"),)
    assert listener.pass_time(160) == (start(2, 2, "b"),)


def test_a_debounce_per_listener_calls_the_last_event_of_all() -> None:
    listener = Listener(debounce_ms=100, per=Per.LISTENER)
    listener.hear("a", 0)
    listener.hear("b", 60)
    assert listener.pass_time(160) == (start(1, 2, "b"),)


def test_an_event_after_the_moment_does_not_replace_the_held_one() -> None:
    listener = Listener(debounce_ms=100, mode=CallMode.PARALLEL)
    listener.hear(now=0)
    assert listener.hear(now=100) == (start(1, 1),)
    assert listener.pass_time(200) == (start(2, 2),)


def test_the_end_of_a_call_releases_what_was_due_before() -> None:
    listener = Listener(debounce_ms=100)
    for name, now in (("a", 0), ("b", 10), ("c", 20)):
        listener.hear(name, now)
    listener.pass_time(100)
    assert listener.end(1, 150) == (start(2, 2, "b"),)
    assert listener.end(2, 150) == (start(3, 3, "c"),)


def test_what_was_due_while_a_single_call_ran_is_left_out_even_if_time_passed_late() -> None:
    listener = Listener(debounce_ms=100, mode=CallMode.SINGLE)
    listener.hear("a", 0)
    listener.hear("b", 10)
    listener.pass_time(100)
    assert listener.end(1, 500) == ()
    assert listener.state.held == {}


def test_a_debounced_event_waits_for_its_turn_like_any_other() -> None:
    listener = Listener(debounce_ms=100)
    listener.hear("a", 0)
    listener.hear("b", 0)
    assert listener.pass_time(100) == (start(1, 1, "a"),)
    assert listener.end(1, 300) == (start(2, 2, "b"),)


def test_a_debounce_holds_at_most_a_thousand_names() -> None:
    listener = Listener(debounce_ms=100)
    for number in range(MOST_HELD_NAMES):
        assert listener.hear(f"n{number}") == ()
    assert listener.hear("one more") == (DropEvents(1),)
    assert listener.hear("n0") == ()


def test_what_is_dropped_at_one_moment_is_counted_together() -> None:
    listener = Listener(debounce_ms=100)
    for number in range(MOST_HELD_NAMES):
        listener.hear(f"a{number}", 0)
    listener.pass_time(100)
    for number in range(10):
        listener.hear(f"b{number}", 100)
    assert listener.pass_time(200) == (DropEvents(9),)


# Throttle.


def test_a_throttle_calls_the_first_event_and_leaves_out_others_until_it_has_passed() -> None:
    listener = Listener(throttle_ms=100, mode=CallMode.PARALLEL)
    assert listener.hear(now=0) == (start(1, 1),)
    assert listener.hear(now=99) == ()
    assert listener.hear(now=100) == (start(2, 3),)


def test_each_name_has_a_throttle_of_its_own() -> None:
    listener = Listener(throttle_ms=100, mode=CallMode.PARALLEL)
    assert listener.hear("a", 0) == (start(1, 1, "a"),)
    assert listener.hear("b", 1) == (start(2, 2, "b"),)


def test_a_throttle_per_listener_leaves_out_other_names_too() -> None:
    listener = Listener(throttle_ms=100, per=Per.LISTENER, mode=CallMode.PARALLEL)
    listener.hear("a", 0)
    assert listener.hear("b", 1) == ()


def test_an_event_that_was_not_taken_keeps_no_other_out() -> None:
    listener = Listener(throttle_ms=100, mode=CallMode.SINGLE)
    listener.hear("a", 0)
    listener.hear("b", 10)
    listener.end(1, 20)
    assert listener.hear("b", 30) == (start(2, 3, "b"),)


def test_a_throttle_needs_no_moment() -> None:
    listener = Listener(throttle_ms=100)
    listener.hear()
    assert next_moment(listener.state) is None


def test_a_throttle_that_has_passed_is_forgotten() -> None:
    listener = Listener(throttle_ms=100)
    listener.hear("a", 0)
    listener.hear("b", 50)
    listener.pass_time(100)
    assert listener.state.throttled == {"b": 150}
    listener.hear("c", 200)
    assert listener.state.throttled == {"c": 300}


def test_of_too_many_throttled_names_the_oldest_is_forgotten() -> None:
    throttled = {f"n{number}": 1_000 + number for number in range(MOST_THROTTLED_NAMES)}
    state, _ = hear(Listening(throttled=throttled), Controls(throttle_ms=1 << 20), Heard(1, "one more"), 500)
    assert len(state.throttled) == MOST_THROTTLED_NAMES
    assert [name in state.throttled for name in ("n0", "n1", "one more")] == [False, True, True]


# Once.


@pytest.mark.parametrize("mode", CallMode)
def test_once_calls_the_first_event_alone_and_finishes_at_its_end(mode: CallMode) -> None:
    listener = Listener(once=True, mode=mode)
    assert listener.hear("a") == (start(1, 1),)
    assert listener.hear("b") == ()
    assert listener.end(1) == (Finish(),)


def test_once_finishes_once() -> None:
    listener = Listener(once=True)
    listener.hear()
    listener.end(1)
    assert (listener.hear(), listener.end(1), listener.pass_time(9)) == ((), (), ())


# The options.


def test_the_usual_controls_call_every_event_in_order() -> None:
    assert check_controls() == Controls(None, None, False, Per.NAME, CallMode.QUEUED)


@pytest.mark.parametrize("given", [0.5, timedelta(seconds=0.5), "500ms"])
def test_a_length_of_time_is_read_as_everywhere(given: Any) -> None:
    assert check_controls(debounce=given) == Controls(debounce_ms=500)
    assert check_controls(throttle=given, per="listener") == Controls(throttle_ms=500, per=Per.LISTENER)


@pytest.mark.parametrize("name", ["debounce", "throttle"])
@pytest.mark.parametrize("value", [0, -1, -0.5, 0.0001, float("nan"), float("inf"), True, False, "soon", [1], b"1"])
def test_what_is_no_length_of_time_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"{name} .* is not valid: use 1 ms to 100 years, in seconds or as a text"):
        check_controls(**{name: value})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"debounce": 1, "throttle": 2.5}, r"debounce=1 and throttle=2.5 exclude each other: give one of them"),
        ({"debounce": 1, "once": True}, r"debounce=1 and once=True exclude each other: give one of them"),
        ({"throttle": "1s", "once": True}, r"throttle='1s' and once=True exclude each other: give one of them"),
        ({"per": "queue"}, r"per 'queue' is not valid: use one of 'name', 'listener'"),
        ({"mode": 5}, r"mode 5 is not valid: use one of 'queued', 'parallel', 'single', 'restart'"),
        ({"once": 1}, r"once 1 is not valid: use true or false"),
    ],
)
def test_controls_that_mean_nothing_are_refused_with_the_value_and_the_remedy(given: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{says}$"):
        check_controls(**given)


# Against a plain model.


class Model:
    """A listener as a person would explain it, with one list of everything. `fates` says what became of each event."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self.fates: dict[int, str] = {}
        self.heard: list[Heard] = []
        self.held: list[tuple[int, Heard]] = []
        self.line: list[Heard] = []
        self.taken: list[tuple[str, int]] = []
        self.running: list[int] = []
        self.calls = 0
        self.verdicts: list[Any] = []
        self.dropped = 0

    def hear(self, heard: Heard, now: int) -> Verdicts:
        self.heard.append(heard)
        self._release(now)
        controls = self.controls
        if controls.debounce_ms is not None:
            same = [entry for entry in self.held if self._alike(entry[1].name, heard.name)]
            if not same and len(self.held) == 1_000:
                self._settle(heard, "dropped")
            else:
                for entry in same:
                    self.held.remove(entry)
                    self._settle(entry[1], "replaced")
                self.held.append((now + controls.debounce_ms, heard))
        elif controls.throttle_ms is not None:
            self.taken = [(name, at) for name, at in self.taken if now < at + controls.throttle_ms]
            if any(self._alike(name, heard.name) for name, _ in self.taken):
                self._settle(heard, "left out")
            elif self._offer(heard):
                self.taken.append((heard.name, now))
        elif controls.once and self.calls:
            self._settle(heard, "left out")
        else:
            self._offer(heard)
        return self._told()

    def pass_time(self, now: int) -> Verdicts:
        self._release(now)
        return self._told()

    def end(self, call: int, now: int) -> Verdicts:
        self._release(now)
        if call in self.running:
            self.running.remove(call)
            if self.controls.once:
                self.verdicts.append(Finish())
            elif self.line:
                self._call(self.line.pop(0))
        return self._told()

    def kept(self) -> set[int]:
        return {heard.number for heard in self.line} | {heard.number for _, heard in self.held}

    def _alike(self, one: str, other: str) -> bool:
        return self.controls.per is Per.LISTENER or one == other

    def _release(self, now: int) -> None:
        for due, heard in sorted(self.held, key=lambda entry: entry[0]):
            if due <= now:
                self.held.remove((due, heard))
                self._offer(heard)

    def _offer(self, heard: Heard) -> bool:
        mode = self.controls.mode
        if (mode is CallMode.PARALLEL and len(self.running) < 10) or not self.running:
            self._call(heard)
        elif mode is CallMode.SINGLE:
            self._settle(heard, "left out")
            return False
        elif mode is CallMode.RESTART:
            if self.line:
                self._settle(self.line.pop(), "replaced")
            else:
                self.verdicts.append(CancelCall(self.running[0]))
            self.line.append(heard)
        elif len(self.line) == 1_000:
            self._settle(heard, "dropped")
            return False
        else:
            self.line.append(heard)
        return True

    def _call(self, heard: Heard) -> None:
        self.calls += 1
        self.running.append(self.calls)
        self._settle(heard, "called")
        self.verdicts.append(StartCall(self.calls, heard))

    def _settle(self, heard: Heard, fate: str) -> None:
        assert heard.number not in self.fates
        self.fates[heard.number] = fate
        self.dropped += fate == "dropped"

    def _told(self) -> Verdicts:
        told = (*self.verdicts, *([DropEvents(self.dropped)] if self.dropped else []))
        self.verdicts, self.dropped = [], 0
        return told


all_controls = st.builds(
    lambda kind, millis, per, mode: Controls(
        debounce_ms=millis if kind == "debounce" else None,
        throttle_ms=millis if kind == "throttle" else None,
        once=kind == "once",
        per=per,
        mode=mode,
    ),
    st.sampled_from(["none", "debounce", "throttle", "once"]),
    st.sampled_from([1, 10, 100]),
    st.sampled_from(Per),
    st.sampled_from(CallMode),
)
# What happens, and a number that says to whom or how long. Hypothesis makes few of its lists long by itself.
steps = (
    st.tuples(st.just("hear"), st.integers(0, 3))
    | st.tuples(st.just("hear"), st.integers(0, 3))
    | st.tuples(st.just("wait"), st.sampled_from([0, 1, 4, 5, 10, 50, 100]))
    | st.tuples(st.just("end"), st.integers(0, 12))
    | st.tuples(st.sampled_from(["pass", "moment"]), st.just(0))
)
streams = st.lists(steps, min_size=30, max_size=60)
# So many events at once, of one name or of many.
bursts = st.tuples(st.sampled_from([1_000, 1_005, 1_015]), st.booleans())


class Both:
    """A listener and its model, which must agree after each step."""

    def __init__(self, controls: Controls) -> None:
        self.listener = Listener()
        self.listener.controls = controls
        self.model = Model(controls)
        self.now = 0
        self.most_running = self.most_waiting = 0

    def hear(self, name: str) -> None:
        verdicts = self.listener.hear(name, self.now)
        assert verdicts == self.model.hear(Heard(self.listener.count, name), self.now)
        self._watch()

    def step(self, kind: str, value: int) -> None:
        match kind:
            case "hear":
                self.hear("abcd"[value])
            case "wait":
                self.now += value
            case "end":
                call = self.model.running[value % len(self.model.running)] if self.model.running else value
                assert self.listener.end(call, self.now) == self.model.end(call, self.now)
            case "moment":
                self.now = max(self.now, next_moment(self.listener.state) or 0)
                assert self.listener.pass_time(self.now) == self.model.pass_time(self.now)
            case _:
                assert self.listener.pass_time(self.now) == self.model.pass_time(self.now)
        self._watch()

    def _watch(self) -> None:
        state = self.listener.state
        assert list(state.running) == self.model.running
        self.most_running = max(self.most_running, len(state.running))
        self.most_waiting = max(self.most_waiting, len(state.waiting), len(state.held))
        assert next_moment(state) == min((due for due, _ in self.model.held), default=None)


@given(controls=all_controls, stream=streams)
def test_every_verdict_is_that_of_the_plain_model(controls: Controls, stream: list[tuple[str, int]]) -> None:
    both = Both(controls)
    for kind, value in stream:
        both.step(kind, value)
    check_ends(both)


# A smaller example of so many events tells no more, and takes minutes to find.
@settings(max_examples=50, phases=set(Phase) - {Phase.shrink})
@given(controls=all_controls, stream=streams, burst=bursts)
def test_every_verdict_is_that_of_the_plain_model_at_the_bounds_too(
    controls: Controls, stream: list[tuple[str, int]], burst: tuple[int, bool]
) -> None:
    both = Both(controls)
    for number in range(burst[0]):
        both.hear(f"n{number}" if burst[1] else "a")
    for kind, value in stream:
        both.step(kind, value)
    check_ends(both)


def check_ends(both: Both) -> None:
    """Each event has one end, no bound was passed, and the order was kept."""
    controls, listener, model = both.listener.controls, both.listener, both.model

    assert both.most_running <= (10 if controls.mode is CallMode.PARALLEL else 1)
    assert both.most_waiting <= 1_000

    called = [verdict.heard.number for verdict in listener.all if isinstance(verdict, StartCall)]
    assert len(called) == len(set(called))
    if controls.debounce_ms is None:
        assert called == sorted(called)
    assert [verdict.call for verdict in listener.all if isinstance(verdict, StartCall)] == [*range(1, len(called) + 1)]

    waiting = {heard.number for heard in listener.state.waiting}
    held = {event.heard.number for event in listener.state.held.values()}
    assert waiting | held == model.kept()
    assert not waiting & held
    assert not model.kept() & set(model.fates)
    assert model.kept() | set(model.fates) == {heard.number for heard in model.heard}
    assert {number for number, fate in model.fates.items() if fate == "called"} == set(called)
    dropped = sum(verdict.count for verdict in listener.all if isinstance(verdict, DropEvents))
    assert dropped == list(model.fates.values()).count("dropped")
    assert listener.all.count(Finish()) <= controls.once


@given(controls=all_controls, stream=streams)
def test_it_changes_no_verdict_how_late_time_passes(controls: Controls, stream: list[tuple[str, int]]) -> None:
    late, prompt = Listener(), Listener()
    late.controls = prompt.controls = controls
    now = 0
    for kind, value in stream:
        if kind == "wait":
            now += value
        while (moment := next_moment(prompt.state)) is not None and moment <= now:
            prompt.pass_time(moment)
        for listener in (late, prompt):
            if kind == "hear":
                listener.hear("abcd"[value], now)
            elif kind == "end":
                listener.end(value, now)
    late.pass_time(now)
    prompt.pass_time(now)
    assert late.all == prompt.all
    assert late.state == prompt.state


@given(controls=all_controls, stream=streams)
def test_a_state_is_a_value_that_no_later_step_changes(controls: Controls, stream: list[tuple[str, int]]) -> None:
    listener = Listener()
    listener.controls = controls
    kept: list[tuple[Listening, Listening]] = []
    now = 0
    for kind, value in stream:
        state = listener.state
        kept.append((state, Listening(state.calls, state.running, state.waiting, {**state.held}, {**state.throttled})))
        if kind == "wait":
            now += value
        elif kind == "hear":
            listener.hear("abcd"[value], now)
        elif kind == "end":
            listener.end(value, now)
        else:
            listener.pass_time(now)
    assert all(state == copy for state, copy in kept)


def test_the_state_says_what_is_held() -> None:
    listener = Listener(debounce_ms=100)
    listener.hear("a", 5)
    assert listener.state == Listening(held={"a": HeldEvent(Heard(1, "a"), 105)})
