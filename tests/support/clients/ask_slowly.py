"""Many connections that say a byte of a request now and then, as a slowloris does, and come again
when they are ended; runs on a host that is no router.

    ask_slowly.py HOST PORT CONNECTIONS SECONDS

Prints as JSON how many there were at a time, at least and at most, and how many were ended.
"""

from __future__ import annotations

import json
import resource
import socket
import sys
import time

# Seconds between two bytes of a connection. The answer gives a request two, all in all.
PAUSE = 0.5
BYTES = b"GET /source HTTP/1.1\r\nX-Slow: "


class Slow:
    """One connection."""

    def __init__(self, place: tuple[str, int]) -> None:
        self.socket, self.said = socket.socket(), 0
        self.socket.setblocking(False)
        self.socket.connect_ex(place)

    def say(self) -> bool:
        """Whether it is there still, after one more byte."""
        try:
            self.socket.send(BYTES[self.said : self.said + 1] or b"x")
            self.said += 1
            return self.socket.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def main() -> None:
    place, number = (socket.gethostbyname(sys.argv[1]), int(sys.argv[2])), int(sys.argv[3])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, number + 100), most))
    until, ended = time.monotonic() + float(sys.argv[4]), 0
    there: list[Slow] = []
    counts: list[int] = []
    while (begin := time.monotonic()) < until:
        kept = [one for one in there if one.say()]
        for one in set(there) - set(kept):
            one.socket.close()
        ended += len(there) - len(kept)
        there = kept + [Slow(place) for _one in range(number - len(kept))]
        counts.append(len(there))
        time.sleep(max(0.0, PAUSE - (time.monotonic() - begin)))
    print(json.dumps({"least": min(counts), "most": max(counts), "ended": ended}))


if __name__ == "__main__":
    main()
