# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of all public variables: their allowed values, and their names in decisions.

Types and choices are those of the roles' argument specs; only this table has what a type cannot
say (ranges, forms).
"""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "semisync_"


class Setting(NamedTuple):
    """One public variable.

    Attributes:
        name: of the variable.
        type: int, float, bool, str, or list of texts, which may be one text with commas.
        key: its name in decisions.
        least, most, unit: of a number, and what it counts.
        pattern, form: of a text as a whole, or of each in a list, and what that is in words.
        choices: the only values of a text, if there are such.
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
    name: str,
    least: float,
    most: float,
    unit: str,
    key: str = "",
    kind: str = "int",
) -> Setting:
    return Setting(name, kind, key or name[len(PREFIX) :], least, most, unit)


def decimal(
    name: str,
    least: float,
    most: float,
    unit: str,
) -> Setting:
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
    choice("semisync_plugin_names", "auto", "old", "new"),
    choice("semisync_promise", "available", "lossless"),
    number("semisync_timeout", 1, WORD, "milliseconds", key="timeout_ms"),
    texts("semisync_accept", "short_timeout", "names of cases, such as short_timeout"),
    choice("semisync_wait_point", "AFTER_SYNC", "AFTER_COMMIT"),
    number("semisync_wait_for_replica_count", 1, 65535, "replicas"),
    switch("semisync_wait_no_replica"),
    number("semisync_trace_level", 0, WORD, "a bit mask"),
    number("semisync_sync_binlog", 0, WORD, "commits"),
    number("semisync_innodb_flush_log_at_trx_commit", 0, 2, "0, 1 or 2"),
    # common: what the source records of itself
    number("semisync_heartbeat_seconds", 0, 60, "seconds, 0 for none"),
    # common: who tells the clients of a role change
    number("semisync_http_port", 0, 65535, "a port, 0 for none"),
    text("semisync_http_address", rf"({ADDRESS})?", "an address of the host, or empty for all"),
    texts("semisync_http_allow", r"[0-9A-Fa-f.:]+(/[0-9]{1,3})?", "addresses and networks"),
    tasks_file("semisync_hook_before_freeze"),
    tasks_file("semisync_hook_before_open"),
    tasks_file("semisync_hook_after_open"),
    tasks_file("semisync_hook_fence"),
    tasks_file("semisync_hook_upgrade"),
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
    number("semisync_seed_port", 0, WORD, "a port"),
    number("semisync_seed_timeout", 0, WORD, "seconds"),
    number("semisync_seed_progress", 0, WORD, "seconds"),
    number("semisync_seed_restart_timeout", 0, WORD, "seconds"),
    # verify
    switch("semisync_verify_canary"),
    switch("semisync_verify_read"),
    decimal("semisync_canary_max_wait", 0.1, DAY, "seconds"),
    number("semisync_canary_keep", 0, WORD, "rows"),
    number("semisync_advise_seconds", 1, 3600, "seconds"),
    number("semisync_verify_lag_limit", 0, WORD, "seconds"),
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
    # restart
    text("semisync_restart_to"),
    switch("semisync_restart_back"),
    choice("semisync_restart_only", "all", "pending"),
    texts("semisync_restart_accept", r"[a-z_]+", "names of cases, such as unprotected"),
    # upgrade
    text(
        "semisync_upgrade_to",
        r"([1-9]\d*(\.(0|[1-9]\d*)){1,2})?",
        "a version, such as 11.8 or 8.4.6, without a suffix",
    ),
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
    # rejoin
    text("semisync_rejoin"),
    choice("semisync_rejoin_way", "attach", "truncate", "replay", "seed"),
    text("semisync_rejoin_phantoms"),
    switch("semisync_rejoin_keep"),
    texts(
        "semisync_rejoin_accept", rf"{PRINTABLE}+\.{PRINTABLE}+", "names of tables, such as app.log"
    ),
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
