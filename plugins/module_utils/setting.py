# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings for the length of a measurement: the statements that bring them about, and those that take them back."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils.canary import quote

# Where a host keeps what must be put back: in memory, because a reboot undoes the settings too.
FOLDER = "/run/dbre-semisync"
UNIT = "semisync-setting-"
# How often the rollback asks a server that does not answer, and seconds in between.
ATTEMPTS, PAUSE = 60, 5
# What may be set on both sides, and on the source alone, under our keys.
EVERYWHERE = ("sync_binlog", "innodb_flush_log_at_trx_commit")
SOURCE_ONLY = ("timeout", "wait_point", "wait_for_replica_count")
WORDS = ("AFTER_SYNC", "AFTER_COMMIT", "ON", "OFF")


def variable_names(names):
    """Our key -> the server's name of every variable that a measurement may set on a source."""
    found = dict((key, key) for key in EVERYWHERE)
    found.update((key, name) for key, name in names.variables("source").items()
                 if key in SOURCE_ONLY or key == "enabled")
    return found


def wanted_variables(names, role, replication, variables):
    """The server's variables and the values that a setting gives them.

    Args:
        names: names.Names.
        role: source or replica.
        replication: none, async, semisync, or None to leave it alone.
        variables: our keys and values.

    Raises:
        ValueError: a key that this server or role does not have, or a value that is none.
    """
    known, wanted = variable_names(names), {}
    for key, value in variables.items():
        if key not in known or key == "enabled":
            raise ValueError("%s cannot be set on this server; what can: %s"
                             % (key, ", ".join(sorted(set(known) - set(["enabled"])))))
        if role == "source" or key in EVERYWHERE:
            wanted[known[key]] = canonical(key, value)
    if role == "source" and replication:
        wanted[known["enabled"]] = "ON" if replication == "semisync" else "OFF"
    return wanted


def canonical(key, value):
    """A value as the server shows it."""
    text = str(value).upper()
    if text in WORDS or text.isdigit():
        return text
    raise ValueError("%s is %r; a number or one of %s is possible" % (key, value, ", ".join(WORDS)))


def set_statement(name, value):
    return "SET GLOBAL %s = %s" % (name, value if value.isdigit() else "'%s'" % value)


def io_statement(names, run):
    """Starts or stops the default channel's IO thread."""
    return "%s %s IO_THREAD" % ("START" if run else "STOP", names.replica_word)


def changes(now, wanted):
    """The statements that lead from some values to others; semi-sync is switched on last and off first.

    Args:
        now: the server's variables, by name.
        wanted: those that should have a value.
    """
    differing = [name for name in sorted(wanted) if str(now.get(name)).upper() != wanted[name]]
    last = [name for name in differing if name.endswith("_enabled") and wanted[name] == "ON"]
    first = [name for name in differing if name.endswith("_enabled") and wanted[name] == "OFF"]
    rest = [name for name in differing if not name.endswith("_enabled")]
    return [set_statement(name, wanted[name]) for name in first + rest + last]


def remembered(kept, now, wanted, io_running, wants_io, schema, account):
    """What must be put back: the first values of everything that was ever changed, and what was created.

    Args:
        kept: the same from an earlier setting that is still in force, or an empty dict.
        now: the server's variables.
        wanted: those about to be set.
        io_running: whether the replica's IO thread runs.
        wants_io: whether it should, None to leave it alone.
        schema: name of a schema that will be created, or None.
        account: (user, host) that will be created, or None.
    """
    variables = dict((name, str(now.get(name)).upper()) for name in wanted)
    variables.update(kept.get("variables", {}))
    found = {"variables": variables, "io": kept.get("io"), "schemas": list(kept.get("schemas", [])),
             "accounts": [list(each) for each in kept.get("accounts", [])]}
    if wants_io is not None and found["io"] is None and wants_io != io_running:
        found["io"] = io_running
    if schema and schema not in found["schemas"]:
        found["schemas"].append(schema)
    if account and list(account) not in found["accounts"]:
        found["accounts"].append(list(account))
    return found


def restore_statements(names, kept, now=None):
    """The statements that put back what remembered() says.

    Args:
        now: the server's variables; without them every variable is set.
    """
    statements = []
    if kept.get("io") is not None:
        statements.append(io_statement(names, kept["io"]))
    back, now = kept.get("variables", {}), now or {}
    statements += changes(now, dict((name, back[name]) for name in back if not name.endswith("_enabled")))
    statements += ["DROP DATABASE IF EXISTS %s" % quote(schema) for schema in kept.get("schemas", [])]
    statements += ["DROP USER IF EXISTS %s" % account_name(*account) for account in kept.get("accounts", [])]
    # Last, so that no DROP waits for an acknowledgement where no replica is back yet.
    return statements + changes(now, dict((name, back[name]) for name in back if name.endswith("_enabled")))


def account_name(user, host):
    return "%s@%s" % tuple("'%s'" % part.replace("\\", "\\\\").replace("'", "\\'") for part in (user, host))


def account_statements(user, host, schema):
    """Statements for an account that may do everything in one schema and sees all sessions.

    Returns:
        the first takes the password as its argument, the others none.
    """
    name = account_name(user, host)
    return ["CREATE USER %s IDENTIFIED BY %%s" % name.replace("%", "%%"),
            "GRANT ALL ON %s.* TO %s" % (quote(schema).replace("_", "\\_"), name), "GRANT PROCESS ON *.* TO %s" % name]


def restore_script(client):
    """Shell lines that put everything back by themselves, and try again until the server does it.

    There is no $ and no % in them: systemd would expand those; and no ; which systemd 252 cannot read again after a
    daemon-reload. The statements may be repeated.

    Args:
        client: path of mysql or mariadb.
    """
    return ("for attempt in %s\ndo if %s --defaults-extra-file=%s/login.cnf < %s/restore.sql\nthen rm -rf %s\nexit 0\nfi\n"
            "sleep %d\ndone\nexit 1" % (" ".join(str(number) for number in range(ATTEMPTS)), client, FOLDER, FOLDER, FOLDER,
                                        PAUSE))


def arm_command(unit, seconds, script):
    """systemd's words for the timer; its own accuracy would be a minute."""
    return ["systemd-run", "--unit=" + unit, "--description=Rollback of the settings that dbre.semisync.semisync_setting made",
            "--on-active=%ds" % seconds, "--timer-property=AccuracySec=100ms", "--collect", "/bin/sh", "-c", script]
