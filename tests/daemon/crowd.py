"""A crowd that opens connections to a port and says nothing; for each that is closed another one comes.

Run as `python -m tests.daemon.crowd PORT HOW_MANY`. It says when it has opened so many, and goes on until its end.
"""

from __future__ import annotations

import errno
import resource
import select
import socket
import sys
import time

AT_ONCE = 100
PAUSE_S = 0.01


def main(port: int, how_many: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = how_many if hard == resource.RLIM_INFINITY else min(how_many, hard - 50)
    watched, sitting, opened, is_told = select.epoll(), dict[int, socket.socket](), 0, False
    while True:
        for _ in range(AT_ONCE):
            if len(sitting) >= most:
                break
            one = socket.socket()
            one.setblocking(False)
            if one.connect_ex(("127.0.0.1", port)) not in (0, errno.EINPROGRESS):
                one.close()
                break
            sitting[one.fileno()] = one
            watched.register(one, select.EPOLLIN)
            opened += 1
        if not is_told and opened >= how_many:
            is_told = True
            print("the crowd is there", flush=True)
        # The pause leaves the machine to others too: a crowd sits there, it is not busy.
        for number, _ in watched.poll(0, maxevents=AT_ONCE):
            sitting.pop(number).close()
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
