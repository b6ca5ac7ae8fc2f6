"""`make down`: stop the daemon of the demo. Its jobs stay in the folder."""

import sys

from home import choose_home, holdfast

NO_DAEMON = 3


def main() -> int:
    home = choose_home()
    if holdfast("status").returncode == NO_DAEMON:
        print("No daemon was running.")
        return 0
    print("Stopping in order; jobs that run have a few seconds to end.", flush=True)
    stopped = holdfast("down")
    if stopped.returncode not in (0, NO_DAEMON):
        print(stopped.stderr.strip(), file=sys.stderr)
        return stopped.returncode
    print(f"The daemon is down. Its jobs are kept in {home}; make up goes on with them.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
