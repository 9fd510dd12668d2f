# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of public variables: what each may hold, and the name that decisions have for it.

Types and choices are those of the roles' argument specs; what a type cannot say (ranges, forms)
stands here alone. Every message names the variable, what was found and what is wanted.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml
from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_float,
    check_type_int,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.task_files import unusable_tasks

ROLES = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "roles"
)
PREFIX = "semisync_"
SHOWN_CHARACTERS = 60
HIDDEN = "(hidden)"

CHECKS = {
    "int": (check_type_int, "a whole number"),
    "float": (check_type_float, "a number"),
    "bool": (check_type_bool, "true or false"),
}


class SettingError(Exception):
    """A public variable's value cannot work; the message may be shown."""


class Setting(NamedTuple):
    """One public variable.

    Attributes:
        name: of the variable.
        type: int, float, bool, str, or list of texts, which may be one text with commas.
        key: its name in decisions.
        least, most, unit: of a number, and what it counts.
        pattern, form: of a text as a whole, or of each in a list, and what that is in words.
        choices: the only values of a text, where there are such.
        secret: whether no message may show it.
        tasks: whether it is the path of a file of tasks on the controller.
    """

    name: str
    type: str
    key: str
    least: float = 0
    most: float = 0
    unit: str = ""
    pattern: str = ""
    form: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False
    tasks: bool = False


DAY, WORD = 86400, 4294967295
ADDRESS = r"[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:.]+(%[\w.-]+)?"
PRINTABLE = r"[^\x00-\x1f\x7f]"


def number(
    name: str, least: float, most: float, unit: str, key: str = "", kind: str = "int"
) -> Setting:
    return Setting(name, kind, key or name[len(PREFIX) :], least, most, unit)


def decimal(name: str, least: float, most: float, unit: str) -> Setting:
    return number(name, least, most, unit, kind="float")


def switch(name: str) -> Setting:
    return Setting(name, "bool", name[len(PREFIX) :])


def choice(name: str, *choices: str) -> Setting:
    return Setting(name, "str", name[len(PREFIX) :], choices=choices)


def text(
    name: str,
    pattern: str = PRINTABLE + "*",
    form: str = "one line without control characters",
    secret: bool = False,
) -> Setting:
    return Setting(name, "str", name[len(PREFIX) :], pattern=pattern, form=form, secret=secret)


def tasks_file(name: str) -> Setting:
    form = "the full path of a file of tasks on the controller, or empty"
    return Setting(
        name,
        "str",
        name[len(PREFIX) :],
        pattern=rf"(/{PRINTABLE}*[^/\x00-\x1f\x7f])?",
        form=form,
        tasks=True,
    )


def texts(name: str, pattern: str, form: str) -> Setting:
    return Setting(name, "list", name[len(PREFIX) :], pattern=pattern, form=form)


IDENTIFIER = (rf"(?! ){PRINTABLE}{{1,64}}(?<! )", "1 to 64 characters, no blank at its ends")
ROWS = (
    # common: the cluster and how modules log in
    text("semisync_cluster", rf"{PRINTABLE}+", "a name without control characters"),
    text("semisync_login_user"),
    text("semisync_login_password", secret=True),
    text("semisync_login_host", ADDRESS, "a host name or an address"),
    number("semisync_login_port", 1, 65535, "a port"),
    text("semisync_login_unix_socket", rf"(/{PRINTABLE}*)?", "a full path, or empty"),
    text("semisync_login_config_file", rf"([/~]{PRINTABLE}*)?", "a full path, or one below ~"),
    switch("semisync_install_pymysql"),
    switch("semisync_allow_disruption"),
    text("semisync_canary_schema", *IDENTIFIER),
    text("semisync_canary_table", *IDENTIFIER),
    text("semisync_results_dir", rf"{PRINTABLE}+", "a folder"),
    text(
        "semisync_run",
        r"(\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z)?",
        "the name of a run's folder, such as 2026-01-31T235959.123456Z, or empty",
    ),
    # common: replication
    choice("semisync_apply", "restart", "online"),
    choice("semisync_stage", "full", "replication"),
    text(
        "semisync_option_file",
        rf"(/{PRINTABLE}*[^/\x00-\x1f\x7f])?",
        "the full path of a file, or empty",
    ),
    number("semisync_server_id", 0, WORD, "0 for automatic"),
    text("semisync_address", rf"({ADDRESS})?", "a host name or an address, or empty"),
    text("semisync_replication_user", rf"{PRINTABLE}{{1,32}}", "1 to 32 characters"),
    text(
        "semisync_replication_user_host",
        r"[A-Za-z0-9_.:%/-]{1,255}",
        "a host name, an address or a pattern with %",
    ),
    text("semisync_replication_password", secret=True),
    choice("semisync_replication_ssl", "auto", "required", "disabled"),
    text(
        "semisync_replication_ssl_ca",
        rf"(generated|/{PRINTABLE}*[^/\x00-\x1f\x7f])?",
        "the full path of a file, generated, or empty",
    ),
    switch("semisync_replication_ssl_verify_name"),
    number("semisync_replication_connect_retry", 1, DAY, "seconds"),
    choice("semisync_seed_method", "auto", "clone", "backup", "dump", "none"),
    switch("semisync_seed_overwrite"),
    text(
        "semisync_bind_address",
        r"(\*|[A-Za-z0-9_.:%%/-]+(,[A-Za-z0-9_.:%%/-]+)*)?",
        "one address, a comma-separated list, * or empty",
    ),
    switch("semisync_replica_read_only"),
    # common: semi-sync and durability
    choice("semisync_promise", "available", "lossless"),
    number("semisync_timeout", 1, WORD, "milliseconds", key="timeout_ms"),
    choice("semisync_wait_point", "AFTER_SYNC", "AFTER_COMMIT"),
    number("semisync_wait_for_replica_count", 1, 65535, "replicas"),
    switch("semisync_wait_no_replica"),
    number("semisync_trace_level", 0, WORD, "a bit mask"),
    number("semisync_sync_binlog", 0, WORD, "commits"),
    number("semisync_innodb_flush_log_at_trx_commit", 0, 2, "0, 1 or 2"),
    # common: who tells the clients of a change of roles
    number("semisync_http_port", 0, 65535, "a port, 0 for none"),
    text("semisync_http_address", rf"({ADDRESS})?", "an address of the host, or empty for all"),
    tasks_file("semisync_hook_before_freeze"),
    tasks_file("semisync_hook_before_open"),
    tasks_file("semisync_hook_after_open"),
    tasks_file("semisync_hook_fence"),
    # server
    number("semisync_restart_timeout", 1, DAY, "seconds"),
    text(
        "semisync_service",
        r"([A-Za-z0-9:_.@\\-]{1,255})?",
        "the name of a systemd unit, or empty",
    ),
    # replication
    number("semisync_channel_timeout", 1, DAY, "seconds"),
    number("semisync_catch_up_timeout", 1, 7 * DAY, "seconds"),
    number("semisync_gtid_watch", 0, 7 * DAY, "seconds"),
    # seed
    number("semisync_seed_port", 0, WORD, "a number"),
    number("semisync_seed_timeout", 0, WORD, "a number"),
    number("semisync_seed_progress", 0, WORD, "a number"),
    number("semisync_seed_restart_timeout", 0, WORD, "a number"),
    # verify
    switch("semisync_verify_canary"),
    switch("semisync_verify_read"),
    decimal("semisync_canary_max_wait", 0.1, DAY, "seconds"),
    number("semisync_canary_keep", 0, WORD, "a number"),
    number("semisync_verify_lag_limit", 0, WORD, "a number"),
    decimal("semisync_failover_max_seconds", 0.1, DAY, "seconds"),
    # drill
    text("semisync_drill_replica"),
    decimal("semisync_drill_max_block", 0.1, DAY, "seconds"),
    # The timer on the host must not start the server before the fallback could be seen.
    number("semisync_drill_rescue_after", 30, DAY, "seconds"),
    number("semisync_drill_recovery_timeout", 1, DAY, "seconds"),
    decimal("semisync_drill_interval", 0.01, 60, "seconds"),
    number("semisync_drill_rows", 2, 1000, "rows"),
    # switchover
    text("semisync_switchover_to"),
    number("semisync_switchover_timeout", 2, 600, "seconds"),
    number("semisync_switchover_drain", 0, DAY, "seconds"),
    choice("semisync_switchover_long_transactions", "refuse", "kill"),
    number("semisync_switchover_max_lag", 0, DAY, "seconds"),
    # failover
    text("semisync_failover_to"),
    texts(
        "semisync_failover_accept",
        rf"[a-z_]+(:{PRINTABLE}+)?",
        "names of cases, such as degraded,unread:db4",
    ),
    switch("semisync_failover_salvage"),
    number("semisync_failover_timeout", 2, 600, "seconds"),
    number("semisync_failover_stall", 1, DAY, "seconds"),
    number("semisync_failover_apply", 1, 7 * DAY, "seconds"),
    switch("semisync_failover_fast_apply"),
    # benchmark, and the baseline before semi-sync
    text("semisync_suite", rf"{PRINTABLE}+", "the name of a suite, or the path of a file"),
    choice("semisync_benchmark_profile", "full", "quick"),
    number("semisync_benchmark_repetitions", 0, 1000, "rounds, 0 for the suite's"),
    switch("semisync_benchmark_resume"),
    number("semisync_baseline_clients", 1, 1000, "clients"),
    number("semisync_baseline_queries", 1, 10000000, "queries"),
    number("semisync_baseline_iterations", 1, 1000, "runs"),
    # remove
    number("semisync_remove_timeout", 1, DAY, "seconds"),
)
TABLE = {row.name: row for row in ROWS}
KEYS = {row.key: row for row in ROWS}
# MySQL and MariaDB manuals: schemas of the server's own, which no canary may be written to.
SERVERS_OWN = ("mysql", "sys", "information_schema", "performance_schema")


class Settings(dict):
    """Wanted values by key; a variable that nobody has set has its role's default."""

    def __missing__(self, key: str) -> Any:
        row = KEYS[key]
        self[key] = converted(row, defaults()[row.name])
        return self[key]


@functools.lru_cache(maxsize=1)
def defaults() -> dict[str, Any]:
    """Every public variable's default; the specs are read once in a process."""
    return {name: spec["default"] for name, spec in public_variables().items()}


def public_variables(folder: str = ROLES) -> dict[str, dict[str, Any]]:
    """Every public variable in the roles' argument specs: name -> its spec."""
    specs: dict[str, dict[str, Any]] = {}
    for role in sorted(os.listdir(folder)):
        path = os.path.join(folder, role, "meta", "argument_specs.yml")
        if os.path.exists(path):
            with open(path) as stream:
                entries = (yaml.safe_load(stream) or {}).get("argument_specs", {})
            for entry in entries.values():
                specs.update(entry.get("options") or {})
    return {name: spec for name, spec in specs.items() if name.startswith(PREFIX)}


def converted(row: Setting, value: Any) -> Any:
    """A variable's value as its type.

    Raises:
        SettingError: it cannot work; the message names the variable, the value unless it is secret,
            and what is wanted.
    """
    if value is None:
        raise SettingError(f"{row.name} has no value; leave it out for its default")
    typed: Any
    if row.type == "list":
        typed, wanted = listed(row, value)
    elif row.type in CHECKS:
        check, wanted = CHECKS[row.type]
        # To Ansible, true is a number as well.
        if not isinstance(value, bool) or row.type == "bool":
            try:
                typed = check(value)
            except (TypeError, ValueError, OverflowError):
                pass
            else:
                wanted = "" if row.type == "bool" else outside(row, typed)
    elif isinstance(value, (list, dict, bool)):
        wanted = " or ".join(row.choices) or "text"
    else:
        typed = str(value)
        wanted = misshapen(row, typed)
    if wanted:
        raise SettingError(f"{row.name} is {show(value, row)}; it must be {wanted}")
    return typed


def listed(row: Setting, value: Any) -> tuple[list[str], str]:
    """(the texts of a list, or of one text with commas; what they must be that they are not)."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list):
        return [], row.form
    made = [str(one).strip() for one in given if str(one).strip()]
    good = all(re.match(rf"(?:{row.pattern})\Z", one) for one in made)
    return made, "" if good else row.form


def show(value: Any, row: Setting) -> str:
    """A value as a message may show it: one line, short, and nothing that is secret."""
    if row.secret:
        return HIDDEN
    words = repr(value)
    return words if len(words) <= SHOWN_CHARACTERS else words[:SHOWN_CHARACTERS] + "…"


def outside(row: Setting, value: float) -> str:
    """The range of a number that is not in it, in words; empty where it is."""
    # Written so that a value that is no number at all, which compares with nothing, is refused.
    return "" if row.least <= value <= row.most else f"{row.least} to {row.most} ({row.unit})"


def misshapen(row: Setting, value: str) -> str:
    """The form of a text that has another, in words; empty where it has it."""
    if row.choices:
        return "" if value in row.choices else " or ".join(row.choices)
    if not re.match(rf"(?:{row.pattern})\Z", value):
        return row.form
    if row.name == "semisync_canary_schema" and value.lower() in SERVERS_OWN:
        return "a schema that is not the server's own"
    if row.tasks and value:
        return unusable_tasks(value)
    return ""


def problem(name: str, value: Any) -> str:
    """What is wrong with a variable's value, in words; empty where nothing is."""
    try:
        converted(TABLE[name], value)
    except SettingError as error:
        return str(error)
    return ""


def of_another_host(own: Settings, mine: Settings, theirs: Settings) -> Settings:
    """What is wanted of another host, as a task of this one knows it.

    Args:
        own: what the task has: the inventory's values, the roles' defaults, and what stands above
            the inventory, such as a play's variables, which hold for all hosts.
        mine: what the inventory says of this host.
        theirs: what the inventory says of the other host.
    """
    settings = Settings(theirs)
    for key, value in own.items():
        above = key in mine and mine[key] != value
        if above or (key not in mine and key not in theirs):
            settings[key] = value
    return settings


def read(values: Mapping[str, Any], rows: Iterable[Setting] = ROWS) -> tuple[Settings, list[str]]:
    """(the public variables among these values by key, what is wrong with the others).

    Args:
        values: name -> value; one that cannot be templated may raise anything.
        rows: the variables that are asked for.
    """
    settings, wrong = Settings(), []
    for row in rows:
        if row.name not in values:
            continue
        try:
            value = values[row.name]
        except Exception as error:  # Ansible's templating has many
            wrong.append(
                f"{row.name} cannot be read: {' '.join(str(error).split())}; write braces that are"
                " meant literally as !unsafe"
            )
            continue
        try:
            settings[row.key] = converted(row, value)
        except SettingError as error:
            wrong.append(str(error))
    return settings, sorted(wrong)
