# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a former source's host says: of a server that does not run by the files of its binary log
alone, and of either what the transactions are that the new source lacks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (
    errant,
    log_access,
    log_file,
    log_transactions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.logged_gtids import History
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.printing import Part, printed
from ansible_collections.dbre.semisync.plugins.module_utils._host import server_options
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import (
    lost_power,
    offline_server,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import dropin_place, trials
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.log_facts import (
    first_gtids,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Place
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FormerLookPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (
    SYSTEM_SCHEMAS,
    Server,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ErrantShown,
        FormerLook,
        LogRead,
        OptionFiles,
    )

ERRORS = (offline_server.PlaceError, log_access.SalvageError, log_transactions.TailError)
WITHOUT_ROWS = ("--base64-output=DECODE-ROWS",)
# After the description of a file and the GTIDs before it, in every version.
HEAD = 300


def former_facts(module: AnsibleModule, plan: FormerLookPlan) -> FormerLook:
    """Read the former source's host; see the RETURN section of semisync_rejoin."""
    peer = plan.peer
    there = Place(peer.address, peer.port, peer.tls)
    words, _answered = trials.reach_place(module, plan.user, there)
    return {**log_facts(module, plan), "reach": words}


def source_facts(
    _module: AnsibleModule,
    server: Server,
    names: Names,
) -> dict[str, object]:
    """Read the new source's host."""
    return {
        "changed": False,
        "first_gtids": first_gtids(server, names),
        "exposed": exposed(server),
    }


def exposed(server: Server) -> list[str]:
    """The tables that are written before the binary log is, and never taken back: after a crash a
    server may have in them what is in no log.
    """
    asked = filled(
        "SELECT t.TABLE_SCHEMA AS a, t.TABLE_NAME AS b FROM information_schema.TABLES t JOIN"
        " information_schema.ENGINES e ON t.ENGINE = e.ENGINE WHERE t.TABLE_TYPE = 'BASE TABLE' AND"
        " e.TRANSACTIONS = 'NO' AND t.TABLE_SCHEMA NOT IN ({own}) ORDER BY 1, 2",
        own=list(SYSTEM_SCHEMAS),
    )
    rows = server.rows(asked)
    return [f"{text(row['a'])}.{text(row['b'])}" for row in rows]


def log_facts(module: AnsibleModule, plan: FormerLookPlan) -> FormerLook:
    """What its files say."""
    known: FormerLook = {"changed": False, "down": not plan.files, "log": None}
    files = plan.files
    try:
        if not files:
            there = offline_server.find(module, plan.units, plan.program)
            known.update(offline_facts(module, plan, there))
            files = there.files()
            runs = log_access.running(files)
            if runs:
                known["down"] = False
                known["why"] = f"its server runs, but was not read: {runs}"
                return known
        known["lost_power"] = lost_power.lost(files, plan.since)
        known["log"] = read_log(module, plan, files)
    except (*ERRORS, OSError, ValueError) as error:
        known["why"] = str(error)
        known["encrypted"] = getattr(error, "case", "") == "encrypted"
    return known


def offline_facts(
    module: AnsibleModule, plan: FormerLookPlan, there: offline_server.OfflineServer
) -> FormerLook:
    """Facts about a server that does not run, apart from its log."""
    options = server_options.read_options(module, there.server, plan.option_file or None)
    kind = gtids.kind_of(plan.engine)
    return {
        "unit": there.unit,
        "version": there.version,
        "identity": there.identity(kind),
        "by_gtid": kind is gtids.MariadbGtids or there.by_gtid(),
        "strict": there.strict(),
        "scheduler": there.options.get("event-scheduler", ""),
        "sync_binlog": there.options.get("sync-binlog", ""),
        "datadir": there.datadir,
        "option_file": {
            "path": options["path"],
            "kind": options["kind"],
            "group": options["group"],
            "unknown": options["unknown"],
            "reader": options["reader"],
            "command_line": options["command_line"],
        },
        "read_only_by": read_only_by(options),
    }


def read_only_by(options: OptionFiles) -> str:
    """The option file that makes its next start read-only, if a failover wrote one."""
    ours = (options["path"], options["kind"], options["group"])
    if options["unknown"] or not dropin_place.stands(*ours):
        return ""
    return dropin_place.places(*ours)[0]


def needed(program: str, paths: list[str], known: gtids.Gtids) -> dict[str, log_file.Whole]:
    """Path -> how far it is whole, of the files that may have something beyond a GTID set; in their
    order.
    """
    checked = {}
    for path in reversed(paths):
        checked[path] = whole(path, paths[-1])
        if begins_before(program, path, known):
            break
    return dict(reversed(list(checked.items())))


def read_log(
    module: AnsibleModule,
    plan: FormerLookPlan,
    files: LogFiles,
) -> LogRead:
    """Read the log from the first file that may have something that the new source lacks.

    Raises:
        SalvageError, TailError, OSError: it cannot be read.
        ValueError: what the new source has is no GTID set.
    """
    kind = gtids.kind_of(plan.engine)
    known = kind.parse(plan.known)
    program = log_access.program(module, files)
    paths = log_access.listed(files)
    checked = needed(program, paths, known)
    wanted = list(checked)
    read = [Part(path, checked[path].end) for path in wanted]
    history = printed(
        program,
        read,
        History(kind).read,
        WITHOUT_ROWS,
    )
    state = history.has()
    lacking = [one for one in history.gtids if kind.parse(one).beyond(known)]
    last = checked[wanted[-1]]
    return {
        "files": wanted,
        "all_files": len(wanted) == len(paths),
        "end": last.end,
        "torn_bytes": last.torn,
        "torn_gtid": history.torn,
        "gtids": state,
        "anonymous": history.anonymous,
        "disorder": history.disorder(),
        "count": len(lacking),
        "lacking": lacking[:1000],
        "shown": show(program, read, kind, lacking),
    }


def begins_before(
    program: str,
    path: str,
    known: Gtids,
) -> bool:
    """Whether a log file shows that everything before it is known."""
    part = Part(path, os.path.getsize(path), stop=HEAD)
    head = printed(
        program,
        [part],
        History(type(known)).read,
        WITHOUT_ROWS,
    )
    return head.before is not None and not known.parse(head.before).beyond(known)


def first_needed(
    program: str,
    paths: list[str],
    known: Gtids,
) -> int:
    """The index of the last file before which everything is known; 0 if there is none."""
    for number in range(len(paths) - 1, 0, -1):
        if begins_before(program, paths[number], known):
            return number
    return 0


def show(program: str, parts: list[Part], kind: type[Gtids], lacking: list[str]) -> ErrantShown:
    """The transactions that the new source lacks."""
    wanted = set(lacking)
    seen = errant.Phantoms(kind, wanted.__contains__)
    if lacking:
        only = () if kind is gtids.MariadbGtids else (f"--include-gtids={kind.of(*lacking)}",)
        printed(
            program,
            parts,
            seen.read,
            (*errant.OPTIONS, *only),
        )
    return {
        "count": seen.count,
        "transactions": seen.told,
        "tables": seen.tables,
        "lasting": seen.lasting[:100],
    }


def whole(path: str, last: str) -> log_file.Whole:
    """How far a file is whole.

    Raises:
        SalvageError: it cannot be read, or ends within an event although others follow.
    """
    walked = log_access.walk(path)
    if walked.problem:
        raise log_access.SalvageError(walked.problem, f"{path}: {walked.words}")
    if walked.torn and path != last:
        said = f"{os.path.basename(path)} ends within an event, and another file follows"
        raise log_access.SalvageError("damaged", said)
    return walked
