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


def change_statement(names, params):
    """(statement, arguments) of CHANGE REPLICATION SOURCE TO or CHANGE MASTER TO, by GTID."""
    statement, prefix = names.change_source
    options = [("HOST", params["source_host"]), ("PORT", params["source_port"]), ("USER", params["source_user"]),
               ("PASSWORD", params["source_password"]), ("CONNECT_RETRY", params["connect_retry"]),
               ("SSL", int(params["source_ssl"]))]
    words = ["%s_%s = %%s" % (prefix, name) for name, dummy in options]
    arguments = [value for dummy, value in options]
    if names.mariadb:
        words.append("MASTER_USE_GTID = slave_pos")
        if names.verifies_source_by_default and not params["source_ssl"]:
            words.append("MASTER_SSL_VERIFY_SERVER_CERT = 0")
    else:
        words += ["%s_RETRY_COUNT = %d" % (prefix, RETRY_FOREVER), "%s_AUTO_POSITION = 1" % prefix]
        if names.has_public_key_option:
            words.append("GET_%s_PUBLIC_KEY = 1" % prefix)
    return "%s %s" % (statement, ", ".join(words)), tuple(arguments)


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
    if params["state"] == "started" or follows(before, params):
        return [] if runs else [(start, None)]
    return [(stop, None)] * (before is not None) + [change_statement(names, params), (start, None)]


def show(statement, arguments):
    """The statement for people: arguments in place, the password hidden."""
    if not arguments:
        return statement
    shown = [HIDDEN if index == 3 else repr(value) for index, value in enumerate(arguments)]
    return statement % tuple(shown)


def describe(channel):
    if channel is None:
        return "no channel\n"
    return "source = %s@%s:%s\nIO thread = %s\nSQL thread = %s\n" % (
        channel["source_user"], channel["source_host"], channel["source_port"], channel["io_running"],
        channel["sql_running"])


def predict(before, params):
    """The channel as it should be afterwards, for the diff."""
    runs = "No" if params["state"] == "stopped" else "Yes"
    after = dict(before or {}, io_running=runs, sql_running=runs)
    if params["state"] == "configured":
        after.update(source_user=params["source_user"], source_host=params["source_host"],
                     source_port=params["source_port"])
    return describe(after)
