"""Run the steps of `make test`, some at a time, however each ends, and close with a count of them.

Usage: run_steps.py [--lanes=N] NAME=COMMAND …; the exit status is 0 only when every step passed. A
step that runs alone shows its output as it comes; of steps that run side by side each is shown
whole when it ends, and the last lines of those that failed once more before the count.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# How many lines of a step that failed are shown again at the end, and how much of each.
LINES, WIDTH = 25, 300
# A step that takes this long hangs.
STEP_SECONDS = 40 * 60
GRACE_SECONDS = 60


def ticks() -> tuple[int, int]:
    """The processors' time since the machine started, in all and idle; nothing if not known."""
    try:
        fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]
    except OSError:
        return 0, 0
    spent = [int(field) for field in fields[:8]]
    return sum(spent), spent[3] + spent[4]


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


class Steps:
    """Steps that run in a number of lanes."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.stopped, self.lock = lanes, False, threading.Lock()
        self.children: list[subprocess.Popen] = []
        # The last lines of the steps that failed.
        self.last: dict[str, list[str]] = {}

    def run(self, name: str, command: str) -> tuple[str, bool, float]:
        """Run one step: its name, whether it passed, its seconds."""
        print(f"\n===== {name}: {command}", flush=True)
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            shown = None if self.lanes == 1 else output
            with self.lock:
                if self.stopped:
                    return name, False, 0.0
                child = subprocess.Popen(  # noqa: S602 - the Makefile's own words
                    command,
                    shell=True,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    stdout=shown,
                    stderr=shown and subprocess.STDOUT,
                )
                self.children.append(child)
            late = False
            try:
                child.wait(timeout=STEP_SECONDS)
            except subprocess.TimeoutExpired:
                late = True
                end(child)
            seconds, passed = time.monotonic() - begin, child.returncode == 0 and not late
            with self.lock:
                if shown:
                    print(f"\n===== output of {name}", flush=True)
                    output.seek(0)
                    shutil.copyfileobj(output, sys.stdout)
                if shown and not passed:
                    output.seek(0)
                    self.last[name] = [line.rstrip()[:WIDTH] for line in output][-LINES:]
                words = (
                    "passed"
                    if passed
                    else f"ended after {STEP_SECONDS} s, FAILED"
                    if late
                    else "FAILED"
                )
                print(f"===== {name}: {words} in {seconds:.0f} s", flush=True)
        return name, passed, seconds

    def stop(self) -> None:
        """End whatever runs, and begin nothing more."""
        with self.lock:
            self.stopped = True
        for child in self.children:
            if child.poll() is None:
                end(child)


def main() -> int:
    """Run all steps and sum up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("steps", nargs="+", metavar="NAME=COMMAND")
    options = parser.parse_args()
    if not sys.stdout.isatty():
        # A colour that a terminal would show is noise in a log.
        os.environ.update(NO_COLOR="1", ANSIBLE_NOCOLOR="1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    steps, begin, before = Steps(options.lanes), time.monotonic(), ticks()
    with concurrent.futures.ThreadPoolExecutor(options.lanes) as pool:
        try:
            pending = [
                pool.submit(steps.run, *argument.split("=", 1)) for argument in options.steps
            ]
            results = [each.result() for each in pending]
        except KeyboardInterrupt:
            # Once is enough.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            steps.stop()
            pool.shutdown(cancel_futures=True)
            print("interrupted", file=sys.stderr)
            return 130
    for name, lines in steps.last.items():
        print(f"\n===== the end of {name}", *lines, sep="\n")
    print()
    for name, passed, seconds in results:
        print(f"{'passed' if passed else 'FAILED'}  {seconds:5.0f} s  {name}")
    failed = sum(not passed for dummy, passed, dummy2 in results)
    print(f"{len(results) - failed} passed, {failed} failed, {time.monotonic() - begin:.0f} s")
    # With hardly any, more lanes gain nothing.
    spent, idle = (now - then for now, then in zip(ticks(), before, strict=True))
    print(f"processors idle: {100 * idle / spent:.0f} %" if spent else "", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
