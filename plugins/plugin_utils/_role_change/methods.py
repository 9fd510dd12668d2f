# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The methods by which a former source may rejoin, given its verdict, each with why it is not
possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import (
    UnknownServerError,
    identify_version,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
    PHANTOMS,
    Judged,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import WayRow

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import FormerLook

ATTACH, TRUNCATE, REPLAY, SEED = "attach", "truncate", "replay", "seed"
WAYS = (ATTACH, TRUNCATE, REPLAY, SEED)


class Way(NamedTuple):
    """One way.

    Attributes:
        name: as semisync_rejoin_way has it.
        closed: why it is not possible, or "".
        does: what it does.
    """

    name: str
    closed: str
    does: str

    def row(self) -> WayRow:
        """The same in rejoin.json."""
        return {"name": self.name, "closed": self.closed, "does": self.does}


UNDECIDED = f"the verdict is '{CANNOT_TELL}'"


def ways(
    host: str,
    source: str,
    judged: Judged,
    look: FormerLook,
    engine: str,
    exposed: Sequence[str] | None = (),
    accepted: Sequence[str] = (),
) -> list[Way]:
    """All ways.

    Args:
        look: what its host said.
        engine: of both servers.
        exposed: tables whose engine has no transactions; None if unknown.
        accepted: those of them that were accepted by name.
    """
    unseen = unseen_words(host, exposed, accepted)
    return [
        Way(ATTACH, attach_closed(judged) or unseen, f"{host} follows {source} as it is"),
        Way(
            TRUNCATE,
            truncate_closed(host, judged, look, engine) or unseen,
            f"the server of {host} rolls back, at its start, what no replica acknowledged"
            " (init-rpl-role=SLAVE); it is judged again, and follows",
        ),
        Way(
            REPLAY,
            replay_closed(host, source, judged, look, engine) or unseen,
            f"{source} applies what only {host} has, with its GTIDs, unless it has changed the"
            f" same rows since; {host} then follows",
        ),
        Way(
            SEED,
            seed_closed(host, source, look, engine, exposed),
            f"all data of {host} are replaced with a copy of {source}; what only it has is lost,"
            " except in the copy of its old data, which is kept if the disk has room",
        ),
    ]


def seed_closed(
    host: str,
    source: str,
    look: FormerLook,
    engine: str,
    exposed: Sequence[str] | None,
) -> str:
    if not look:
        return f"{host} was not read"
    if exposed and engine != "mariadb":
        return (
            f"tables without transactions are not copied ({', '.join(exposed[:5])}): convert them"
            f" on {source} (ALTER TABLE … ENGINE=InnoDB), or restore a backup by hand"
        )
    return ""


def unseen_words(
    host: str,
    exposed: Sequence[str] | None,
    accepted: Sequence[str],
) -> str:
    """The tables in which a crash may have left rows that no binary log has; empty if there are
    none, or all were accepted by name.

    Args:
        exposed: those whose engine has no transactions; None if unknown.
    """
    if exposed is None:
        return "which tables have no transactions is not known"
    left = [name for name in exposed if name not in accepted]
    if not left:
        return ""
    return (
        f"{', '.join(left[:5])}{f' and {len(left) - 5} others' if left[5:] else ''} of {host} may"
        " have rows that no binary log has: a table without transactions is written before the"
        " log. If you have compared them, or they do not matter, pass semisync_rejoin_accept="
        + ",".join(left)
    )


def unread(
    host: str,
    look: FormerLook,
    error: str | None,
    silent: bool = False,
) -> str:
    """Why there is no verdict, and how to get one.

    Args:
        error: what its server reported, or that no server listens there.
        silent: whether a server listens but does not respond.
    """
    words = f"{host} could not be read: {look.get('why') or look.get('msg') or error}"
    if silent:
        words += (
            "; if it hangs, kill its server (systemctl kill --signal=KILL and its"
            " unit), and run this again"
        )
    elif look.get("down") is False and look.get("why"):
        words += (
            "; if it is starting, wait until it responds (see its error log), and run this again"
        )
    return words + by_starting(look) if look.get("encrypted") else words


def waiting(member: Member) -> str:
    """Why nothing may be done with a server on which commits wait for an acknowledgement; empty if
    none waits.

    With AFTER_SYNC they are in its log, and on MySQL not in gtid_executed. A clean shutdown
    confirms them to their clients, as on MySQL, and the statement that makes the server read-only
    waits for them.
    """
    status = member.info["semisync"]["source"]["status"] if member.info else {}
    number = int(status.get("wait_sessions") or 0)
    if not number:
        return ""
    return (
        f"on {member.host} {number} commit(s) wait for an acknowledgement: they are in its log,"
        " the verdict does not count them, and a clean shutdown may confirm them to their clients."
        f" Kill its server (systemctl kill --signal=KILL {member.facts['unit']}), and run"
        " this again. systemd may start it again: keep writers away from it"
    )


def unprepared(
    host: str,
    source: str,
    user: str,
    look: FormerLook,
) -> str:
    """What prevents it from following by any method; empty if nothing does."""
    if look.get("reach"):
        return f"{host} cannot log in to {source} as {user}: {look['reach']}"
    place = look.get("option_file")
    if look.get("down") and place and place.get("unknown"):
        return f"its option files are not known: {place['unknown']}"
    return ""


def by_starting(look: FormerLook) -> str:
    """How to get a verdict if no program can read the log without the server."""
    if not look["down"]:
        return ""
    by = look.get("read_only_by")
    keeps = f"{by} keeps it read-only" if by else "with read_only = ON in an option file of yours"
    return (
        "; only its own server can read the log. Start it (systemctl"
        f" start {look['unit']}; {keeps}), which commits all that the log has, and run this again"
    )


def attach_closed(judged: Judged) -> str:
    if judged.verdict == PHANTOMS:
        return "it has errant transactions"
    if judged.verdict == CANNOT_TELL:
        return "it is not known whether it has errant transactions"
    return "; ".join(judged.hindrances)


def replay_closed(
    host: str,
    source: str,
    judged: Judged,
    look: FormerLook,
    engine: str,
) -> str:
    """Why the new source may not replay what only the former one has."""
    if engine == "mariadb":
        return f"{source} already has higher sequence numbers, and MariaDB accepts no lower ones"
    if judged.verdict != PHANTOMS:
        return "there is nothing to replay" if judged.verdict == CLEAN else UNDECIDED
    log = look.get("log")
    if not log:
        return f"the binary log of {host} was not read: {look.get('why', '')}"
    if judged.hindrances:
        return "; ".join(judged.hindrances)
    lasting = log["shown"]["lasting"]
    if lasting:
        return (
            f"{lasting[0]}{' and others' if lasting[1:] else ''} cannot be tried and rolled back:"
            " it is DDL, or changes a table without transactions"
        )
    return ""


def truncate_closed(
    host: str,
    judged: Judged,
    look: FormerLook,
    engine: str,
) -> str:
    """Why a MariaDB server may not truncate its own log."""
    if engine != "mariadb":
        return "MySQL does not support this"
    if judged.verdict != PHANTOMS:
        return "there is nothing to roll back" if judged.verdict == CLEAN else UNDECIDED
    if not look.get("down"):
        return f"the server of {host} runs, and has committed everything in its log"
    log = look.get("log")
    if not log:
        return f"the binary log of {host} was not read: {look.get('why', '')}"
    try:
        names = Names(*identify_version(look.get("version") or "", ""))
    except UnknownServerError:
        return f"the version of {host} is not known"
    if not names.truncates:
        version = ".".join(str(number) for number in names.version)
        return f"MariaDB {version} does not support this, or not correctly (MDEV-33465)"
    lasting = log["shown"]["lasting"]
    if lasting:
        return (
            f"{lasting[0]}{' and others' if lasting[1:] else ''} cannot be rolled back: it is DDL,"
            " or changes a table without transactions"
        )
    return ""
