"""Where the daemon of the demo lives, and its command line."""

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = "HOLDFAST_HOME"
DEFAULT = Path(__file__).parents[1] / ".holdfast"
COMMAND_S = 120


def choose_home() -> Path:
    """The folder that the environment names, or one in the checkout that git ignores."""
    home = Path(os.environ.setdefault(ENVIRONMENT, str(DEFAULT))).absolute()
    os.environ[ENVIRONMENT] = str(home)
    return home


def holdfast(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the command line."""
    command = [sys.executable, "-m", "holdfast.cli", *words]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
