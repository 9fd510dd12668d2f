# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import socket_peer
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import io_thread_resume

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
STRANGER = 54321
CALL = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(20);"
    " s.connect(chr(0) + sys.argv[1]); s.recv(1)"
)


@pytest.fixture
def name():
    return f"dbre-semisync-test-{os.getpid()}"


def listening(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + name)
    listener.listen(1)
    return listener


def stranger(name):
    return subprocess.Popen(["/usr/bin/python3", "-c", CALL, name], user=STRANGER, group=STRANGER)


@as_root
def test_another_user_sends_no_keeper_away(name):
    acted = threading.Event()
    listener = listening(name)
    kept = threading.Thread(target=lambda: _kept(listener, acted), daemon=True)
    kept.start()
    calling = stranger(name)
    assert calling.wait(20) == 0
    assert acted.wait(20)


def _kept(listener, acted):
    try:
        socket_peer.accept(listener, 5)
    except TimeoutError:
        acted.set()


@as_root
def test_one_of_ours_is_heard_after_strangers(name):
    with listening(name) as listener:
        calling = stranger(name)
        own = threading.Thread(target=lambda: (calling.wait(20), _call(name)), daemon=True)
        own.start()
        connection = socket_peer.accept(listener, 20)
        assert socket_peer.is_own(connection)
        connection.close()


def _call(name):
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect("\0" + name)
        time.sleep(0.2)


@as_root
def test_a_stranger_who_has_the_name_is_not_believed_to_be_the_keeper(name):
    serve = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + sys.argv[1]);"
        " s.listen(1); print(flush=True); c = s.accept()[0]; c.sendall(b'g'); c.close()"
    )
    impostor = subprocess.Popen(
        ["/usr/bin/python3", "-c", serve, name],
        user=STRANGER,
        group=STRANGER,
        stdout=subprocess.PIPE,
    )
    impostor.stdout.readline()
    assert io_thread_resume.release("\0" + name) is False
    impostor.kill()
    impostor.wait()
