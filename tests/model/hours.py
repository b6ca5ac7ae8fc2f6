"""Rules of schedules: somebody makes, changes, stops and removes them, and the clock makes them fire."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.tasks.task import TemplateOptions
from holdfast.store.scripts.schedules import schedules, templates
from holdfast.store.scripts.schedules.firing import fire_due, run_schedule_now
from tests.model import timetable, wishes
from tests.model.driver import Driver
from tests.model.wishes import nth

crons = st.sampled_from(list(timetable.CRONS))
jitters = st.sampled_from((0, 0, 2_000))
spans = st.sampled_from((10_000, 60_000, 61_000, 4_000, 3_600_000))
options = st.builds(
    TemplateOptions,
    priority=st.none() | wishes.priorities,
    subject=st.none() | st.sampled_from(wishes.SUBJECTS),
    ttl_ms=st.none() | wishes.spans,
    policy=wishes.policies,
    tag=st.none() | wishes.tags,
    wait_for_idle=st.sampled_from((None, None, True)),
    wait_for_event=st.sampled_from((None, None, "git:*")),
)


class Hours(Driver):
    """Time makes jobs."""

    @rule(n=nth, cron=crons, misfire=st.sampled_from(Misfire), overlap=st.sampled_from(Overlap), jitter=jitters)
    def put_schedule(self, n: int, cron: str, misfire: Misfire, overlap: Overlap, jitter: int) -> None:
        """Sometimes under a name that is taken."""
        if not self.model.templates:
            self.put_template(TemplateOptions(), wishes.QUEUES[0])
        name = self.fresh("h")
        asked = NewSchedule(
            id=name,
            name=f"name-{n}",
            template=self.pick(list(self.model.templates), n),
            cron=cron,
            # Whoever makes up for everything does so for an hour, not for each of its minutes.
            misfire=Misfire.LATEST if overlap is Overlap.ALLOW and "15" not in cron else misfire,
            overlap=overlap,
            jitter_ms=jitter,
        )
        self.call(schedules.put_schedule, asked, self.now)
        self.expect(timetable.put_schedule, asked, self.now)

    @rule(options=options, queue=wishes.queues)
    def put_template(self, options: TemplateOptions, queue: str) -> None:
        name = self.fresh("t")
        asked = NewTemplate(id=name, name=name, task=wishes.TASKS[0], queue=queue, payload='{"x":1}', options=options)
        self.call(templates.put_template, asked, self.now)
        self.expect(timetable.put_template, asked)

    @precondition(lambda self: self.model.schedules)
    @rule(n=nth, cron=st.none() | crons, misfire=st.none() | st.just(Misfire.SKIP), jitter=st.none() | jitters)
    def edit_schedule(self, n: int, cron: str | None, misfire: Misfire | None, jitter: int | None) -> None:
        name = self.pick(list(self.model.schedules), n)
        changes = ScheduleChanges(cron=cron, misfire=misfire, jitter_ms=jitter)
        self.call(schedules.edit_schedule, name, changes, self.now)
        self.expect(timetable.edit_schedule, name, changes, self.now)

    @precondition(lambda self: self.model.schedules)
    @rule(n=nth, how=st.sampled_from(("pause", "resume", "resume", "delete", "archive", "now", "now")))
    def change_schedule(self, n: int, how: str) -> None:
        name = self.pick(list(self.model.schedules), n)
        match how:
            case "pause":
                self.call(schedules.pause_schedule, name, self.now)
                self.expect(timetable.pause_schedule, name)
            case "resume":
                self.call(schedules.resume_schedule, name, self.now)
                self.expect(timetable.resume_schedule, name, self.now)
            case "delete":
                self.call(schedules.delete_schedule, name, self.now)
                self.expect(timetable.delete_schedule, name)
            case "archive":
                template = self.model.schedules[name].ask.template
                self.call(templates.archive_template, template, self.now)
                self.expect(timetable.archive_template, template, self.now)
            case _:
                job = self.fresh("j")
                answer = self.call(run_schedule_now, name, job, self.now)
                expected = self.expect(timetable.run_now, name, job, self.now)
                assert expected is None or (answer.id, answer.state, answer.generation, answer.existing) == expected

    @rule(span=spans, limit=st.sampled_from((50, 1, 2)), times=st.integers(1, 3))
    def let_ticks_come(self, span: int, limit: int, times: int) -> None:
        """Time passes, or the clock had been set; then somebody looks, and somebody else too."""
        for _ in range(times):
            self.now += span
            while self._fire(limit):
                pass

    @rule(limit=st.sampled_from((50, 1)))
    def fire(self, limit: int) -> None:
        self._fire(limit)

    def _fire(self, limit: int) -> bool:
        answer = self.call(fire_due, self.now, limit)
        expected = self.expect(timetable.fire_due, self.now, limit)
        assert (answer.jobs, answer.skipped, len(answer.troubles), answer.more) == expected
        return bool(answer.more)
