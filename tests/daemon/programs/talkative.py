"""Tasks that print and log, and a module that does so too."""

from __future__ import annotations

import asyncio
import logging
import threading

from holdfast import Holdfast

hf = Holdfast()
library = logging.getLogger("some.library")
print("the module is loaded")


@hf.task
async def coroutine() -> None:
    """On the event loop."""
    print("the coroutine")
    library.info("logged by it")
    await asyncio.to_thread(print, "its thread")


@hf.task
def function() -> None:
    """In a thread."""
    print("the function")
    thread = threading.Thread(target=library.warning, args=["logged by its thread"])
    thread.start()
    thread.join()


@hf.task(subprocess=True)
def process() -> None:
    """In a process of its own."""
    print("the process")
    library.info("logged by it")


@hf.task
def stray() -> None:
    """Leave something behind that prints when the run is over."""
    threading.Timer(0.5, print, ["stray"]).start()
