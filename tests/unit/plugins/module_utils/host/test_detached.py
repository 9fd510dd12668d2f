# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes: they outlive the one that starts them, hold nothing of it, and end."""

from __future__ import annotations

import json
import os
import signal
import syslog
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import detached


def appears(path, seconds=10.0):
    """What a process has written, in one go."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.02)
    return ""


def describe(path, *numbers):
    """Write down what the process says of itself."""
    said = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "group": os.getpgrp(),
        "folder": os.getcwd(),
        "files": {number: os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2)},
        "open": [number for number in numbers if is_open(number)],
    }
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(said))
    whole.rename(path)


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def gone(number):
    """Whether a process has ended, within some seconds; what init has not buried yet has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8") as stream:
                if stream.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(name="numbers")
def fixture_numbers(tmp_path):
    """Open files of the one that starts a process, the last with a number beyond the usual ones."""
    opened = [os.open(tmp_path / f"file{number}", os.O_RDWR | os.O_CREAT) for number in range(4)]
    opened.append(os.dup2(opened[0], 700))
    yield opened
    for number in opened:
        os.close(number)


@pytest.mark.parametrize("kept", [[], [0], [1, 3], [3, 1], [0, 1, 2, 3, 4], [4]])
def test_it_keeps_the_files_that_it_is_given_and_no_others(tmp_path, numbers, kept):
    keep = [numbers[index] for index in kept]
    detached.start_detached(lambda: describe(tmp_path / "said", *numbers), keep)
    said = json.loads(appears(tmp_path / "said"))
    assert said["open"] == sorted(keep)


def test_work_that_uses_what_its_parent_has_open_keeps_all_and_its_folder(
    tmp_path, numbers, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    detached.start_detached(lambda: describe(tmp_path / "said", *numbers), None)
    said = json.loads(appears(tmp_path / "said"))
    assert said["open"] == numbers and said["folder"] == str(tmp_path)


def test_it_belongs_to_init_and_holds_no_terminal_pipe_or_folder(tmp_path):
    detached.start_detached(lambda: describe(tmp_path / "said"), [])
    said = json.loads(appears(tmp_path / "said"))
    assert said["session"] != os.getsid(0) and said["group"] == said["pid"]
    assert said["parent"] != os.getpid()
    assert set(said["files"].values()) == {os.devnull} and said["folder"] == "/"
    assert gone(said["pid"])
    with pytest.raises(ChildProcessError):
        os.waitpid(said["pid"], 0)


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGHUP, signal.SIGTERM]])
def test_it_goes_on_when_the_one_that_started_it_is_killed_with_its_group(tmp_path, signals):
    def work():
        appears(tmp_path / "go")
        describe(tmp_path / "said")

    child = os.fork()
    if child == 0:
        os.setsid()
        detached.start_detached(work, [])
        (tmp_path / "started").write_text("yes")
        time.sleep(60)
    assert appears(tmp_path / "started")
    for number in signals:
        os.killpg(child, number)
    os.waitpid(child, 0)
    assert not (tmp_path / "said").exists()
    (tmp_path / "go").write_text("yes")
    assert appears(tmp_path / "said")


@pytest.mark.parametrize("keep", [[], None])
def test_nothing_of_the_one_that_started_it_runs_twice(tmp_path, keep):
    """Neither the statements after it nor what a failure would unwind."""
    tail = tmp_path / "tail"

    def leave(error):
        raise error

    for error in (ValueError("x"), SystemExit(3), KeyboardInterrupt()):
        try:
            detached.start_detached(lambda wrong=error: leave(wrong), keep)
        finally:
            with open(tail, "a", encoding="utf-8") as stream:
                stream.write("once\n")
    time.sleep(0.5)
    assert tail.read_text() == 3 * "once\n"


@pytest.mark.parametrize("complaint", ["it was not put back", ""])
def test_work_that_fails_says_so_in_the_hosts_log(tmp_path, monkeypatch, complaint):
    log = tmp_path / "syslog"
    monkeypatch.setattr(syslog, "syslog", lambda _priority, words: log.write_text(words))

    def fail():
        raise RuntimeError("Too many\nconnections")

    detached.start_detached(fail, [], complaint)
    expected = f"{complaint}: Too many connections" if complaint else ""
    assert appears(log, 10.0 if complaint else 0.5) == expected


def test_the_log_is_opened_anew_since_its_number_may_be_another_files(tmp_path, monkeypatch):
    monkeypatch.setattr(syslog, "closelog", lambda: (tmp_path / "closed").write_text("yes"))
    detached.start_detached(lambda: None, [])
    assert appears(tmp_path / "closed")


def test_where_no_process_can_be_started_the_caller_hears_of_it(tmp_path, monkeypatch):
    """The second fork fails in a process that must not go on as the module."""
    real, caller = os.fork, os.getpid()

    def fork():
        if os.getpid() != caller:
            raise BlockingIOError("Resource temporarily unavailable")
        return real()

    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(OSError, match="no detached process could be started"):
        detached.start_detached((tmp_path / "worked").touch, [])
    with pytest.raises(OSError, match="no detached process could be started"):
        detached.start_and_wait(lambda _starting: (tmp_path / "worked").touch(), [])
    assert not (tmp_path / "worked").exists()


def test_it_is_ready_while_it_still_works(tmp_path):
    def work(starting):
        starting.ready()
        starting.ready()
        appears(tmp_path / "go")
        (tmp_path / "end").write_text("yes")

    assert detached.start_and_wait(work, [])
    assert not (tmp_path / "end").exists()
    (tmp_path / "go").write_text("yes")
    assert appears(tmp_path / "end")


@pytest.mark.parametrize("ends", ["closes", "fails", "is killed"])
@pytest.mark.parametrize("keep", [[], None])
def test_one_that_will_not_be_ready_is_not_waited_for(tmp_path, ends, keep):
    def work(starting):
        if ends == "closes":
            starting.close()
            starting.ready()
            time.sleep(30)
        if ends == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("Access denied")

    begin = time.monotonic()
    assert not detached.start_and_wait(work, keep)
    assert time.monotonic() - begin < 10


def test_one_that_is_ready_too_late_is_told_so(tmp_path):
    told = tmp_path / "told"

    def work(starting):
        appears(tmp_path / "go")
        try:
            starting.ready()
        except OSError as error:
            told.write_text(type(error).__name__)

    assert not detached.start_and_wait(work, None, 0.2)
    (tmp_path / "go").write_text("yes")
    assert appears(told) == "BrokenPipeError"


def test_waiting_leaves_no_file_open():
    before = set(os.listdir("/proc/self/fd"))
    for _round in range(3):
        assert detached.start_and_wait(lambda starting: starting.ready(), [])
    assert set(os.listdir("/proc/self/fd")) == before
