# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the replication account can log in to the other members from here."""

from __future__ import annotations

import errno
import socket
import threading
import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import log_in
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Place
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    SERVER_LOST,
    ServerError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.peer import TLS_FAILED

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import RoleState

# Seconds that a host may take to answer before it counts as gone.
ANSWER = 2
DEFAULT_PORT = 3306
# The same for one that is expected to be dead, and when it is tried within that. Linux repeats a
# lost packet after one second, a question for a link address too (RFC 6298, RFC 4861).
EXPECTED_DEAD = 1.25
TRIES = (0.0, 0.2, 0.4)
# Seconds for which such a silence counts.
FRESH = 1.5
# CR_CONN_HOST_ERROR (MySQL manual, "Client Error Message Reference").
NO_CONNECTION = 2003


class Knock:
    """Whether anything at an address takes a connection or refuses it: begun while something else
    is done, because a host without power says nothing. It sends nothing and needs no TLS, so a
    module can end while it waits.

    Attributes:
        place: the address and the port.
        seen: "" (not known yet), then for good "open", "closed", "failed" or "silent".
    """

    def __init__(self, place: Place) -> None:
        self.place, self.seen = key_of(place), ""
        self.known = threading.Event()
        self.lost: list[float] = []
        self.until = time.monotonic() + EXPECTED_DEAD
        for after in TRIES:
            threading.Thread(target=self.run, args=(after,), daemon=True).start()

    def run(self, after: float) -> None:
        """Try it after some seconds, unless it is known by then."""
        if self.known.wait(after):
            return
        try:
            socket.create_connection(self.place, timeout=EXPECTED_DEAD - after).close()
            self.tell("open")
        except socket.timeout:
            self.lost.append(after)
            if len(self.lost) == len(TRIES):
                self.tell("silent")
        except (OSError, UnicodeError) as error:
            self.tell("closed" if isinstance(error, ConnectionRefusedError) else "failed")

    def tell(self, seen: str) -> None:
        self.seen = self.seen or seen
        self.known.set()

    def silent(self) -> bool:
        """Whether nothing came until just now; waits. A name that resolves later is not silent."""
        self.known.wait(max(0.0, self.until - time.monotonic()) + 0.05)
        return self.seen == "silent" and time.monotonic() - self.until < FRESH


def key_of(place: Place) -> tuple[str, int]:
    """The address and the port of a place."""
    return str(place.address), int(place.port or DEFAULT_PORT)


def places_of(others: list[Place], info: RoleState) -> list[Place]:
    """The addresses at which the other members may be reached, without duplicates: those that the
    controller gave, and the one of this server's source. Whether they have TLS is not known yet; it
    is assumed to be as on this server.
    """
    channel = info["channel"]
    own = [Place(channel["source_host"], channel["source_port"])] if channel else []
    tls = bool(info["tls"]["on"])
    listening = [place for place in [*others, *own] if place.address]
    once = {key_of(place): True for place in listening}
    return [Place(address, port, tls, known=False) for address, port in once]


def try_all(
    module: AnsibleModule, user: str, places: list[Place], knocks: tuple[Knock, ...] = ()
) -> list[dict[str, object]]:
    """Try all places at the same time, because a dead host takes long to time out. Each gets
    `words`, why the replication account cannot log in there from here (empty if it can),
    `answered`, whether a server there answered at all, and `there`, whether its host's kernel did.

    Args:
        knocks: at some of the places. No login is tried at one that has been silent.
    """
    known = {knock.place: knock for knock in knocks}
    tried = [
        dict(place.to_dict(), words="it was not tried", answered=False, there=False)
        for place in places
    ]

    def attempt(place: Place, row: dict[str, object]) -> None:
        knock = known.get(key_of(place))
        error = said_nothing(place) if knock and knock.silent() else why_not(module, user, place)
        row["words"], row["answered"] = told(error)
        seen = bool(knock and knock.seen in ("open", "closed"))
        row["there"] = seen or error is None or answered(error) or responded(error)

    threads = [threading.Thread(target=attempt, args=pair) for pair in zip(places, tried)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tried


def reach_place(module: AnsibleModule, user: str, place: Place) -> tuple[str, bool]:
    """(why it cannot log in there, whether a server answered: one that refuses a login does)."""
    return told(why_not(module, user, place))


def told(error: ServerError | None) -> tuple[str, bool]:
    """The same of a login's error; None if there is none."""
    return ("", True) if error is None else (str(error), answered(error))


def why_not(module: AnsibleModule, user: str, place: Place) -> ServerError | None:
    """Why the replication account cannot log in there; None if it can."""
    tls = (place.tls or None) if place.known else None
    return log_in.refusal(module, user, log_in.Address(*key_of(place), tls), ANSWER)


def said_nothing(place: Place) -> ServerError:
    """The error of a login at a host that does not respond."""
    words = f"Can't connect to MySQL server on {str(place.address)!r} (timed out)"
    return ServerError(Exception(NO_CONNECTION, words))


def answered(error: ServerError) -> bool:
    """Whether a login error shows that a server answered: it comes from the server, or from the
    driver after the server spoke. False if no connection was made (2000 to 2999 are the client
    library's own errors).
    """
    if "cryptography" in str(error) or error.number == TLS_FAILED:
        return True
    return error.number is not None and not (error.number == 0 or 2000 <= error.number < 3000)


def responded(error: ServerError) -> bool:
    """Whether a login error shows that at least the host's kernel runs: it refused the connection,
    or took it, and its server said nothing.
    """
    return error.number == SERVER_LOST or f"[Errno {errno.ECONNREFUSED}]" in str(error)
