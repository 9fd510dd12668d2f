# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By which method a replica can get its source's data: clone, backup or dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import naming

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info


def choose(member: Member, source: Member, settings: Settings) -> tuple[str | None, str]:
    """(method, because): the method of copying, and why not the faster one; (None, why) if none
    works.
    """
    wanted, infos = settings["seed_method"], (source.facts, member.facts)
    names = naming.clone_problem(member, source, settings)
    unfit = {
        "clone": clone_unfit(*infos) or names,
        "backup": backup_unfit(*infos),
        "dump": dump_unfit(*infos),
    }
    if wanted != "auto":
        why = unfit[wanted]
        return (None, f"semisync_seed_method is {wanted}, but {why}") if why else (wanted, "")
    fast = "backup" if source.facts["engine"] == "mariadb" else "clone"
    if not unfit[fast]:
        return fast, ""
    if unfit["dump"]:
        return None, f"{unfit[fast]}; {unfit['dump']}"
    return "dump", unfit[fast]


def clone_unfit(source: Info, replica: Info) -> str:
    """Why the clone plugin cannot do it (MySQL manual, "Remote Cloning Prerequisites"); empty if
    it can.
    """
    if source["engine"] == "mariadb":
        return "MariaDB has no clone plugin"
    series = [info["names"].get("copy_series") for info in (source, replica)]
    if not all(series):
        return "the clone plugin begins with 8.0.17"
    if series[0] != series[1]:
        return (
            f"clone needs one version on both: the source has {source['version']}, the replica"
            f" {replica['version']}"
        )
    for info, where in ((source, "source"), (replica, "replica")):
        if not info["tools"]["clone"]:
            return f"there is no mysql_clone.so on the {where}"
    return ""


def backup_unfit(source: Info, replica: Info) -> str:
    """Why mariadb-backup cannot do it; empty if it can."""
    if source["engine"] != "mariadb":
        return "mariadb-backup copies MariaDB only"
    if source["names"].get("copy_series") != replica["names"].get("copy_series"):
        return (
            f"a copy of the files needs one version on both: the source has {source['version']},"
            f" the replica {replica['version']}"
        )
    for info, where in ((source, "source"), (replica, "replica")):
        if not info["tools"]["backup"]:
            return f"there is no mariadb-backup on the {where} (install the package mariadb-backup)"
    if not replica["tools"]["stream"]:
        return "there is no mbstream on the replica (install the package mariadb-backup)"
    return ""


def dump_unfit(source: Info, replica: Info) -> str:
    if not source["tools"]["dump"]:
        return (
            "there is no mysqldump or mariadb-dump on the source (install the server's client"
            " package)"
        )
    if not replica["tools"]["client"]:
        return (
            "there is no mysql or mariadb client on the replica (install the server's client"
            " package)"
        )
    return ""
