"""How replication by file and position is begun by hand, and what the servers call it."""

from __future__ import annotations

# By engine: how a replica is pointed at a host, file and position; the source's position; the
# channel's state.
CHANGE = {
    "mysql": (
        (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_USER='old',"
            " SOURCE_PASSWORD='old', SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%s,"
            " SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA"
        ),
        "SHOW BINARY LOG STATUS",
        "SHOW REPLICA STATUS",
    ),
    "mariadb": (
        (
            "CHANGE MASTER TO MASTER_HOST='%s', MASTER_USER='old', MASTER_PASSWORD='old',"
            " MASTER_LOG_FILE='%s', MASTER_LOG_POS=%s, MASTER_CONNECT_RETRY=1; START SLAVE"
        ),
        "SHOW MASTER STATUS",
        "SHOW SLAVE STATUS",
    ),
}
