"""An app, whose handlers tell in the side folder which process calls them."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast import App, Event, Holdfast
from tests.chaos.journal import Journal

journal = Journal(Path(os.environ["HOLDFAST_TEST_SIDE"]))
hf = Holdfast()


@hf.app("kitchen")
class Kitchen(App):
    async def on_start(self) -> None:
        journal.note("start")
        self.bus.on("light.*", self.on_light)
        self.bus.on("boom", self.on_boom)
        self.scheduler.register(self.tick)

        self.bus.on("first", self.on_first, once=True)

    async def on_first(self) -> None:
        journal.note("first")

    async def on_light(self, event: Event) -> None:
        journal.note("light", str(event.number))

    def on_boom(self) -> None:
        raise ValueError("kaputt")

    async def tick(self) -> None:
        journal.note("tick")

    async def on_stop(self) -> None:
        journal.note("stop")


@hf.app("hall")
class Hall(App):
    async def on_start(self) -> None:
        self.bus.on("only", self.on_only, once=True)

    async def on_only(self) -> None:
        journal.note("only")
