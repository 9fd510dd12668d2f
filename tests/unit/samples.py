# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What servers said, and what a plan does to it.

The files in fixtures/ are results of semisync_info, captured from Debian's MySQL 9.7.4 and MariaDB
10.11.19 in an asynchronous-then-semi-synchronous pair that site.yml set up; the lines and plugins
of the side that a host does not have were added to them as carry_out() does. Other servers are
derived from them here.
"""

from __future__ import annotations

import copy
import json
import os

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, names, read
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.apply import set_up_plan
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.option_lines import OTHER_SIDE
from ansible_collections.dbre.semisync.plugins.plugin_utils._types import shapes

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")

SETTINGS = Settings(
    {
        "apply": "restart",
        "stage": "full",
        "replication_user": "repl",
        "replication_user_host": "%",
        "replication_password": "pass word",
        "replication_ssl": "auto",
        "replication_ssl_ca": "",
        "replication_ssl_verify_name": False,
        "replication_connect_retry": 1,
        "seed_method": "auto",
        "seed_overwrite": False,
        "bind_address": "*",
        "replica_read_only": True,
        "timeout_ms": 10000,
        "wait_point": "AFTER_SYNC",
        "wait_for_replica_count": 1,
        "wait_no_replica": True,
        "trace_level": 32,
        "sync_binlog": 1,
        "innodb_flush_log_at_trx_commit": 1,
        "canary_schema": "important",
        "heartbeat_seconds": 0,
        "http_port": 0,
        "http_address": "",
        "http_allow": [],
    }
)

# What a server has before anything is configured; SHOW GLOBAL VARIABLES of the bare servers.
DEFAULTS = {
    "mysql": {
        "server_id": "1",
        "gtid_mode": "OFF",
        "enforce_gtid_consistency": "OFF",
        "relay_log": "HOST-relay-bin",
        "bind_address": "127.0.0.1",
        "sync_binlog": "1",
        "innodb_flush_log_at_trx_commit": "1",
        "log_bin": "ON",
        "log_slave_updates": "ON",
        "log_replica_updates": "ON",
        "read_only": "OFF",
        "sync_relay_log": "10000",
    },
    "mariadb": {
        "server_id": "1",
        "log_bin": "OFF",
        "log_slave_updates": "OFF",
        "relay_log": "",
        "bind_address": "127.0.0.1",
        "sync_binlog": "0",
        "innodb_flush_log_at_trx_commit": "1",
        "read_only": "OFF",
        "sync_relay_log": "10000",
    },
}
SEMISYNC_DEFAULTS = {
    "enabled": "OFF",
    "timeout": "10000",
    "trace_level": "32",
    "wait_no_replica": "ON",
    "wait_point": "AFTER_SYNC",
    "wait_for_replica_count": "1",
}
SWITCHES = (
    "enabled",
    "wait_no_replica",
    "log_slave_updates",
    "log_replica_updates",
    "gtid_mode",
    "enforce_gtid_consistency",
    "read_only",
)


def settings(**changes):
    return Settings(SETTINGS, **changes)


def fixture(name):
    with open(os.path.join(FIXTURES, name + ".json")) as stream:
        return json.load(stream)


def captured(engine, side):
    return fixture({"mysql": "mysql-9.7-", "mariadb": "mariadb-10.11-"}[engine] + side)


def survivor(engine):
    """The captured replica with what a failover's first look reads of one, and nothing else."""
    info = captured(engine, "replica")
    kinds = [vars(kind).get("__annotations__", {}) for kind in shapes.RoleState.__mro__]
    return {key: value for key, value in info.items() if any(key in kind for kind in kinds)}


def member(host, side, info, **more):
    return Member(host, side, info, **more)


def pair(engine):
    """The captured pair, set up by the collection and semi-synchronous."""
    return [
        member("db1", "source", captured(engine, "source")),
        member("db2", "replica", captured(engine, "replica")),
    ]


def server(engine, host="db1", version=None):
    """A server as its package leaves it: no replication, no semi-sync, no option file of ours."""
    info = captured(engine, "source")
    if version:
        speak(info, engine, version)
    table = names.Names(info["engine"], parsed(info), ())
    info.update(
        plugins={},
        plugins_registered={},
        channel=None,
        accounts=[],
        schemas=[],
        persisted={},
        names=read.names_in_use(table),
    )
    info["variables"].update(DEFAULTS[engine], hostname=host, pid_file=f"/var/lib/mysql/{host}.pid")
    info["variables"]["relay_log"] = DEFAULTS[engine]["relay_log"].replace("HOST", host)
    if info["variables"]["server_uuid"]:
        info["variables"]["server_uuid"] = uuid(host)
    for name in ("log_replica_updates", "log_slave_updates"):
        if (
            engine == "mysql"
            and not table.since((8, 0, 26), names.NEVER)
            and name == "log_replica_updates"
        ):
            info["variables"][name] = None
    info["gtid"] = dict.fromkeys(info["gtid"], "")
    info["option_files"].update(exists=False, ours=None, options={"bind_address": "127.0.0.1"})
    for side in ("source", "replica"):
        unload(info, side)
        if table.builtin:
            load(info, side)
    return info


def uuid(host):
    number = sum(ord(letter) << (8 * place) for place, letter in enumerate(host[:5]))
    return f"91c92dd4-e5a0-11f1-9b95-{number:012x}"


def parsed(info):
    return tuple(int(number) for number in info["version"].split("."))


def speak(info, engine, version):
    """Make a captured server one of another version."""
    info.update(engine=engine, version=version, version_full=version)
    info["variables"]["version"] = version
    table = names.Names(engine, parsed(info), ())
    info["names"] = read.names_in_use(table)
    for side in ("source", "replica"):
        unload(info, side)


def unload(info, side):
    table = info["names"][side]
    info["semisync"][side] = {
        "variables": dict.fromkeys(table["variables"]),
        "status": dict.fromkeys(table["statuses"]),
    }


def load(info, side):
    """What INSTALL PLUGIN does: variables and statuses appear, with the option files' values."""
    table = info["names"][side]
    current = {key: SEMISYNC_DEFAULTS[key] for key in table["variables"]}
    for key, name in table["variables"].items():
        if name in info["option_files"]["options"]:
            current[key] = shown(key, info["option_files"]["options"][name])
    status = dict.fromkeys(table["statuses"], "0")
    status["status"] = "OFF"
    info["semisync"][side] = {"variables": current, "status": status}


def shown(key, value):
    """A value as SHOW VARIABLES spells it."""
    text = canonical_value(value)
    return ("ON" if text == "1" else "OFF") if key in SWITCHES else str(value)


# A plan, carried out on what the servers said.


def install_plugin(info, side, asked="auto"):
    if asked != "auto" and not info["plugins"]:
        table = names.Names(info["engine"], parsed(info)).called(asked)
        info["names"] = read.names_in_use(table)
    plugin = info["names"][side]
    info["plugins"][plugin["plugin"]] = "ACTIVE"
    info["plugins_registered"][plugin["plugin"]] = plugin["library"]
    load(info, side)


def exchange_plugins(info, generation):
    """What semisync_names does: the other names, and the same values."""
    table = names.Names(info["engine"], parsed(info)).called(generation)
    info["names"] = read.names_in_use(table)
    sides = ("source", "replica")
    info["plugins"] = {info["names"][side]["plugin"]: "ACTIVE" for side in sides}
    info["plugins_registered"] = {
        info["names"][side]["plugin"]: info["names"][side]["library"] for side in sides
    }


def write_option_file(info, content):
    files = info["option_files"]
    old = option_files.parse_ours(files["ours"])
    files.update(exists=True, ours=content)
    files["options"] = {name: value for name, value in files["options"].items() if name not in old}
    files["options"].update(option_files.parse_ours(content))


def restart(info):
    """Variables take their values from the option files; semi-sync starts where its plugin is."""
    engine, given = info["engine"], info["option_files"]["options"]
    for name, default in DEFAULTS[engine].items():
        if info["variables"].get(name) is None and name.startswith("log_"):
            continue
        value = given.get(name, default.replace("HOST", info["variables"]["hostname"]))
        info["variables"][name] = (
            "ON" if name == "log_bin" and name in given else shown(name, value)
        )
    for side in ("source", "replica"):
        if info["names"]["builtin"] or info["names"][side]["plugin"] in info["plugins_registered"]:
            load(info, side)


def set_global(info, values):
    for name, value in values.items():
        for side in ("source", "replica"):
            for key, server_name in info["names"][side]["variables"].items():
                if server_name == name:
                    info["semisync"][side]["variables"][key] = shown(key, value)
        if name in info["variables"]:
            info["variables"][name] = str(value)


def connect(replica, source):
    """A channel that runs, as CHANGE REPLICATION SOURCE TO and START REPLICA leave it; the account
    arrives by it.
    """
    replica.info["accounts"] = copy.deepcopy(source.info["accounts"])
    replica.info["channel"] = {
        "name": "",
        "source_host": source.address,
        "source_port": 3306,
        "source_user": "repl",
        "source_uuid": source.info["variables"]["server_uuid"],
        "source_server_id": int(source.info["variables"]["server_id"]),
        "io_running": "Yes",
        "sql_running": "Yes",
        "gtid": True,
        "retrieved": "",
        "seconds_behind": 0,
        "last_io_error": "",
        "last_sql_error": "",
        "connect_retry": 1,
        "tls": False,
        "tls_ca": "",
        "tls_verify": False,
    }


def never_met(replica, source):
    """A channel that is configured, but could not log in."""
    connect(replica, source)
    replica.info["channel"].update(
        source_uuid=None,
        source_server_id=0,
        io_running="Connecting",
        last_io_error="Access denied for user 'repl'@'db2'",
    )


def settle(members):
    """Statuses follow the variables, once channels and IO threads have had their time."""
    source = source_of(members)
    ready = 0
    for one in members:
        semisync = one.info["semisync"][one.side]
        if semisync["variables"]["enabled"] is None:
            continue
        alive = one.side == "source" or channels.running(one.channel)
        semisync["status"]["status"] = (
            "ON" if semisync["variables"]["enabled"] == "ON" and alive else "OFF"
        )
        ready += one.side == "replica" and semisync["status"]["status"] == "ON"
    if source.info["semisync"]["source"]["variables"]["enabled"] is not None:
        source.info["semisync"]["source"]["status"]["clients"] = str(ready)


def steps(members, wanted_settings, hold_back=True):
    """What the roles do for a cluster, in order: functions without arguments."""
    plans = {one.host: set_up_plan(one, members, wanted_settings, hold_back) for one in members}
    todo = []
    source = source_of(members)
    todo += [
        lambda side=side: install_plugin(source.info, side, wanted_settings["plugin_names"])
        for side in plans[source.host]["install"]
    ]
    for one in sorted(members, key=lambda each: plans[each.host]["turn"]):
        todo += server_steps(one, plans[one.host], wanted_settings["plugin_names"])
    if plans[source.host]["account"]:
        todo.append(
            lambda: source.info["accounts"].append(
                {
                    "user": wanted_settings["replication_user"],
                    "host": wanted_settings["replication_user_host"],
                    "privileges": ["REPLICATION SLAVE ON *.*"],
                    "needs_ssl": plans[source.host]["account_needs_ssl"],
                }
            )
        )
    for one in replicas_of(members):
        if plans[one.host]["channel"] == "configure":
            todo.append(lambda one=one: never_met(one, source))
            todo.append(lambda one=one: connect(one, source))
        elif plans[one.host]["channel"] == "start":
            todo.append(lambda one=one: one.channel.update(io_running="Yes", sql_running="Yes"))
    return todo


def server_steps(one, planned, asked="auto"):
    todo = []
    if planned["renames"]:
        todo.append(lambda: exchange_plugins(one.info, planned["renames"]))
    if one.side == "replica":
        todo += [
            lambda side=side: install_plugin(one.info, side, asked) for side in planned["install"]
        ]
    if planned["option_file"]["changed"]:
        todo.append(lambda: write_option_file(one.info, planned["option_file"]["content"]))
    if planned["restart"]:
        todo.append(lambda: restart(one.info))
        if planned["opens"]:
            todo.append(lambda: set_global(one.info, {"read_only": "OFF"}))
    elif planned["set_global"]:
        todo.append(lambda: set_global(one.info, planned["set_global"]))
    return todo


def carry_out(members, wanted_settings, stage="full", apply="restart", stop_after=None):
    """Do what the plans say, or only the first steps of it; the plans' number of steps."""
    done = 0
    wanted_settings = Settings(wanted_settings, stage=stage, apply=apply)
    for hold_back in (True, False):
        held = any(set_up_plan(one, members, wanted_settings)["held"] for one in members)
        todo = steps(members, wanted_settings, hold_back)
        for step in todo if stop_after is None else todo[: max(0, stop_after - done)]:
            step()
        settle(members)
        done += len(todo)
        if not held or (stop_after is not None and stop_after <= done):
            break
    return done


def bare(engine, replicas=1, version=None):
    """A cluster of servers as their packages leave them."""
    hosts = [("db1", "source")] + [(f"db{number + 2}", "replica") for number in range(replicas)]
    return [member(host, side, server(engine, host, version)) for host, side in hosts]


def earlier(engine):
    """The captured pair as set up by a version that prepared no host for the other side."""
    members = pair(engine)
    for one in members:
        files, other = one.info["option_files"], OTHER_SIDE[one.side]
        gone = set(one.info["names"][other]["variables"].values())
        if one.side == "replica":
            gone |= {"bind_address", "sync_binlog", "innodb_flush_log_at_trx_commit"}
            one.info["variables"].update(
                bind_address="127.0.0.1", sync_binlog=DEFAULTS[engine]["sync_binlog"]
            )
        files["ours"] = "".join(
            line
            for line in files["ours"].splitlines(keepends=True)
            if option_files.canonical_name(line.partition(" = ")[0]) not in gone
        )
        files["options"] = {
            name: text for name, text in files["options"].items() if name not in gone
        }
        if one.side == "replica":
            files["options"]["bind_address"] = "127.0.0.1"
        if engine == "mysql":
            plugin = one.info["names"][other]["plugin"]
            del one.info["plugins"][plugin], one.info["plugins_registered"][plugin]
            unload(one.info, other)
    return members


def replicating(engine, replicas=1, version=None):
    """A cluster that the collection did not set up: it replicates, without semi-sync."""
    members = bare(engine, replicas, version)
    for number, one in enumerate(members):
        one.info["variables"].update(server_id=str(101 + number), log_bin="ON", bind_address="*")
        one.info["option_files"]["options"].update(
            server_id=str(101 + number), log_bin="bin", bind_address="*"
        )
        one.info["schemas"] = ["important", "shop"]
        if engine == "mysql":
            one.info["variables"].update(gtid_mode="ON", enforce_gtid_consistency="ON")
            one.info["option_files"]["options"].update(
                gtid_mode="ON", enforce_gtid_consistency="ON"
            )
            one.info["gtid"]["gtid_executed"] = (
                members[0].info["variables"]["server_uuid"] + ":1-900"
            )
        else:
            one.info["gtid"]["gtid_binlog_state"] = "0-101-900"
    for one in members[1:]:
        connect(one, members[0])
    settle(members)
    return members


def plans(members, wanted_settings=None, hold_back=True, **how):
    wanted_settings = Settings(wanted_settings or SETTINGS, **how)
    return {one.host: set_up_plan(one, members, wanted_settings, hold_back) for one in members}


def changed(found):
    return sorted(host for host, planned in found.items() if planned["changes"])


def clone(members):
    return copy.deepcopy(members)
