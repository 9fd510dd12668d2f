"""Asks an HTTP address again and again until standard input ends; what it said, as a JSON object of
how often each status was the answer. No answer at all is not counted.

    ask_often.py URL SECONDS
"""

from __future__ import annotations

import collections
import json
import sys
import threading
import urllib.error
import urllib.request

# Seconds for an answer.
PATIENCE = 3.0


def status(url: str) -> int | None:
    """Of one answer; None for none."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=PATIENCE) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return int(error.code)
    except OSError:
        return None


def main() -> None:
    url, pause = sys.argv[1], float(sys.argv[2])
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    said: collections.Counter[str] = collections.Counter()
    while not ended.wait(pause):
        one = status(url)
        if one is not None:
            said[str(one)] += 1
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
