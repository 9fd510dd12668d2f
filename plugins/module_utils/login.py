# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection of our modules to the server on their host; community.mysql does the work."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import sys

from ansible_collections.community.mysql.plugins.module_utils.mysql import (
    mysql_common_argument_spec,
    mysql_connect,
    mysql_driver,
)

SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
    "/tmp/mysql.sock",
)

# PyMySQL and server error numbers that have a remedy of their own.
ACCESS_DENIED = (1045, 1698, 1044, 1227, 1142)
UNREACHABLE = (2002, 2003, 2006, 2013)


def argument_spec(**more):
    """community.mysql's login options and those of the module itself."""
    spec = mysql_common_argument_spec()
    spec.update(more)
    return spec


def find_socket(host, port, candidates=SOCKETS, exists=os.path.exists):
    """The unix socket that 'localhost' means, as for the mysql client; None where a host or port was asked for."""
    if host not in ("localhost", None) or port != 3306:
        return None
    for path in candidates:
        if exists(path):
            return path
    return None


def explain(error, params):
    """One sentence that says what failed to connect and which variables to look at.

    Args:
        error: the driver's exception; its first argument is the error number.
        params: the module's parameters.
    """
    where = params.get("login_unix_socket") or "%s:%s" % (params.get("login_host"), params.get("login_port"))
    number = error.args[0] if getattr(error, "args", None) else None
    who = params.get("login_user") or "the user of the option file, or the system user"
    if number in ACCESS_DENIED:
        return ("wrong login: the server at %s refuses %s: %s. Set semisync_login_user, semisync_login_password or "
                "semisync_login_config_file (module options login_user, login_password, config_file)."
                % (where, who, error))
    if number in UNREACHABLE:
        return ("the server is not running, or does not listen at %s: %s. Start it, or set semisync_login_unix_socket "
                "or semisync_login_host and semisync_login_port." % (where, error))
    return "cannot connect to the server at %s as %s: %s" % (where, who, error)


def require_driver(module):
    """Fail with the package to install where the host's Python has no PyMySQL."""
    if mysql_driver is None:
        module.fail_json(
            msg="PyMySQL is missing for the Python that Ansible uses on this host (%s): install python3-pymysql "
                "(Debian), python3-PyMySQL (RedHat, SUSE), or set ansible_python_interpreter to a Python that has it."
                % sys.executable)


def connect(module, autocommit=True):
    """A dictionary cursor on the module's server, or the driver's exception."""
    params = module.params
    config_file = params["config_file"]
    if not params["login_unix_socket"] and not _names_a_server(config_file):
        params["login_unix_socket"] = find_socket(params["login_host"], params["login_port"])
    cursor, connection = mysql_connect(
        module, params["login_user"], params["login_password"], config_file, params["client_cert"],
        params["client_key"], params["ca_cert"], None, cursor_class="DictCursor",
        connect_timeout=params["connect_timeout"], autocommit=autocommit, check_hostname=params["check_hostname"])
    return cursor


def connect_or_fail(module, autocommit=True):
    """Like connect(), with a clear message in place of an exception."""
    require_driver(module)
    try:
        return connect(module, autocommit)
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg=explain(error, module.params), reason="login")


def tool_params(params):
    """The module's parameters for a command line tool: the login file only where there is one, by its whole path."""
    path = os.path.expanduser(params["config_file"] or "")
    return dict(params, config_file=path if os.path.isfile(path) else None)


def _names_a_server(config_file):
    """True where the login file itself says which socket or host to use."""
    if not config_file or not os.path.isfile(config_file):
        return False
    with open(config_file) as handle:
        words = [line.split("=")[0].strip() for line in handle if "=" in line]
    return "socket" in words or "host" in words
