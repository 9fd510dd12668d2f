# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements that point a replica at its source, and start and stop its channel."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import state

# Never give up: since MySQL 8.4 a replica stops trying after 10 attempts (MySQL 8.4 manual, SOURCE_RETRY_COUNT).
RETRY_FOREVER = 0
HIDDEN = "********"
# No statement: wait until what the replica has received is applied.
DRAIN = "wait for the applier"
# Our parameter -> (the servers' option, the channel's key in semisync_info).
TLS = (("source_ssl", "SSL", "tls"), ("source_ssl_ca", "SSL_CA", "tls_ca"),
       ("source_ssl_verify", "SSL_VERIFY_SERVER_CERT", "tls_verify"))


def change_statement(names, params):
    """(statement, arguments) of CHANGE REPLICATION SOURCE TO or CHANGE MASTER TO, by GTID."""
    statement, prefix = names.change_source
    options = [("HOST", params["source_host"]), ("PORT", params["source_port"]), ("USER", params["source_user"]),
               ("PASSWORD", params["source_password"]), ("CONNECT_RETRY", params["connect_retry"]),
               ("SSL", int(bool(params["source_ssl"])))]
    options += [(option, as_sql(params.get(name))) for name, option, dummy in TLS[1:] if params.get(name) is not None]
    words = ["%s_%s = %%s" % (prefix, name) for name, dummy in options]
    arguments = [value for dummy, value in options]
    if names.mariadb:
        words.append("MASTER_USE_GTID = slave_pos")
        if names.verifies_source_by_default and not params["source_ssl"] and params.get("source_ssl_verify") is None:
            words.append("MASTER_SSL_VERIFY_SERVER_CERT = 0")
    else:
        words += ["%s_RETRY_COUNT = %d" % (prefix, RETRY_FOREVER), "%s_AUTO_POSITION = 1" % prefix]
        if names.has_public_key_option:
            words.append("GET_%s_PUBLIC_KEY = 1" % prefix)
    return "%s %s" % (statement, ", ".join(words)), tuple(arguments)


def as_sql(value):
    return int(value) if isinstance(value, bool) else value


def login_changes(params, before, known):
    """Options of a channel's login that differ from what is wanted: [(option, value)]; what is None is left alone.

    Args:
        before: the channel.
        known: its password, or None where that cannot be read.
    """
    found = [("PASSWORD", params["source_password"])] if params["source_password"] not in (None, known) else []
    return found + [(option, as_sql(params[name])) for name, option, key in TLS
                    if params[name] is not None and params[name] != before[key]]


def way_back(changes, before, known):
    """What login_changes() replaces, to put it back; without a password that could not be read."""
    old = dict((option, as_sql(before[key])) for dummy, option, key in TLS)
    old.update({} if known is None else {"PASSWORD": known})
    return [(option, old[option]) for option, dummy in changes if option in old]


def login_steps(names, changes, before):
    """The statements that change a channel's login, and stop no more than they must.

    Where both threads must stop the server forgets what it has received: so that is applied first.
    """
    stop, start = "STOP %s" % names.replica_word, "START %s" % names.replica_word
    prefix = names.change_source[1]
    change = ("%s %s" % (names.change_source[0], ", ".join("%s_%s = %%s" % (prefix, name) for name, dummy in changes)),
              tuple(value for dummy, value in changes))
    if names.changes_channel_while_applying:
        # With both threads stopped MySQL would forget its relay logs.
        applier = [] if before["sql_running"] == "Yes" else [(start + " SQL_THREAD", None)]
        return applier + [(stop + " IO_THREAD", None), change, (start, None)]
    drain = [(DRAIN, None), (stop + " IO_THREAD", None), (DRAIN, None)] if before["sql_running"] == "Yes" else []
    return drain + [(stop, None), change, (start, None)]


def gtid_steps(names):
    """The statements that make a channel follow by GTID. What was received is applied before, because the server forgets it."""
    word, (statement, prefix) = names.replica_word, names.change_source
    option = "MASTER_USE_GTID = slave_pos" if names.mariadb else "%s_AUTO_POSITION = 1" % prefix
    return [(DRAIN, None), ("STOP %s IO_THREAD" % word, None), (DRAIN, None), ("STOP %s" % word, None),
            ("%s %s" % (statement, option), None), ("START %s" % word, None)]


def position_steps(names, stopped):
    """The way back from that to where the channel stopped, by file and position."""
    word, (statement, prefix) = names.replica_word, names.change_source
    option = "MASTER_USE_GTID = no" if names.mariadb else "%s_AUTO_POSITION = 0" % prefix
    return [("STOP %s" % word, None),
            ("%s %s, %s_LOG_FILE = %%s, %s_LOG_POS = %%s" % (statement, option, prefix, prefix),
             (stopped["applied_file"], stopped["applied_position"])), ("START %s" % word, None)]


def follows(before, params):
    """True where the channel already points at this source, and has met it."""
    return (bool(before) and before["source_host"] == params["source_host"]
            and int(before["source_port"]) == params["source_port"] and before["source_user"] == params["source_user"]
            and bool(before["source_uuid"] or before["source_server_id"]))


def steps(names, params, before):
    """The statements to run, in order: [(statement, arguments)]."""
    stop, start = "STOP %s" % names.replica_word, "START %s" % names.replica_word
    runs = state.running(before)
    if params["state"] == "stopped":
        still = before["io_running"] != "No" or before["sql_running"] != "No"
        return [(stop, None)] if still else []
    if params["state"] in ("started", "updated") or follows(before, params):
        return [] if runs else [(start, None)]
    return [(stop, None)] * (before is not None) + [change_statement(names, params), (start, None)]


def show(statement, arguments):
    """The statement for people: arguments in place, the password hidden."""
    if not arguments:
        return statement
    words = statement.split("%s")
    shown = [HIDDEN if word.endswith("_PASSWORD = ") else repr(value) for word, value in zip(words, arguments)]
    return statement % tuple(shown)


def describe(channel):
    if channel is None:
        return "no channel\n"
    tls = "TLS = %s\n" % describe_tls(channel) if channel.get("tls") else ""
    return "source = %s@%s:%s\nIO thread = %s\nSQL thread = %s\n" % (
        channel["source_user"], channel["source_host"], channel["source_port"], channel["io_running"],
        channel["sql_running"]) + tls


def describe_tls(channel):
    words = [", CA %s" % channel["tls_ca"] if channel.get("tls_ca") else "",
             ", name verified" if channel.get("tls_verify") else ""]
    return "Yes" + "".join(words)


def predict(before, params):
    """The channel as it should be afterwards, for the diff."""
    runs = "No" if params["state"] == "stopped" else "Yes"
    after = dict(before or {}, io_running=runs, sql_running=runs)
    if params["state"] == "configured":
        after.update(source_user=params["source_user"], source_host=params["source_host"],
                     source_port=params["source_port"])
    if params["state"] in ("configured", "updated"):
        after.update((key, params.get(name)) for name, dummy, key in TLS if params.get(name) is not None)
    return describe(after)
