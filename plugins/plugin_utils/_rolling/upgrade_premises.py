# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold before the first server of a cluster is upgraded, besides the premises of a
restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import next_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import (
    mark,
    order,
    restart_premises,
    upgrade_path,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
    from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.mark import Mark, Wish

# Tables that a refusal names.
SHOWN = 5


class OwnLook(TypedDict, total=False):
    """What semisync_upgrade with state looked returned; only `msg` if that failed, and nothing if
    there is no result.
    """

    msg: str
    prepared: int


class OwnCheck(TypedDict, total=False):
    """The same with state checked."""

    msg: str
    tables: int
    of: int
    wrong: list[str]
    unchecked: str


def missing_variables(settings: Settings) -> list[str]:
    """Variables without which there is nothing to do."""
    version = "semisync_upgrade_to is empty: name the version to upgrade to, such as 11.8"
    tasks = "semisync_hook_upgrade is empty: name the file with your tasks that change the program"
    return [version] * (not settings["upgrade_to"]) + [tasks] * (not settings["hook_upgrade"])


def different_versions(members: list[Member]) -> list[str]:
    """Hosts of one cluster that are to get different versions."""
    wanted = {one.host: one.settings.get("upgrade_to") or "none" for one in members}
    if len(set(wanted.values())) < 2:
        return []
    listed = ", ".join(f"{host}: {to}" for host, to in wanted.items())
    return [f"semisync_upgrade_to differs within the cluster ({listed}); give it with -e"]


def upgrade_refusals(
    members: list[Member],
    known: Mark,
    wish: Wish,
    lossless: bool,
    look: OwnLook,
) -> list[str]:
    """What is wrong with an upgrade.

    Args:
        lossless: whether the cluster promises to be.
        look: what the source's server itself finds.
    """
    other = other_version(known, wish)
    if other:
        return other
    left = mark.pending(known, members)
    every = [one for one in members if one.host in left and one.info is not None]
    return [
        *[words for one in every for words in version_refusals(one, wish.to)],
        *(transaction_refusals(source_of(members), look) if every else []),
        *waiting_refusals(members, left, lossless),
        *untried_refusals(members, left, wish),
    ]


def other_version(known: Mark, wish: Wish) -> list[str]:
    """Another version than that of the run that is not done."""
    if known["to"] == wish.to:
        return []
    return [
        f"the run that began at {known['began']} upgrades to {known['to']}, and is not done:"
        f" finish it with semisync_upgrade_to={known['to']}, or delete {mark.UPGRADE_FILE} in"
        " the cluster's results"
    ]


def untried_refusals(members: list[Member], left: list[str], wish: Wish) -> list[str]:
    """Ways from one version to another on which this playbook has not been run, unless that is
    accepted.
    """
    if restart_premises.UNTRIED in wish.accepted:
        return []
    return [
        f"{one.host}: it runs {one.facts['engine']} {one.facts['version']}, and upgrade.yml has not"
        f" been run from there to {wish.to}; rehearse it on a copy of this cluster, then accept"
        f" this with -e semisync_restart_accept={restart_premises.UNTRIED}"
        for one in members
        if one.host in left
        and one.info is not None
        and not upgrade_path.was_run(one.facts["engine"], one.facts["version"], wish.to)
    ]


def version_refusals(member: Member, to: str) -> list[str]:
    """Why a server may not have the version, or would not start with it."""
    info, then = member.facts, upgrade_path.numbers(to)
    problem = upgrade_path.path_problem(info["engine"], info["version"], to)
    if problem:
        return [f"{member.host}: {problem}"]
    options, plugins, accounts = (
        [words for version, words in pairs if version <= then]
        for pairs in (
            next_version.refused_options(info),
            next_version.refused_plugins(info),
            next_version.refused_accounts(info),
        )
    )
    return start_problem(member.host, to, options, plugins) + [
        f"{member.host}: {to} refuses {words}, once the role is on it. Give these accounts another"
        " plugin with ALTER USER, lock those that are not used, or, for 8.4 only, write"
        " loose_mysql_native_password = ON to the option files of every server (finding"
        " next_version)"
        for words in accounts
    ]


def start_problem(host: str, to: str, options: list[str], plugins: list[str]) -> list[str]:
    """Why a server would not start with the version, or without semi-sync."""
    if not options and not plugins:
        return []
    remedy = "remove that first"
    if plugins:
        # Of our own lines, those of the old names go with their plugins.
        remedy = "first run site.yml with -e semisync_plugin_names=new, and remove what is left"
    return [
        f"{host}: {to} refuses {', '.join(options + plugins)}, which it starts with;"
        f" {remedy} (finding next_version)"
    ]


def transaction_refusals(source: Member, look: OwnLook) -> list[str]:
    """XA transactions of a source that stay prepared. On a replica they may not be ended: it
    gets their end from the source.
    """
    host, prepared = source.host, look.get("prepared")
    if source.facts["engine"] == "mariadb" or prepared == 0:
        return []
    if prepared is None:
        return [
            f"{host}: it did not say which XA transactions are prepared"
            f" ({look.get('msg') or 'no answer'}); in 8.0 and later this needs XA_RECOVER_ADMIN"
        ]
    return [
        f"{host}: XA transactions stay prepared ({prepared}), with which MySQL must not be"
        " upgraded; ask the transaction manager whose they are. If none has them, end each that XA"
        " RECOVER lists with XA COMMIT or XA ROLLBACK, on this host only: its replicas get it"
    ]


def table_refusals(checks: Mapping[str, OwnCheck], accepted: list[str]) -> list[str]:
    """What servers say against their tables, or that they could not be asked.

    Args:
        checks: host -> its server's check, empty for a host that was not to be asked.
        accepted: names of cases that are accepted.
    """
    refusals = []
    for host, check in checks.items():
        wrong = check.get("wrong", [])
        if "msg" in check:
            refusals.append(
                f"{host}: it could not be asked about its tables ({check['msg']}); correct that,"
                " and run this again"
            )
        if wrong and restart_premises.TABLES not in accepted:
            refusals.append(wrong_tables(host, wrong))
    return refusals


def wrong_tables(host: str, wrong: list[str]) -> str:
    """What a server says against its tables, and what to do."""
    more = f", and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return (
        f"{host}: CHECK TABLE ... FOR UPGRADE says {'; '.join(wrong[:SHOWN])}{more}; repair or drop"
        " these tables on the source, or accept this with"
        f" -e semisync_restart_accept={restart_premises.TABLES}"
    )


def unchecked_lines(checks: Mapping[str, OwnCheck]) -> list[str]:
    """What is said of servers whose tables were not all checked. Nothing is known against them."""
    return [
        f"{host}: {check['tables']} of {check['of']} tables were checked; {check['unchecked']}."
        " MySQL Shell's util.checkForServerUpgrade() looks at more"
        for host, check in checks.items()
        if check.get("unchecked")
    ]


def waiting_refusals(members: list[Member], left: list[str], lossless: bool) -> list[str]:
    """A promise that makes writers wait for a whole upgrade."""
    others = len(replicas_of(members)) - 1
    source = source_of(members)
    count = order.wait_count(source)
    if not lossless or others >= count or not left:
        return []
    return [
        f"{source.host}: a commit waits for {count} of its replicas, and {others} can acknowledge"
        " while one is upgraded: with semisync_promise=lossless, writers would wait for the whole"
        " upgrade. Add a replica until the upgrade is done"
    ]
