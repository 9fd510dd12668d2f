# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public variables, judged before any host is touched: each message names the variable, what was found, what is wanted.

Types and choices are those of the roles' argument specs; what a type cannot say (ranges, forms) is here.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import re

import yaml
from ansible.module_utils.common.validation import (
    check_type_bool, check_type_dict, check_type_float, check_type_int, check_type_list)

ROLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "roles")
SHOWN = 60
HIDDEN = "(hidden)"

CHECKS = {"int": (check_type_int, "a whole number"), "float": (check_type_float, "a number"),
          "bool": (check_type_bool, "true or false"), "list": (check_type_list, "a list"),
          "dict": (check_type_dict, "a mapping")}

# Variable -> (lowest, highest, what it counts). Any other number is 0 to what 32 bits hold.
DAY = 86400
RANGES = {
    "semisync_login_port": (1, 65535, "a port"),
    "semisync_server_id": (0, 4294967295, "0 for automatic"),
    "semisync_replication_connect_retry": (1, DAY, "seconds"),
    "semisync_timeout": (1, 4294967295, "milliseconds"),
    "semisync_wait_for_replica_count": (1, 65535, "replicas"),
    "semisync_innodb_flush_log_at_trx_commit": (0, 2, "0, 1 or 2"),
    "semisync_restart_timeout": (1, DAY, "seconds"),
    "semisync_channel_timeout": (1, DAY, "seconds"),
    "semisync_gtid_watch": (0, 7 * DAY, "seconds"),
    "semisync_catch_up_timeout": (1, 7 * DAY, "seconds"),
    "semisync_remove_timeout": (1, DAY, "seconds"),
    "semisync_canary_max_wait": (0.1, DAY, "seconds"),
    "semisync_drill_max_block": (0.1, DAY, "seconds"),
    "semisync_drill_rescue_after": (30, DAY, "seconds"),
    "semisync_drill_recovery_timeout": (1, DAY, "seconds"),
    "semisync_drill_interval": (0.01, 60, "seconds"),
    "semisync_drill_rows": (2, 1000, "rows"),
    "semisync_baseline_clients": (1, 1000, "clients"),
    "semisync_baseline_queries": (1, 10000000, "queries"),
    "semisync_baseline_iterations": (1, 1000, "runs"),
    "semisync_benchmark_repetitions": (0, 1000, "rounds, 0 for the suite's"),
}
ANY_NUMBER = (0, 4294967295, "a number")

ADDRESS = r"[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:.]+(%[\w.-]+)?"
PATH = r"[^\x00-\x1f\x7f]*"
# Variable -> (pattern of the whole value, what that is in words). Any other text is a line without control characters.
FORMS = {
    "semisync_cluster": (r"[^\x00-\x1f\x7f]+", "a name without control characters"),
    "semisync_login_host": (ADDRESS, "a host name or an address"),
    "semisync_login_unix_socket": (r"(/[^\x00-\x1f\x7f]*)?", "a full path, or empty"),
    "semisync_login_config_file": (r"([/~][^\x00-\x1f\x7f]*)?", "a full path, or one below ~"),
    "semisync_canary_schema": (r"(?! )[^\x00-\x1f\x7f]{1,64}(?<! )", "1 to 64 characters, no blank at its ends"),
    "semisync_canary_table": (r"(?! )[^\x00-\x1f\x7f]{1,64}(?<! )", "1 to 64 characters, no blank at its ends"),
    "semisync_results_dir": (r"[^\x00-\x1f\x7f]+", "a folder"),
    "semisync_suite": (r"[^\x00-\x1f\x7f]+", "the name of a suite, or the path of a file"),
    "semisync_run": (r"(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)?", "the name of a run's folder, such as "
                     "2026-01-31T235959.123456Z, or empty"),
    "semisync_option_file": (r"(/[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f])?", "the full path of a file, or empty"),
    "semisync_address": (r"(%s)?" % ADDRESS, "a host name or an address, or empty"),
    "semisync_replication_user": (r"[^\x00-\x1f\x7f]{1,32}", "1 to 32 characters"),
    "semisync_replication_user_host": (r"[A-Za-z0-9_.:%/-]{1,255}", "a host name, an address or a pattern with %"),
    "semisync_replication_ssl_ca": (r"(generated|/[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f])?", "the full path of a file, "
                                    "generated, or empty"),
    "semisync_bind_address": (r"(\*|[A-Za-z0-9_.:%%/-]+(,[A-Za-z0-9_.:%%/-]+)*)?",
                              "one address, a comma-separated list, * or empty"),
    "semisync_service": (r"([A-Za-z0-9:_.@\\-]{1,255})?", "the name of a systemd unit, or empty"),
}
ANY_TEXT = (PATH, "one line without control characters")
# MySQL and MariaDB manuals: schemas of the server's own, which no canary may be written to.
SERVERS_OWN = ("mysql", "sys", "information_schema", "performance_schema")


def public_variables(folder=ROLES):
    """Every public variable of every role: name -> its argument spec."""
    found = {}
    for role in sorted(os.listdir(folder)):
        path = os.path.join(folder, role, "meta", "argument_specs.yml")
        if os.path.exists(path):
            with open(path) as stream:
                specs = yaml.safe_load(stream) or {}
            for entry in specs.get("argument_specs", {}).values():
                found.update(entry.get("options") or {})
    return found


def show(value, spec):
    """A value as a message may show it: one line, short, and nothing that is secret."""
    if spec.get("no_log"):
        return HIDDEN
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def problem(name, value, spec):
    """What is wrong with a variable's value, in words; empty where nothing is."""
    kind = spec.get("type", "str")
    wanted = None
    if value is None:
        return "%s has no value; leave it out for its default" % name
    if kind in CHECKS:
        check, words = CHECKS[kind]
        wanted = words if isinstance(value, bool) and kind != "bool" else None
        try:
            value = check(value)
        except (TypeError, ValueError, OverflowError):
            wanted = words
    elif isinstance(value, (list, dict, bool)):
        wanted = " or ".join(spec.get("choices") or ["text"])
    if not wanted and kind in ("int", "float"):
        wanted = of_number(name, value)
    elif not wanted and kind in ("str", "path", "raw"):
        wanted = of_text(name, str(value), spec)
    return "%s is %s; it must be %s" % (name, show(value, spec), wanted) if wanted else ""


def of_number(name, value):
    low, high, unit = RANGES.get(name, ANY_NUMBER)
    # Written so that a value that is no number at all, which compares with nothing, is refused.
    return None if low <= value <= high else "%s to %s (%s)" % (low, high, unit)


def of_text(name, value, spec):
    if spec.get("choices"):
        return None if value in spec["choices"] else " or ".join(spec["choices"])
    pattern, words = FORMS.get(name, ANY_TEXT)
    if not re.match(r"(?:%s)\Z" % pattern, value):
        return words
    if name == "semisync_canary_schema" and value.lower() in SERVERS_OWN:
        return "a schema that is not the server's own"
    return None


def of_host(values, specs):
    """What is wrong with one host's variables: a list of sentences.

    Args:
        values: mapping of name -> value; one that cannot be templated may raise anything.
        specs: result of public_variables().
    """
    found = []
    for name in sorted(set(specs) & set(values)):
        try:
            value = values[name]
        except Exception as error:  # Ansible's templating has many
            found.append("%s cannot be read: %s; write braces that are meant literally as !unsafe"
                         % (name, " ".join(str(error).split())))
            continue
        words = problem(name, value, specs[name])
        if words:
            found.append(words)
    return found
