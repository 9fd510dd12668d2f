# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import signal
import socket
import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    SERVER_LOST,
    ServerError,
    answers_within,
    driver_errors,
)


class OperationalError(Exception):
    """Stands for a driver's own."""


@pytest.mark.parametrize(
    "error,number,text",
    [
        (OperationalError(1045, "Access denied"), 1045, "(1045, 'Access denied')"),
        (RuntimeError("'cryptography' package is required"), None, "'cryptography' package is"),
        (OSError(104, "Connection reset by peer"), 104, "[Errno 104] Connection reset by peer"),
        (Exception(), None, ""),
    ],
)
def test_any_drivers_error_keeps_its_number_and_text(error, number, text):
    with pytest.raises(ServerError) as caught, driver_errors():
        raise error
    assert caught.value.number == number and str(caught.value).startswith(text)
    assert caught.value.__cause__ is error and caught.value.args == error.args


def test_one_that_is_translated_stays_as_it_is():
    first = ServerError(OperationalError(2013, "Lost connection"))
    with pytest.raises(ServerError) as caught, driver_errors():
        raise first
    assert caught.value is first


def test_who_ends_the_module_is_let_through():
    with pytest.raises(SystemExit), driver_errors():
        raise SystemExit(1)


def test_every_statement_of_a_server_raises_it():
    class Cursor:
        def execute(self, statement, arguments):
            raise OperationalError(1146, "Table 'a.b' doesn't exist")

    with pytest.raises(ServerError) as caught:
        Server(Cursor()).rows("SELECT 1 FROM a.b")
    assert caught.value.number == 1146


def test_a_server_that_takes_connections_and_says_nothing_is_not_waited_for_for_ever():
    ours, silent = socket.socketpair()
    before = signal.getsignal(signal.SIGALRM)
    refused = pytest.raises(ServerError, match="no response within 1 s")
    with ours, silent, refused as caught, driver_errors(), answers_within(1):
        ours.recv(1)
    assert caught.value.number == SERVER_LOST
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_server_that_answers_in_time_leaves_no_alarm_behind():
    with answers_within(0.2):
        # The one within has no timer of its own, and takes none away.
        with answers_within(0.01):
            time.sleep(0.05)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    time.sleep(0.25)


def test_another_thread_has_no_alarm():
    seen = []

    def work():
        with answers_within(0.01):
            time.sleep(0.05)
        seen.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(0, 0)]
