"""`make up`: a daemon in the background, and jobs of every kind to look at. Twice does no harm."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from home import ENVIRONMENT, choose_home, holdfast

PATIENCE_S = float(os.environ.get("HOLDFAST_DEMO_PATIENCE", "60"))
LOOK_EVERY_S = 0.1
APP = Path(__file__).with_name("app.py")
WIDE = 47


class Trouble(Exception):
    """What keeps the demo from working, in words for a person."""


def start() -> str:
    """Start the daemon unless it is up; what there is to say about that."""
    if holdfast("status").returncode == 0:
        until(has_our_tasks, "a daemon without the tasks of the demo lives there")
        return "The daemon is up already."
    started = holdfast("up", "--detach", "--app", str(APP))
    if started.returncode != 0:
        raise Trouble(started.stderr.strip().removeprefix("holdfast: "))
    return "The daemon is up, with the tasks of demo/app.py in a worker process."


def has_our_tasks() -> bool:
    """Whether a worker offers what is in demo/app.py; one that has just started takes a moment."""
    status = json.loads(holdfast("status", "--json").stdout)
    return any("render_film" in worker["tasks"] for worker in status["workers"])


def until(is_so: Callable[[], bool], otherwise: str) -> None:
    """Wait for it."""
    give_up = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > give_up:
            raise Trouble(otherwise)
        time.sleep(LOOK_EVERY_S)


def scene(home: Path, *, say_home: bool) -> str:
    """Store the jobs, wait until there is something to see, and say what."""
    from stage import Stage  # its tasks look for the daemon in the home that was chosen

    stage = Stage()
    stage.set()
    until(stage.is_set, f"the jobs are not where they should be; see {home}/logs")
    program = os.path.relpath(Path(sys.executable).parent / "holdfast")
    lines = [stage.table(), "", stage.schedules(), "", "Try next, here:", ""]
    if say_home:
        lines.append(f"  export {ENVIRONMENT}={home}")
    lines += [f"  {f'{program} {words}':<{WIDE}} {meaning}" for words, meaning in stage.commands()]
    lines.append(f"  {'make down':<{WIDE}} stop; what is not done goes on with the next make up")
    return "\n".join(lines)


def main() -> int:
    say_home = ENVIRONMENT not in os.environ
    home = choose_home()
    try:
        said = start()
        print(f"{said}\n\n{scene(home, say_home=say_home)}")
    except Trouble as trouble:
        print(f"The demo in {home} does not work: {trouble}", file=sys.stderr)
        print("For another folder: HOLDFAST_HOME=/tmp/holdfast-demo make up", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
