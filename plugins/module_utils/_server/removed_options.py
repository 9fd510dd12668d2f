# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that a newer version of a server no longer knows: the third table that compares versions,
beside names.py and known_bad.py. A host reports those that its option files have.

Sources: MySQL manuals 8.0, 8.4 and 9.5, "Server and Status Variables and Options Added, Deprecated,
or Removed"; MySQL 9.0 manual, "What Is New" (mysql_native_password); MariaDB documentation,
"Upgrading from MariaDB 10.5 to 10.6", "10.11 to 11.4". Options that only Group Replication,
memcached or the keyring's plugins have are left out, and status variables.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple

Version = Tuple[int, ...]
MYSQL_FAMILY = ("mysql", "percona")


class Removal(NamedTuple):
    """Options that a version no longer knows: a server with one of them does not start.

    Attributes:
        engines: whose.
        version: the first without them.
        options: their names.
    """

    engines: tuple[str, ...]
    version: Version
    options: frozenset[str]


def removal(
    engines: tuple[str, ...],
    version: Version,
    options: str,
) -> Removal:
    return Removal(engines, version, frozenset(options.split()))


REMOVALS = (
    removal(
        MYSQL_FAMILY,
        (8, 0),
        "date_format datetime_format des_key_file ignore_builtin_innodb ignore_db_dir"
        " ignore_db_dirs innodb_checksums innodb_file_format innodb_file_format_check"
        " innodb_file_format_max innodb_large_prefix innodb_locks_unsafe_for_binlog"
        " innodb_stats_sample_pages innodb_support_xa innodb_undo_logs"
        " internal_tmp_disk_storage_engine log_builtin_as_identified_by_password log_syslog"
        " log_syslog_facility log_syslog_include_pid log_syslog_tag log_warnings max_tmp_tables"
        " metadata_locks_cache_size metadata_locks_hash_instances multi_range_count"
        " myisam_repair_threads old_passwords partition query_cache_limit query_cache_min_res_unit"
        " query_cache_size query_cache_type query_cache_wlock_invalidate secure_auth"
        " show_compatibility_56 skip_partition sync_frm temp_pool time_format tx_isolation"
        " tx_read_only",
    ),
    removal(
        MYSQL_FAMILY,
        (8, 4),
        "admin_ssl avoid_temporal_upgrade binlog_transaction_dependency_tracking"
        " character_set_client_handshake default_authentication_plugin expire_logs_days innodb"
        " language log_bin_use_v1_row_events master_info_file master_info_repository new"
        " no_dd_upgrade old old_style_user_limits relay_log_info_file relay_log_info_repository"
        " show_old_temporals skip_character_set_client_handshake skip_host_cache skip_ssl"
        " slave_rows_search_algorithms ssl transaction_write_set_extraction",
    ),
    removal(MYSQL_FAMILY, (9, 0), "mysql_native_password"),
    removal(
        MYSQL_FAMILY,
        (9, 5),
        "rpl_semi_sync_master_enabled rpl_semi_sync_master_timeout"
        " rpl_semi_sync_master_trace_level rpl_semi_sync_master_wait_for_slave_count"
        " rpl_semi_sync_master_wait_no_slave rpl_semi_sync_master_wait_point"
        " rpl_semi_sync_slave_enabled rpl_semi_sync_slave_trace_level",
    ),
    removal(
        ("mariadb",),
        (11, 4),
        "debug_no_thread_alarm innodb_defragment innodb_defragment_fill_factor"
        " innodb_defragment_fill_factor_n_recs innodb_defragment_frequency"
        " innodb_defragment_n_pages innodb_defragment_stats_accuracy old_alter_table",
    ),
)
NAMES = frozenset(name for one in REMOVALS for name in one.options)
