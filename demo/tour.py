"""A tour of Holdfast inside a program, without a daemon, that a person can watch in half a minute: `make tour`.

This program enqueues and looks; the jobs run in child processes (`tour_worker.py`), one of which will not survive.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tour_screen import Screen, make_screen, wall_clock
from tour_tasks import TourTasks

from holdfast import Holdfast, Job, JobHandle, StateName

LOOK_EVERY_S = 0.1
PATIENCE_S = 60.0
LIVE = {StateName.SCHEDULED, StateName.QUEUED, StateName.RUNNING}


class Story:
    """One chapter for each thing that Holdfast does with jobs."""

    def __init__(self, folder: Path, screen: Screen, pace: float) -> None:
        self.path = folder / "work.db"
        self.log = folder / "worker.log"
        self.hf = Holdfast(self.path)
        self.tasks = TourTasks(self.hf, pace)
        self.screen = screen
        self.pace = pace
        self.workers: list[subprocess.Popen[bytes]] = []

    def tell(self) -> None:
        """The whole story; raises if anything is not as told."""
        self.screen.tell(
            "[bold]Holdfast[/] keeps background jobs in a database and runs them, whatever happens to the processes. "
            f"Here it is a SQLite file in a temporary folder. Process {self.hire().pid} runs the jobs."
        )
        self.ordinary_jobs()
        self.failures()
        self.saves()
        self.later()
        self.death()
        self.ending()

    def ordinary_jobs(self) -> None:
        self.chapter(
            "1 of 5  Ordinary jobs",
            "Five photos are to be resized, three at a time. When enqueue() returns, the jobs are safely on disk.",
        )
        resize = self.tasks.resize_photo.options(tag="photos")
        resize.enqueue_many({"name": name} for name in ("beach", "dog", "cake", "sunset", "train"))
        self.watch("photos", self.all_ended)
        self.screen.conclude("Five jobs, five runs, and their results are kept.")

    def failures(self) -> None:
        self.chapter(
            "2 of 5  Failures",
            "A server is away for a moment: try again, with growing pauses. A card has expired: no retry would help.",
        )
        fetch = self.tasks.fetch_report.options(tag="failures").enqueue(url="https://example.com/report")
        charge = self.tasks.charge_card.options(tag="failures").enqueue(card="…1234")
        self.watch("failures", self.all_ended)
        self.screen.conclude(f"{fetch.job.task} was retried: its runs are {_statuses(fetch)}.")
        self.screen.conclude(
            f"{charge.job.task} failed at once: {_statuses(charge)}. Every run is kept, with its error."
        )

    def saves(self) -> None:
        self.chapter(
            "3 of 5  Stale work",
            "Somebody saves one file ten times. Each save is a job that waits five seconds in case another one comes; "
            "the tenth, when the editor is closed, does not wait. A newer save makes the older ones pointless.",
        )
        save = self.tasks.index_file.options(tag="saves", delay=5)
        last_save = self.tasks.index_file.options(tag="saves")
        handles: list[JobHandle[str]] = []

        def saved_and_ended(jobs: list[Job]) -> bool:
            if len(handles) < 10:
                handles.append((save if len(handles) < 9 else last_save).enqueue(path="main.py"))
                time.sleep(0.2 * self.pace)
                return False
            return self.all_ended(jobs)

        self.watch("saves", saved_and_ended)
        states = Counter(handle.state.value for handle in handles)
        self.screen.conclude(f"Ten saves: {states['SUPERSEDED']} SUPERSEDED, {states['DONE']} run.")

    def later(self) -> None:
        self.chapter(
            "4 of 5  Not now",
            "One job is for later, in two seconds. Another one finds that it came too early and snoozes: that is no "
            "failure, and uses up no retry.",
        )
        self.tasks.send_reminder.options(tag="later", delay=2 * self.pace).enqueue(to="Ada")
        upload = self.tasks.await_upload.options(tag="later").enqueue(file="holiday.zip")
        self.watch("later", self.all_ended)
        self.screen.conclude(f"{upload.job.task} snoozed and came back: {_statuses(upload)}.")

    def death(self) -> None:
        doomed = self.workers[-1]
        self.chapter(
            "5 of 5  A process dies",
            f"Process {doomed.pid} transcodes three films. A second process stands by; then the first gets "
            "[bold red]kill -9[/].",
        )
        films = [{"film": name} for name in ("Metropolis", "Nosferatu", "Safety Last!")]
        handles = self.tasks.transcode.options(tag="films").enqueue_many(films)

        def half_way(jobs: list[Job]) -> bool:
            done = min(int(job.checkpoint or 0) for job in jobs)
            if done > 0 and len(self.workers) == 1:
                self.hire()
            return done >= 6

        self.watch("films", half_way)
        doomed.kill()
        doomed.wait()
        rescuer = self.workers[-1]
        self.screen.tell(
            f"[bold red]Process {doomed.pid} was killed[/] with three jobs in it. Process {rescuer.pid} sees that it "
            "is gone and settles its runs. In case one of the three is a killer, each of them runs alone now."
        )
        self.watch("films", self.all_ended)
        for handle in handles:
            result = handle.result(timeout=5)
            if result["process"] != rescuer.pid:
                raise RuntimeError(f"job {handle.id} was not recovered: {result}")
            self.screen.conclude(
                f"#{handle.job.number} recovered by process {rescuer.pid}, from minute {result['resumed_at']} of 12."
            )
        self.screen.conclude("No retry was used up: a job pays only for a death it caused alone.")

    def ending(self) -> None:
        self.chapter("The end", "What is in the file now?")
        counts: Counter[str] = Counter()
        for states in self.hf.counts().values():
            counts.update({state.value: jobs for state, jobs in states.items()})
        told = ", ".join(f"{jobs} {state}" for state, jobs in sorted(counts.items(), key=lambda item: -item[1]))
        self.screen.conclude(f"{counts.total()} jobs: {told}. None is lost.")
        violations = self.hf.doctor()
        if violations:
            raise RuntimeError(f"doctor() found {violations}")
        self.screen.conclude("doctor() checked every invariant of the database: clean.")
        self.screen.tell(
            "\nTry next:\n"
            "  docs/quickstart.md    your first task in fifteen lines\n"
            "  demo/tour_tasks.py    the tasks you have just watched\n"
            "  make up               a daemon with jobs to look at\n"
            "  make test             the tests; they run every example of the docs too"
        )

    def chapter(self, title: str, text: str) -> None:
        self.screen.chapter(title, text)
        time.sleep(2 * self.pace)

    def watch(self, tag: str, until: Callable[[list[Job]], bool]) -> None:
        """Show the jobs that carry a tag until they are as they should be."""
        give_up = time.monotonic() + PATIENCE_S
        with self.screen.watching():
            while True:
                jobs = self.hf.jobs(tag=tag).jobs[::-1]
                self.screen.show(jobs, wall_clock())
                if until(jobs):
                    return
                if time.monotonic() > give_up:
                    raise TimeoutError(f"the jobs of {tag!r} are not where they should be after {PATIENCE_S:.0f} s")
                time.sleep(LOOK_EVERY_S * min(1.0, self.pace))

    @staticmethod
    def all_ended(jobs: list[Job]) -> bool:
        return bool(jobs) and all(job.state.name not in LIVE for job in jobs)

    def hire(self) -> subprocess.Popen[bytes]:
        """Start a worker process."""
        script = Path(__file__).with_name("tour_worker.py")
        command = [sys.executable, str(script), str(self.path), str(self.pace)]
        with self.log.open("ab") as log:
            self.workers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log))
        return self.workers[-1]

    @contextmanager
    def with_workers(self) -> Iterator[None]:
        """Whatever happens inside, no process outlives the tour."""
        try:
            yield
        finally:
            for worker in self.workers:
                worker.terminate()
            for worker in self.workers:
                try:
                    worker.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    worker.kill()
            self.hf.close()


def _statuses(handle: JobHandle[Any]) -> str:
    return ", ".join(str(run.status) for run in handle.runs)


def main() -> int:
    parser = argparse.ArgumentParser(description="Watch Holdfast at work for half a minute.")
    parser.add_argument("--pace", type=float, default=1.0, help="0.1 is ten times as fast (default: 1)")
    pace = parser.parse_args().pace
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # A terminal without our symbols shows the rest all the same.
    with tempfile.TemporaryDirectory(prefix="holdfast-tour-") as folder:
        story = Story(Path(folder), make_screen(), pace)
        try:
            with story.with_workers():
                story.tell()
        except KeyboardInterrupt:
            return 130
        except Exception as error:
            print(f"The tour failed: {error!r}\nIts workers said:\n{story.log.read_text()}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
