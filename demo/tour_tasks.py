"""The tasks of the tour. The worker runs them, the parent only enqueues them; both declare them on the same file.

They sleep instead of working. `pace` stretches or shortens every pause: 1 is for people, 0.1 for tests.
"""

import os
import time

from holdfast import Context, Holdfast, Permanent, Retry, Snooze, Transient


class TourTasks:
    """Every task of the tour, declared on one Holdfast."""

    def __init__(self, hf: Holdfast, pace: float) -> None:
        @hf.task(queue="photos")
        def resize_photo(ctx: Context, name: str) -> str:
            """Ordinary work that tells how far it is."""
            for step in range(1, 9):
                time.sleep(0.22 * pace)
                ctx.progress(step / 8)
            return f"{name} is small now"

        @hf.task(retry=Retry(3, initial=1.2 * pace))
        def fetch_report(ctx: Context, url: str) -> str:
            """Fails twice in a way that may pass, then works."""
            time.sleep(0.4 * pace)
            if ctx.attempt < 3:
                raise Transient("server answered 503")
            return "report fetched"

        @hf.task(retry=3)
        def charge_card(card: str) -> None:
            """Fails in a way that never passes, so its three retries stay unused."""
            time.sleep(0.4 * pace)
            raise Permanent(f"card {card} has expired")

        @hf.task(subject="editor::{path}")
        def index_file(path: str) -> str:
            """The subject says what the job is about: a newer save of the same file makes older ones pointless."""
            time.sleep(0.8 * pace)
            return "indexed once"

        @hf.task
        def send_reminder(to: str) -> str:
            """Nothing special; the caller says when."""
            return f"reminded {to}"

        @hf.task
        def await_upload(ctx: Context, file: str) -> str:
            """Not ready yet: ask to be called again later. That is no failure and uses up no retry."""
            time.sleep(0.4 * pace)
            if ctx.attempt == 1:
                raise Snooze(1.6 * pace)
            return f"{file} arrived"

        @hf.task(queue="video")
        def transcode(ctx: Context, film: str) -> dict[str, int]:
            """Long work with checkpoints: the next run goes on where the last one was cut off."""
            first = ctx.job.checkpoint or 0
            ctx.progress(first / 12)
            for minute in range(first, 12):
                time.sleep(0.25 * pace)
                ctx.checkpoint(minute + 1)
                ctx.progress((minute + 1) / 12, f"in process {os.getpid()}")
                # The story wants a death in mid-work, so not even a slow machine may reach the end before it.
                while minute == 9 and ctx.attempt == 1 and not ctx.should_yield:
                    time.sleep(0.05)
                ctx.check()
            return {"process": os.getpid(), "resumed_at": first}

        self.resize_photo = resize_photo
        self.fetch_report = fetch_report
        self.charge_card = charge_card
        self.index_file = index_file
        self.send_reminder = send_reminder
        self.await_upload = await_upload
        self.transcode = transcode
