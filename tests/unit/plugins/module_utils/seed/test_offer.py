# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ends of a stream on this machine: who waits for whom, and who says why it did not work."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.lookup.seed_keys import LookupModule
from ansible_collections.dbre.semisync.plugins.module_utils._seed import sender, stream

KEYS = LookupModule().run([])[0]
OTHER = LookupModule().run([])[0]
WORKING = '{"started": 1, "finished": 0}'


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Source(threading.Thread):
    """A sender at work; its result is how many bytes were sent, or why not."""

    def __init__(self, port, words, folder, head=b"", tail=b""):
        super().__init__(daemon=True)
        self.params = {key: KEYS[key] for key in ("certificate", "key", "token")}
        self.params["port"] = port
        self.words, self.folder, self.result = words, folder, None
        self.head, self.tail = head, tail

    def run(self):
        try:
            self.result = sender.serve(
                self.params, self.head, self.words, str(self.folder), self.tail
            )
        except stream.StreamError as error:
            self.result = str(error)


def replica(port, certificate=KEYS["certificate"], seconds=10):
    return stream.connect("127.0.0.1", port, certificate, KEYS["token"], seconds)


class Module:
    """A module that asks after the sender's job."""

    def __init__(self, port, job, wait=20):
        self.params = {
            "port": port,
            "certificate": KEYS["certificate"],
            "job": str(job),
            "method": "dump",
            "wait": wait,
        }


@contextlib.contextmanager
def within(seconds):
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job"
    path.write_text(WORKING)
    return path


def test_a_sender_that_listens_goes_on_waiting_for_its_replica(tmp_path, job):
    port = free_port()
    source = Source(port, ["echo", "data"], tmp_path, head=b"accounts\n", tail=b"grants\n")
    source.start()
    assert sender.offered(Module(port, job))["changed"] is False
    assert b"".join(stream.blocks(replica(port))) == b"accounts\ndata\ngrants\n"
    source.join(10)
    assert source.result == 5


def test_a_program_that_fails_at_once_has_sent_nothing_and_says_why(tmp_path):
    port = free_port()
    words = ["sh", "-c", "echo half; echo 'Access denied' >&2; exit 2"]
    source = Source(port, words, tmp_path, head=b"CREATE USER x;")
    source.start()
    incoming = stream.blocks(replica(port))
    with (
        within(5),
        pytest.raises(
            stream.StreamError, match="on the source: sh ended with status 2: Access denied"
        ),
    ):
        # The first block is asked for before anything is touched.
        next(incoming)
    source.join(10)
    assert "Access denied" in source.result


def test_a_program_that_cannot_be_run_is_named(tmp_path):
    port = free_port()
    source = Source(port, ["/nonexistent/mysqldump"], tmp_path)
    source.start()
    with pytest.raises(stream.StreamError, match="on the source: /nonexistent/mysqldump cannot be"):
        next(stream.blocks(replica(port)))
    source.join(10)
    assert "cannot be run" in source.result


def test_a_program_that_fails_later_is_told_after_what_it_sent(tmp_path):
    port = free_port()
    words = ["sh", "-c", "head -c 300000 /dev/zero; echo lost >&2; exit 3"]
    source = Source(port, words, tmp_path, tail=b"grants\n")
    source.start()
    incoming, rest = stream.blocks(replica(port)), []
    assert len(next(incoming)) == stream.BLOCK
    with pytest.raises(stream.StreamError, match="status 3: lost"):
        rest.extend(incoming)
    assert not any(b"grants" in block for block in rest)
    source.join(10)


@pytest.mark.parametrize(
    "result,words",
    [
        ({"finished": 1, "failed": True, "msg": "Unknown system variable 'x'"}, "variable 'x'"),
        ({"finished": True, "failed": True, "stderr": "Traceback"}, "Traceback"),
        ({"failed": 1, "finished": 1}, "without a message"),
    ],
)
def test_a_sender_that_ended_is_not_waited_for_and_its_reason_is_told(job, result, words):
    job.write_text(json.dumps(result))
    with (
        within(5),
        pytest.raises(
            stream.StreamError, match=r"the source cannot send its data by dump: .*" + words
        ),
    ):
        sender.offered(Module(free_port(), job))


@pytest.mark.parametrize("text", [WORKING, "", '{"star'])
def test_a_sender_that_neither_listens_nor_ended_is_given_up(job, text):
    job.write_text(text)
    with pytest.raises(stream.StreamError, match=r"is not listening on port \d+ after 0 s"):
        sender.offered(Module(free_port(), job, wait=0))


def test_another_program_at_the_port_is_not_the_sender(tmp_path, job):
    port = free_port()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        # It takes the call and says nothing.
        with within(5), pytest.raises(stream.StreamError, match="is not listening"):
            sender.offered(Module(port, job, wait=0))
        # Nor is it waited for: no seeding has the port.
        with (
            within(5),
            pytest.raises(stream.StreamError, match=f"port {port} cannot be listened"),
            stream.listen(port, 60),
        ):
            pass


def test_a_port_that_another_seeding_has_is_waited_for():
    port = free_port()
    with (
        stream.listen(port, 0),
        pytest.raises(stream.StreamError, match=f"another seeding has had port {port}"),
        stream.listen(port, 0),
    ):
        pass
    with stream.listen(port, 0) as listener:
        assert listener.getsockname()[1] == port


def test_a_replica_does_not_wait_long_where_nobody_answers(tmp_path):
    with within(5), pytest.raises(stream.NoAnswerError, match="open the port"):
        replica(free_port(), seconds=0)


def test_a_replica_takes_nothing_from_a_stranger(tmp_path):
    port = free_port()
    source = Source(port, ["echo", "data"], tmp_path)
    source.start()
    while not stream.answers(port, KEYS["certificate"]):
        time.sleep(0.05)
    assert not stream.answers(port, OTHER["certificate"])
    with pytest.raises(stream.NoAnswerError):
        replica(port, OTHER["certificate"], seconds=0)
    assert list(stream.blocks(replica(port))) == [b"data\n"]
    source.join(10)


def test_strangers_who_say_nothing_do_not_keep_the_replica_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "CALLERS", 8)
    port = free_port()
    source = Source(port, ["echo", "data"], tmp_path)
    source.start()
    while not stream.answers(port, KEYS["certificate"]):
        time.sleep(0.05)
    strangers = [socket.create_connection(("127.0.0.1", port)) for _number in range(20)]
    with within(stream.HANDSHAKE_SECONDS / 2):
        assert b"".join(stream.blocks(replica(port))) == b"data\n"
    for one in strangers:
        one.close()


def test_the_claim_on_a_port_is_no_name_that_any_user_may_take():
    port = free_port()
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(f"\0dbre-semisync-stream-{port}")
        with (
            stream.listen(port, 1),
            pytest.raises(stream.StreamError, match="another seeding"),
            stream.listen(port, 0.2),
        ):
            pass
        # It goes with who had it.
        with stream.listen(port, 1):
            pass
