# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source's part of a seeding: how much there is, the account for a clone, the stream of a backup or dump."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import contextlib
import os
import shutil
import subprocess
import tempfile

from ansible_collections.dbre.semisync.plugins.module_utils import seed, seed_link, state

# Accounts that every server has of its own.
OWN_ACCOUNTS = ("root", "mysql", "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "debian-sys-maint",
                "PUBLIC", "", seed.DONOR)
SYSTEM = ", ".join("'%s'" % name for name in state.SYSTEM_SCHEMAS)


def measure(server):
    """What is to be copied: {'bytes', 'tables', 'schemas', 'unfit'}; bytes as the server estimates them."""
    row = server.rows("SELECT COUNT(*) AS tables, COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS bytes"
                      " FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'")[0]
    unfit = server.rows("SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.TABLES"
                        " WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB' AND TABLE_SCHEMA NOT IN (%s)"
                        " ORDER BY 1" % SYSTEM)
    return {"bytes": int(row["bytes"]), "tables": int(row["tables"]), "schemas": server.schemas(),
            "unfit": [state.text(one["name"]) for one in unfit]}


def dynamic_plugins(server):
    """Active plugins from a library: name -> library. A clone wants them active on the replica too."""
    return dict((row["name"], row["dl"]) for row in server.rows(
        "SELECT PLUGIN_NAME AS name, PLUGIN_LIBRARY AS dl FROM information_schema.PLUGINS"
        " WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL"))


def donor_statements(plugins, password, require_ssl):
    """What makes a MySQL server a donor: [(statement, arguments)]."""
    found = [] if "clone" in plugins else [("INSTALL PLUGIN clone SONAME 'mysql_clone.so'", None)]
    account = "'%s'@'%%%%'" % seed.DONOR
    found += [("CREATE USER IF NOT EXISTS %s IDENTIFIED BY %%s" % account, (password,)),
              ("ALTER USER %s IDENTIFIED BY %%s REQUIRE %s" % (account, "SSL" if require_ssl else "NONE"), (password,)),
              ("GRANT BACKUP_ADMIN ON *.* TO %s" % account.replace("%%", "%"), None)]
    return found


def end_statements(uninstall):
    """What leaves no trace of it."""
    found = [("DROP USER IF EXISTS '%s'@'%%'" % seed.DONOR, None)]
    return found + ([("UNINSTALL PLUGIN clone", None)] if uninstall else [])


@contextlib.contextmanager
def login_file(params):
    """Path of an option file with the module's login, for the server's own tools; root's alone, and gone afterwards."""
    lines = []
    if params["config_file"] and os.path.isfile(params["config_file"]):
        lines.append("!include %s" % params["config_file"])
    lines.append("[client]")
    for option, name in (("user", "login_user"), ("password", "login_password"), ("socket", "login_unix_socket")):
        if params[name]:
            lines.append("%s=%s" % (option, quoted(params[name])))
    if not params["login_unix_socket"] and params["login_host"]:
        lines += ["host=%s" % quoted(params["login_host"]), "port=%d" % params["login_port"]]
    handle, path = tempfile.mkstemp(suffix=".cnf", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        os.write(handle, ("\n".join(lines) + "\n").encode("utf-8"))
        os.close(handle)
        yield path
    finally:
        os.unlink(path)


def quoted(value):
    """A value as the servers' option files take it, with any character."""
    for character in "\\\"'":
        value = value.replace(character, "\\" + character)
    return '"%s"' % value


def accounts(server):
    """SQL of all accounts and their privileges, but those that every server has of its own."""
    mariadb = "mariadb" in server.rows("SELECT @@version AS version")[0]["version"].lower()
    role = "is_role" if mariadb else "'N'"
    if not mariadb:
        server.rows("SET SESSION print_identified_with_as_hex = 1")
    creates, grants = [], []
    for row in server.rows("SELECT User AS user, Host AS host, %s AS role FROM mysql.user ORDER BY 3 DESC, 1, 2" % role):
        user, host = state.text(row["user"]), state.text(row["host"])
        if user in OWN_ACCOUNTS:
            continue
        if state.text(row["role"]) == "Y":
            creates.append("CREATE ROLE `%s`" % user.replace("`", "``"))
            shown = server.rows("SHOW GRANTS FOR `%s`" % user.replace("`", "``"))
        else:
            creates += [state.text(text) for one in server.rows("SHOW CREATE USER %s@%s", (user, host))
                        for key, text in one.items() if key.upper().startswith("CREATE USER")]
            shown = server.rows("SHOW GRANTS FOR %s@%s", (user, host))
        grants += [state.text(text) for one in shown for text in one.values()]
    return seed.account_statements(creates, grants)


def command(method, info, path, folder):
    """The program whose output is the copy.

    Args:
        method: backup or dump.
        info: {'mariadb', 'program', 'datadir', 'schemas'}.
        path: option file with the login.
        folder: an empty folder for the program's own notes.
    """
    if method == "backup":
        return [info["program"], "--defaults-extra-file=" + path, "--backup", "--stream=xbstream",
                "--datadir=" + info["datadir"], "--target-dir=" + folder]
    words = [info["program"], "--defaults-file=" + path, "--single-transaction", "--quick", "--routines", "--events",
             "--triggers", "--hex-blob", "--max-allowed-packet=1G"]
    words += ["--master-data=2", "--gtid"] if info["mariadb"] else ["--set-gtid-purged=ON"]
    return words + ["--databases"] + info["schemas"]


def serve(params, head, words, folder):
    """Wait for the replica, send the copy, and return how many bytes that were; Broken where it fails."""
    context = seed_link.server_context(params["certificate"], params["key"])
    listener = seed_link.listen(params["port"], params["wait"])
    try:
        caller = seed_link.accept(listener, context, params["token"], params["wait"])
    finally:
        listener.close()
    sent = 0
    with tempfile.TemporaryFile(dir=folder) as errors:
        # run_command returns its output whole, and this is gigabytes.
        tool = subprocess.Popen(  # pylint: disable=ansible-bad-function
            words, stdout=subprocess.PIPE, stderr=errors, cwd="/")
        try:
            for data in [head] * bool(head):
                seed_link.send(caller, data)
            while True:
                data = tool.stdout.read(seed_link.BLOCK)
                if not data:
                    break
                seed_link.send(caller, data)
                sent += len(data)
            status = tool.wait()
            errors.seek(0)
            last = " | ".join(errors.read().decode("utf-8", "replace").strip().splitlines()[-4:])
            error = "%s ended with status %d: %s" % (os.path.basename(words[0]), status, last) if status else ""
            seed_link.finish(caller, error)
        except OSError as error:
            raise seed_link.Broken("the replica went away after %s: %s" % (seed.amount(sent), error))
        finally:
            if tool.poll() is None:
                tool.kill()
                tool.wait()
            caller.close()
    if error:
        raise seed_link.Broken(error)
    return sent


@contextlib.contextmanager
def scratch():
    folder = tempfile.mkdtemp(prefix="dbre-semisync-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
