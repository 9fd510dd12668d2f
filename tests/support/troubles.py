"""What keeps a server of a pair from being read, brought about on one of its hosts and mended; and
what the host is like meanwhile.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from support.live_hosts import Host

# With pipelining, Ansible's pipe to ssh may break before it reads why: then it says only that.
NOWHERE = {
    "ansible_connection": "ssh",
    "ansible_host": "127.0.0.1",
    "ansible_port": 1,
    "ansible_pipelining": False,
}
STRANGER, READER = "stranger", "reader"
WRONG = {"semisync_login_user": STRANGER, "semisync_login_password": "geheim"}
POOR = {"semisync_login_user": READER, "semisync_login_password": "geheim"}
# The fewest that MariaDB allows, the one that it keeps for an administrator, and a few in vain.
FEWEST, CLIENTS = 10, 14
# A folder that is not there: the server's next start would fail by it.
NOWHERE_TO_READ = "/etc/mysql/nowhere.d/"
MISSING = f"!includedir {NOWHERE_TO_READ}"


def nothing(_host: Host) -> None:
    """What is wrong is in the inventory alone."""


def systemctl(*words: str) -> Callable[[Host], object]:
    return lambda host: host.shell(f"systemctl {' '.join(words)} {host.server}")


def fill_connections(host: Host) -> None:
    """Take every connection that the server has, until empty_connections()."""
    host.sql(f"SET GLOBAL max_connections = {FEWEST}")
    one = f"(sleep 3000 | {host.client} --unbuffered) & "
    host.shell(f"nohup sh -c '{one * CLIENTS} wait' >/dev/null 2>&1 &")


def empty_connections(host: Host) -> None:
    host.shell("pkill -x sleep; true")
    host.wait(60)
    host.sql("SET GLOBAL max_connections = DEFAULT")


@dataclasses.dataclass(frozen=True)
class Trouble:
    """What is the matter with a host.

    Args:
        cause: how it is told.
        variables: what the inventory says of the host.
        bring, mend: what is done to it.
        answers: whether its server answers by other ways.
    """

    cause: str
    variables: dict[str, Any] = dataclasses.field(default_factory=dict)
    bring: Callable[[Host], object] = nothing
    mend: Callable[[Host], object] = nothing
    answers: bool = True


# What the inventory has wrong: the servers are well.
GIVEN = {
    "unreachable": Trouble("port 1: Connection refused", NOWHERE),
    "wrong-login": Trouble(
        f"wrong login: the server at /run/mysqld/mysqld.sock refuses {STRANGER}", WRONG
    ),
    "no-privilege": Trouble(
        "the login lacks a privilege: the server at /run/mysqld/mysqld.sock let", POOR
    ),
}
# What a host itself is brought into.
BROUGHT = {
    "stopped": Trouble(
        "the server is not running, or does not listen at",
        bring=systemctl("stop"),
        mend=systemctl("start"),
        answers=False,
    ),
    "full": Trouble(
        "runs, and has no connection left for",
        bring=fill_connections,
        mend=empty_connections,
        answers=False,
    ),
    "silent": Trouble(
        "was reached, and did not answer to the end",
        bring=systemctl("kill --signal=STOP"),
        mend=systemctl("kill --signal=CONT"),
        answers=False,
    ),
    "no-option-files": Trouble(
        "what its server starts with is not known",
        bring=lambda host: host.shell(
            f"cp /etc/mysql/my.cnf /root/kept.cnf; echo '{MISSING}' >>/etc/mysql/my.cnf"
        ),
        mend=lambda host: host.shell("cp /root/kept.cnf /etc/mysql/my.cnf"),
    ),
}
TROUBLES = {**GIVEN, **BROUGHT}

# What moves by itself, or with a canary row.
VOLATILE = (
    "timestamp",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_slave_pos",
    "gtid_executed",
)
ASKED = f"""
SHOW GLOBAL VARIABLES WHERE Variable_name NOT IN {VOLATILE};
SHOW DATABASES;
SELECT User, Host, plugin, authentication_string FROM mysql.user ORDER BY 1, 2;
SELECT CONCAT('threads of replication ', COUNT(*)) FROM information_schema.PROCESSLIST
  WHERE USER = 'system user';
"""
POSITIONS = {"mariadb": "gtid_binlog_pos", "mysql": "gtid_executed"}


def look(host: Host) -> str:
    """All that a run may not change on a host, as far as it answers: option files, the server's
    process, its variables, schemas, accounts, and whether its channel's threads are there.
    """
    files = "find -L /etc/mysql -type f -exec sha256sum {} + | sort; pidof mysqld mariadbd"
    return host.shell(
        f"{files}; timeout 5 {host.client} --batch --skip-column-names 2>&1",
        input=ASKED,
        check=False,
    ).stdout


def position(host: Host) -> str:
    """How far a server's binary log has got; empty if it does not answer."""
    ask = f"timeout 5 {host.client} --batch --skip-column-names"
    statement = f"SELECT @@GLOBAL.{POSITIONS[host.server]}"
    return host.shell(ask, input=statement, check=False).stdout.strip()
