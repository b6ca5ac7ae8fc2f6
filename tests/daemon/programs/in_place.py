"""A process that is in a place for workers, and does nothing there. Its words: the name of the place, and the rest."""

from __future__ import annotations

import signal
import sys

from holdfast.wire.home import find_home
from holdfast.wire.places import WorkerPlace, take

name, *words = sys.argv[1:]
lock = take(find_home(), WorkerPlace(name, tuple(words)))
signal.pause()
