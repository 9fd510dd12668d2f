"""Run the steps of `make test` one after another, however each ends, and close with a count of them.

Usage: run_steps.py NAME=COMMAND …; the exit status is 0 only when every step passed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

# A step that takes this long hangs.
STEP_SECONDS = 30 * 60
GRACE_SECONDS = 60


def end(child: subprocess.Popen) -> None:
    """End a step and what it started, with time to clean up."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, number)
            child.wait(timeout=seconds)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def run(name: str, command: str) -> tuple[bool, float]:
    """Run one step; whether it passed, and its seconds."""
    print(f"\n===== {name}: {command}", flush=True)
    begin = time.monotonic()
    child = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        passed = child.wait(timeout=STEP_SECONDS) == 0
    except subprocess.TimeoutExpired:
        print(f"{name}: ended after {STEP_SECONDS} s", flush=True)
        end(child)
        passed = False
    except BaseException:
        end(child)
        raise
    seconds = time.monotonic() - begin
    print(f"===== {name}: {'passed' if passed else 'FAILED'} in {seconds:.0f} s", flush=True)
    return passed, seconds


def main() -> int:
    """Run all steps and sum up."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results = []
    try:
        for argument in sys.argv[1:]:
            name, dummy, command = argument.partition("=")
            results.append((name, *run(name, command)))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print()
    for name, passed, seconds in results:
        print(f"{'passed' if passed else 'FAILED'}  {seconds:5.0f} s  {name}")
    failed = sum(not passed for dummy, passed, dummy2 in results)
    print(f"{len(results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
