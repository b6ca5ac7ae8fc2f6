"""How the tour looks: a live table on a terminal, one line per change everywhere else."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast import Job, StateName

COLOURS = {
    StateName.SCHEDULED: "yellow",
    StateName.QUEUED: "cyan",
    StateName.RUNNING: "bold blue",
    StateName.DONE: "green",
    StateName.FAILED: "bold red",
    StateName.CANCELLED: "magenta",
    StateName.SUPERSEDED: "bright_black",
}


class Screen:
    """What the story is told with. `Plain` overrides what a terminal can do and a pipe cannot."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live: Live | None = None

    def chapter(self, title: str, text: str) -> None:
        """What comes next, and why a person might want it."""
        self.console.print()
        self.console.rule(f"[bold]{title}", align="left", style="blue")
        self.tell(text)

    def tell(self, text: str) -> None:
        """A remark."""
        self.console.print(Padding(text, (0, 1)))

    def conclude(self, text: str) -> None:
        """What was to be seen."""
        self.console.print(Padding(f"[green]✓[/] {text}", (0, 1)))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While inside, `show` redraws one table; its last picture stays."""
        with Live(console=self.console, auto_refresh=False) as self._live:
            yield
        self._live = None

    def show(self, jobs: list[Job], now: float) -> None:
        """The jobs as they are."""
        assert self._live is not None
        self._live.update(Padding(_table(jobs, now), (0, 1)), refresh=True)


class Plain(Screen):
    """For pipes and files: no table, a line whenever a job is in another state than before."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._shown: dict[int, tuple[str, int]] = {}

    def tell(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def conclude(self, text: str) -> None:
        self.console.print(f"✓ {text}", soft_wrap=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        yield

    def show(self, jobs: list[Job], now: float) -> None:
        for job in jobs:
            seen = (job.state.name.value, job.attempts)
            if self._shown.get(job.number) != seen:
                self._shown[job.number] = seen
                line = f"  #{job.number:<3} {job.task:<14} {seen[0]:<11} attempt {job.attempts}  {reason_of(job, now)}"
                self.console.print(line.rstrip(), markup=False, soft_wrap=True)


def make_screen() -> Screen:
    """The one that fits where the output goes."""
    console = Console(highlight=False)
    return Screen(console) if console.is_terminal else Plain(console)


def _table(jobs: list[Job], now: float) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    table.add_column("job", justify="right", width=4)
    table.add_column("task", width=13, no_wrap=True)
    table.add_column("state", width=10, no_wrap=True)
    table.add_column("attempt", justify="right", width=7)
    table.add_column("progress", width=8)
    table.add_column("reason", ratio=1, no_wrap=True, overflow="ellipsis")
    for job in jobs:
        state = job.state.name
        table.add_row(
            f"#{job.number}",
            job.task,
            Text(state.value, style=COLOURS.get(state, "")),
            str(job.attempts or "–"),
            "" if job.progress is None else ProgressBar(total=1, completed=job.progress, width=8),
            Text(reason_of(job, now), style="bright_black" if state is StateName.SUPERSEDED else ""),
        )
    return table


def reason_of(job: Job, now: float) -> str:
    """Why the job is where it is, in a few words."""
    state = job.state
    said: str = getattr(state, "reason", None) or ""
    if said.startswith("ERR_"):
        said = said.partition(": ")[2]
    match state.name:
        case StateName.SCHEDULED:
            until = getattr(state, "until", None)
            wait = "" if until is None else f"in {max(0.0, until / 1000 - now):.1f} s"
            return f"{wait} – {said}" if said else f"starts {wait}"
        case StateName.QUEUED:
            return "ready again" if job.attempts else "waits for a free worker"
        case StateName.RUNNING:
            return job.progress_text or ""
        case StateName.DONE:
            return said or job.progress_text or str(getattr(state, "result_summary", "")).strip('"')
    return said


def wall_clock() -> float:
    """Seconds since the epoch, as the stored moments count them."""
    return time.time()
