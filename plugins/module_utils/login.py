# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection of our modules to the server on their host; community.mysql does the work."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import re
import sys

try:
    from ansible_collections.community.mysql.plugins.module_utils.mysql import (
        mysql_common_argument_spec,
        mysql_connect,
        mysql_driver,
    )
except ImportError:
    # Where community.mysql 5 and later has moved it; its redirects are for modules on hosts, and end with version 6.
    from ansible_collections.ansible.mysql.plugins.module_utils.mysql import (
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
# ER_SECURE_TRANSPORT_REQUIRED (MySQL manual, "Server Error Message Reference").
TLS_REQUIRED = 3159
# MySQL manual, "Option File Syntax".
ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", "'": "'", '"': '"'}


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


def kind(error):
    """Which kind of failure to connect this is: nobody listens, or anything else."""
    return "stopped" if getattr(error, "args", None) and error.args[0] in UNREACHABLE else "login"


def require_driver(module):
    """Fail with the package to install where the host's Python has no PyMySQL."""
    if mysql_driver is None:
        module.fail_json(
            msg="PyMySQL is missing for the Python that Ansible uses on this host (%s): install python3-pymysql "
                "(Debian), python3-PyMySQL (RedHat, SUSE), or set ansible_python_interpreter to a Python that has it."
                % sys.executable, reason="driver", python_of_system=sys.prefix == "/usr")


def connect(module, autocommit=True):
    """A dictionary cursor on the module's server, or the driver's exception.

    The login file is read here and not by the driver, which would take its socket although a host was asked for, and
    knows no escapes in it.
    """
    params = module.params
    section = read_login_file(params["config_file"])
    params["login_host"], params["login_port"], params["login_unix_socket"] = place(params, section)
    try:
        cursor, dummy = open_connection(module, section, autocommit, params["check_hostname"])
    except Exception as error:  # the drivers share no exception class
        if params["login_unix_socket"] or params["check_hostname"] is not None or not needs_tls(error):
            raise
        # As the servers' own clients do: TLS where the server wants it, whoever has signed its certificate.
        cursor, dummy = open_connection(module, section, autocommit, False)
    return cursor


def open_connection(module, section, autocommit, check_hostname):
    params = module.params
    user, password = params["login_user"] or section.get("user"), params["login_password"] or section.get("password")
    # The driver would send Latin-1, a server compares with UTF-8.
    return mysql_connect(
        module, user, password.encode("utf-8") if password else None, None, params["client_cert"] or section.get("ssl_cert"),
        params["client_key"] or section.get("ssl_key"), params["ca_cert"] or section.get("ssl_ca"), None,
        cursor_class="DictCursor", connect_timeout=params["connect_timeout"], autocommit=autocommit,
        check_hostname=check_hostname)


def needs_tls(error):
    """Whether a login over TCP failed for want of TLS: the server requires it, or the driver cannot do
    caching_sha2_password without it (it lacks the package cryptography)."""
    number = error.args[0] if getattr(error, "args", None) else None
    return number == TLS_REQUIRED or "cryptography" in str(error)


def connect_or_fail(module, autocommit=True):
    """Like connect(), with a clear message in place of an exception."""
    require_driver(module)
    try:
        return connect(module, autocommit)
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg=explain(error, module.params), reason=kind(error))


def tool_params(params):
    """The module's parameters for a command line tool: the login file only where there is one, by its whole path."""
    path = os.path.expanduser(params["config_file"] or "")
    return dict(params, config_file=path if os.path.isfile(path) else None)


def read_login_file(path):
    """What the [client] section of a login file says; nothing where there is no such file."""
    path = os.path.expanduser(path or "")
    if not os.path.isfile(path):
        return {}
    with open(path, "rb") as handle:
        return client_section(handle.read().decode("utf-8", "replace"))


def client_section(text):
    """Options of [client], as the servers' own clients read them (MySQL manual, "Using Option Files")."""
    found, inside = {}, False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line.split("]")[0].strip("[ ") == "client"
        elif inside and "=" in line and line[0] not in "#;":
            name, dummy, value = line.partition("=")
            found[name.strip().lower().replace("-", "_")] = option_value(value.strip())
    return found


def option_value(text):
    """A value without its quotes, comment and escapes."""
    if text[:1] in ("'", '"'):
        match = re.match(r"""(['"])((?:\\.|(?!\1).)*)\1""", text)
        text = match.group(2) if match else text
    else:
        text = text.split("#")[0].rstrip()
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(0)), text)


def place(params, section, exists=os.path.exists):
    """(host, port, unix socket) to connect to: what the module was given, else the login file, else where servers are."""
    host, port, path = params["login_host"], params["login_port"], params["login_unix_socket"]
    if not path and host in ("localhost", None) and port == 3306:
        host, port, path = section.get("host") or host, int(section.get("port") or port), section.get("socket")
        if host not in ("localhost", None):
            path = None
    return host, port, path or find_socket(host, port, exists=exists)
