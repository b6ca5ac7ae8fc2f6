"""Rules of what happens around the jobs: events, machines that are used and unplugged, and webhooks that listen."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.messages.events import Emitted
from holdfast.core.messages.webhooks import NewWebhook
from holdfast.store.engine import Tx
from holdfast.store.scripts.events import events
from holdfast.store.scripts.maintenance import probed_machines
from holdfast.store.scripts.webhooks import webhooks
from tests.model import news, wishes
from tests.model.driver import Driver
from tests.model.wishes import nth

SECRET = "a-secret-of-the-test"


def emit(tx: Tx, id: str, name: str, about: dict[str, str], now: int, repeated: bool) -> Emitted:
    """The script with its options in a row."""
    return events.emit(tx, id, name, about, now, repeated=repeated)


class Happenings(Driver):
    """Something happens."""

    @rule(
        name=st.sampled_from(wishes.EVENTS), about=st.sampled_from(wishes.ATTRIBUTES), times=st.sampled_from((1, 1, 2))
    )
    def emit(self, name: str, about: dict[str, str], times: int) -> None:
        """The answer may get lost: who says the same again does not make it happen twice."""
        event = self.fresh("e")
        for time in range(times):
            answer = self.call(emit, event, name, about, self.now, time > 0)
            waiting = self.expect(news.emit, event, name, about, self.now, time > 0)
            assert waiting is None or answer.waiting == waiting

    @precondition(lambda self: self.model.events)
    @rule(n=nth, age=st.sampled_from((31_000, 0, -1)), limit=wishes.limits | st.just(500))
    def forget_events(self, n: int, age: int, limit: int) -> None:
        before = self.now - age
        assert self.call(events.forget_events, before, limit) == self.expect(news.forget, before, limit)

    @rule(node=st.sampled_from(wishes.NODES), idle=st.booleans(), charging=st.booleans())
    def look_at_machine(self, node: str, idle: bool, charging: bool) -> None:
        judged = JudgedMachine(is_idle=idle, idle="so", is_charging=charging, charging="so", source="test")
        answer = self.call(probed_machines.note_machine, node, judged, None, self.now)
        assert answer == self.expect(news.note_machine, node, idle, charging, self.now)

    @rule(patterns=st.lists(st.sampled_from(wishes.PATTERNS), min_size=1, max_size=2, unique=True), n=nth)
    def listen(self, patterns: list[str], n: int) -> None:
        """A webhook comes, or one stops listening, listens again, or goes."""
        known = list(self.model.webhooks)
        if not known or n == 0:
            hook = self.fresh("w")
            wanted = tuple(sorted(patterns))
            asked = NewWebhook(id=hook, url=f"http://{hook}.example", patterns=wanted, secret=SECRET)
            self.call(webhooks.put_webhook, asked, self.now)
            self.expect(news.put_webhook, hook, wanted)
            return
        hook = self.pick(known, n // 4)
        match n % 4:
            case 1:
                self.call(webhooks.pause_webhook, hook, self.now)
                self.expect(lambda model: setattr(model.webhooks[hook], "enabled", False))
            case 2:
                self.call(webhooks.delete_webhook, hook, self.now)
                self.expect(news.delete_webhook, hook, self.now)
            case _:
                self.call(webhooks.resume_webhook, hook, self.now)
                self.expect(lambda model: setattr(model.webhooks[hook], "enabled", True))
