"""Sets the scene of the demo: jobs of every kind, stored once, and what each of them shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import app

from holdfast import Job, StateName

FILM_S = 900
ALIVE = (StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING)
SETTLED = (StateName.DONE, StateName.FAILED, StateName.SUPERSEDED)


@dataclass(frozen=True)
class Scene:
    """Jobs that show one thing. They are stored unless some with the same tag are in one of the `states`."""

    tag: str
    shows: str
    states: Sequence[StateName]
    store: Callable[[str], object]
    is_there: Callable[[list[Job]], bool]
    most: int = 1

    def jobs(self) -> list[Job]:
        """The jobs of this scene, newest first."""
        return app.hf.jobs(tag=self.tag, state=list(self.states), limit=10).jobs


class Stage:
    """Everything there is to see."""

    def __init__(self) -> None:
        self.scenes = [
            Scene("demo-photos", "done", SETTLED, self._photos, _all(StateName.DONE), most=2),
            Scene("demo-sheet", "done, in a process of its own", SETTLED, self._sheet, _all(StateName.DONE)),
            Scene("demo-film", "runs for a while, with progress", ALIVE, self._film, _has_progress),
            Scene("demo-publish", "waits for the film", ALIVE, self._publish, _any),
            Scene("demo-prints", "fails, and is tried again", ALIVE, self._prints, _has_failed),
            Scene("demo-card", "failed for good", SETTLED, self._card, _all(StateName.FAILED)),
            Scene(
                "demo-save", "the newest save ran, not the older ones", SETTLED, self._saves, _has_superseded, most=2
            ),
            Scene("demo-mail", "waits: its queue is paused", ALIVE, self._mail, _any),
            Scene("demo-invoice", "waits for its time", ALIVE, self._invoice, _any),
            Scene("demo-backup", "a command, done", SETTLED, self._backup, _all(StateName.DONE)),
            Scene("demo-copy", "a command with a log that grows", ALIVE, self._copy, _runs),
        ]

    def set(self) -> None:
        """Store what is not there yet."""
        for scene in self.scenes:
            if not scene.jobs():
                scene.store(scene.tag)

    def is_set(self) -> bool:
        """Whether every job has come to where it should be seen."""
        return all(scene.is_there(scene.jobs()) for scene in self.scenes) and bool(app.hf.schedules())

    def table(self) -> str:
        """A few jobs of each scene."""
        rows = [("JOB", "STATE", "WHAT", "")]
        for scene in self.scenes:
            shown = scene.jobs()[: scene.most]
            rows += [(str(job.number), str(job.state.name), job.task, scene.shows) for job in shown]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows
        )

    def schedules(self) -> str:
        """What makes jobs by the clock, as it stands in the code."""
        return "\n".join(f"schedule {schedule.name}: {schedule.words}" for schedule in app.hf.schedules())

    def commands(self) -> list[tuple[str, str]]:
        """What to try, with the numbers of the jobs that are there."""
        tags = ("demo-film", "demo-mail", "demo-copy", "demo-card")
        film, mail, copy, card = (self._newest(tag).number for tag in tags)
        return [
            ("top", "everything at a glance; q leaves"),
            (f"why {mail}", "why does it not run?"),
            ("resume mail", "now it does"),
            (f"logs -f {copy}", "what a command says; Ctrl-C leaves"),
            (f"show {card}", "a failure, with its runs"),
            ("schedule show count_orders", "its next ticks, and the jobs it made"),
            ("run --wait -- echo hello", "a command of your own"),
            (f"cancel {film}", "the film, and what waits for it"),
        ]

    def _newest(self, tag: str) -> Job:
        return next(scene for scene in self.scenes if scene.tag == tag).jobs()[0]

    def _photos(self, tag: str) -> None:
        names = ("beach", "dog", "cake", "sunset", "train")
        app.resize_photo.options(tag=tag).enqueue_many({"name": name} for name in names)

    def _sheet(self, tag: str) -> None:
        app.contact_sheet.options(tag=tag).enqueue(names=["beach", "dog", "cake"])

    def _film(self, tag: str) -> None:
        app.render_film.options(tag=tag).enqueue(title="Metropolis", seconds=FILM_S)

    def _publish(self, tag: str) -> None:
        app.publish_film.options(tag=tag, after=self._newest("demo-film").id).enqueue(title="Metropolis")

    def _prints(self, tag: str) -> None:
        app.order_prints.options(tag=tag).enqueue(photo="sunset")

    def _card(self, tag: str) -> None:
        app.charge_card.options(tag=tag).enqueue(order="1234")

    def _saves(self, tag: str) -> None:
        for _ in range(2):
            app.index_catalogue.options(tag=tag, delay=5).enqueue(path="spring.txt")
        app.index_catalogue.options(tag=tag).enqueue(path="spring.txt")

    def _mail(self, tag: str) -> None:
        app.hf.pause("mail", "the mail server is being moved")
        app.send_mail.options(tag=tag).enqueue(to="ada@example.com")

    def _invoice(self, tag: str) -> None:
        app.send_invoice.options(tag=tag, delay=timedelta(hours=1)).enqueue(customer="Ada")

    def _backup(self, tag: str) -> None:
        app.hf.command("sh", "-c", "echo backing up; sleep 0.3; echo five photos are safe", tag=tag)

    def _copy(self, tag: str) -> None:
        script = f"n=0; while [ $n -lt {FILM_S} ]; do n=$((n+1)); echo copying photo $n of {FILM_S}; sleep 1; done"
        app.hf.command("sh", "-c", script, tag=tag)


def _all(state: StateName) -> Callable[[list[Job]], bool]:
    return lambda jobs: bool(jobs) and all(job.state.name is state for job in jobs)


def _any(jobs: list[Job]) -> bool:
    return bool(jobs)


def _runs(jobs: list[Job]) -> bool:
    return any(job.state.name is StateName.RUNNING for job in jobs)


def _has_progress(jobs: list[Job]) -> bool:
    return any(job.state.name is StateName.RUNNING and job.progress is not None for job in jobs)


def _has_failed(jobs: list[Job]) -> bool:
    return any(job.attempts > 0 and job.state.name is StateName.SCHEDULED for job in jobs)


def _has_superseded(jobs: list[Job]) -> bool:
    return {job.state.name for job in jobs} == {StateName.DONE, StateName.SUPERSEDED}
