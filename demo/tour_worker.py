"""A worker process: `python demo/tour_worker.py path [pace]`. Runs the jobs of the file until it is told to stop."""

import os
import signal
import sys
import threading

from tour_tasks import TourTasks

from holdfast import Holdfast


def stop_with_parent() -> None:
    """The parent holds the other end of our input; when that is gone, nobody needs us any more."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    path, pace = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    hf = Holdfast(path, concurrency=3)
    TourTasks(hf, pace)
    if not sys.stdin.isatty():
        threading.Thread(target=stop_with_parent, daemon=True).start()
    hf.run()


if __name__ == "__main__":
    main()
