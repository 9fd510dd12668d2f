# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From semi-sync's old plugin names to the new ones, or back, as semisync_plugin_names asks for.

MySQL 8.0.26 to 9.4 know both, one at a time (server/names.py). A replica that is to change is
planned as if it had changed already: what is left to do after the exchange is then what its plan
says. A source keeps its names until a switchover has made it a replica. If none are asked for, a
server without plugins gets the names that its source has: a clone needs the same plugins on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import GENERATIONS, WORDS
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import names_in_use
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    has_plugins,
    names_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

AUTO = "auto"
# Ways in which an option file loads a plugin (MySQL manual, "Installing and Uninstalling Plugins").
LOADING = ("plugin_load", "plugin_load_add", "early_plugin_load")


def wanted(member: Member, settings: Settings, source: Member) -> str:
    """old or new if this server has, or would be given, plugins with the other names; empty if it
    has the right ones.
    """
    asked, info = settings["plugin_names"], member.facts
    if asked == AUTO:
        asked = names_from_source(member, source)
    if asked == AUTO or info["names"]["builtin"]:
        return ""
    return asked if WORDS[info["names"]["generation"]] != asked else ""


def names_from_source(member: Member, source: Member) -> str:
    """The names of the source's plugins if this server is given the same; auto if it keeps its own,
    or its version has no others.
    """
    if has_plugins(member) or not has_plugins(source):
        return AUTO
    theirs = WORDS[source.facts["names"]["generation"]]
    return theirs if has_kind(member, theirs) else AUTO


def has_kind(member: Member, asked: str) -> bool:
    """Whether this server's version has plugins with these names."""
    return WORDS[names_of(member.facts).called(asked).generation] == asked


def kept(member: Member, settings: Settings) -> str:
    """The names that a source has although others are asked for; empty if it has the right ones."""
    if member.side != "source" or not member.facts["plugins"]:
        return ""
    if not wanted(member, settings, member):
        return ""
    return WORDS[member.facts["names"]["generation"]]


def renamed(member: Member, settings: Settings, source: Member) -> Member:
    """The member as it is after its plugins were exchanged, with `renames` saying to which names;
    itself if they stay.
    """
    asked = wanted(member, settings, source)
    if not asked or kept(member, settings):
        return member
    info = member.facts
    names = names_in_use(names_of(info).called(asked))
    plugins = dict.fromkeys(GENERATIONS[asked], "ACTIVE") if info["plugins"] else {}
    facts = cast("Info", {**info, "names": names, "plugins": plugins})
    return member.but(info=facts, renames=asked if plugins else "")


def clone_problem(member: Member, source: Member, settings: Settings) -> str:
    """Why a clone fails if the replica has, or is given, plugins with other names than its
    source's: it needs the source's plugins, and no server loads both kinds (error 4045).
    """
    has = source.facts["names"]["generation"]
    then = renamed(member, settings, source).facts["names"]["generation"]
    if not source.facts["plugins"] or then == has:
        return ""
    return (
        "clone needs the source's plugins on the replica, and those for semi-sync have the"
        f" {WORDS[has]} names on the source, and the {WORDS[then]} names on the replica"
    )


def names_problems(members: list[Member], settings: Settings) -> list[str]:
    """Why the names that were asked for cannot be had, host by host."""
    reasons: list[str] = []
    asked = {(one.settings or settings)["plugin_names"] for one in members} - {AUTO}
    for member in members:
        for names in sorted(asked):
            # A replica before 8.0.26 cannot follow a source with the new names with semi-sync.
            reasons += version_problems(member, names)
        its_settings, source = member.settings or settings, source_of(members)
        own = wanted(member, its_settings, source)
        if own:
            given_by = source.host if its_settings["plugin_names"] == AUTO else ""
            reasons += use_problems(member, own) + lines_problems(member, own, given_by)
    return reasons


def version_problems(member: Member, asked: str) -> list[str]:
    """A server that has one kind of names only, and not the one that was asked for."""
    info = member.facts
    if info["names"]["builtin"]:
        return [
            f"{member.host}: semisync_plugin_names is {asked}, but semi-sync is built into"
            f" {info['version_full']} and has one kind of names; leave it at auto"
        ]
    if has_kind(member, asked):
        return []
    since = "8.0.26 and later have" if asked == "new" else "Versions before 9.5 have"
    return [
        f"{member.host}: semisync_plugin_names is {asked}, but MySQL {info['version']} has no"
        f" plugins with the {asked} names. {since} them; leave it at auto"
    ]


def use_problems(member: Member, asked: str) -> list[str]:
    """A replica that is a source for others, which its plugins cannot be taken from."""
    clients = member.facts["semisync"]["source"]["status"].get("clients")
    if member.side != "replica" or not int(clients or 0):
        return []
    return [
        f"{member.host}: {clients} semi-sync replicas follow it, so its plugins cannot be exchanged"
        f" for those with the {asked} names. Let them follow the source first"
    ]


def lines_problems(member: Member, asked: str, source: str = "") -> list[str]:
    """What would load or set the plugins of the present names at the next start, beside ours: then
    both kinds would be loaded, and the second one fails.

    Args:
        source: the host whose names this server is given because none are asked for; or empty.
    """
    info, reasons = member.facts, []
    others = "old" if asked == "new" else "new"
    now = GENERATIONS[others]
    remove = f"which belongs to the plugins that semisync_plugin_names={asked} removes"
    if source:
        remove = (
            f"which belongs to the plugins with the {others} names; its source {source} has the"
            f" {asked} ones"
        )
    given = info["option_files"].get("command_line") or {}
    for lines, where, way in (
        (info["option_files"]["elsewhere"], "an option file that is not the collection's sets", ""),
        (given, "the server is started with", " from the unit or script that starts it"),
    ):
        reasons += [
            f"{member.host}: {where} {name} = {value}, {remove}. Remove that{way}"
            for name, value in sorted(lines.items())
            if belongs(name, str(value), now)
        ]
    reasons += [
        f"{member.host}: {name} is persisted (SET PERSIST), {remove}. Run RESET PERSIST {name}"
        for name in sorted(info["persisted"])
        if belongs(name, "", now)
    ]
    return reasons


def belongs(name: str, value: str, plugins: tuple[str, ...]) -> bool:
    """Whether an option is one of these plugins', or loads one of them."""
    if name.startswith(tuple(plugin + "_" for plugin in plugins)):
        return True
    libraries = [plugin.replace("rpl_semi_sync", "semisync") for plugin in plugins]
    return name in LOADING and any(word in value for word in [*plugins, *libraries])
