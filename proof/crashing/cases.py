"""What the servers are set to, and what a power cut may take under that."""

from __future__ import annotations

from dataclasses import dataclass, field

SOURCE, ACKNOWLEDGER = "source", "replica1"
HOSTS = (SOURCE, ACKNOWLEDGER)
# Of every case. site.yml's settings are below them: sync_binlog 1 and
# innodb_flush_log_at_trx_commit 1 on both, semi-sync with AFTER_SYNC. sync_relay_log is what
# semisync_promise=lossless sets; and InnoDB writes its pages all the time, as a server does that
# has run for a day, so that a minute has torn pages, too.
EVERY = {"sync_relay_log": "1", "innodb_max_dirty_pages_pct": "0"}


@dataclass(frozen=True)
class Case:
    """What is judged: the disks of a run of the clients.

    Attributes:
        words: for the table.
        host: whose disks they are; empty for those of both.
        options: of the run, beside those of every case, by host.
        start: options of a start on a rebuilt disk.
        of: the case whose run it judges, if it has none of its own.
        keeps: whether nothing confirmed may be lost; else it is a control, which must lose.
        servers: those that have it.
    """

    words: str
    host: str = ""
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    of: str = ""
    keeps: bool = False
    servers: tuple[str, ...] = ("mysql", "mariadb")

    @property
    def hosts(self) -> tuple[str, ...]:
        return (self.host,) if self.host else HOSTS

    def options_of(self, host: str) -> dict[str, str]:
        """What its option file has in the run."""
        return {**EVERY, **self.options.get(host, {})}


FLUSH = "innodb_flush_log_at_trx_commit"
NO_DOUBLEWRITE = {"innodb_doublewrite": "OFF"}
FSYNC = {"innodb_flush_method": "fsync"}
SETTINGS = "settings"
# What a host loses does not depend on the other one's options: a run is made for a control on each.
CASES = {
    SETTINGS: Case("the collection's, and `sync_relay_log = 1`", keeps=True),
    "flush-method-fsync": Case(
        "the same, and `innodb_flush_method = fsync`",
        options={SOURCE: FSYNC, ACKNOWLEDGER: FSYNC},
        keeps=True,
        servers=("mysql",),
    ),
    "sync-binlog-0": Case(
        "`sync_binlog = 0`",
        SOURCE,
        {SOURCE: {"sync_binlog": "0"}, ACKNOWLEDGER: {"sync_relay_log": "10000"}},
    ),
    "relay-log-10000": Case("`sync_relay_log = 10000`", ACKNOWLEDGER, of="sync-binlog-0"),
    "flush-log-0": Case(
        f"`{FLUSH} = 0`",
        SOURCE,
        {SOURCE: {FLUSH: "0"}, ACKNOWLEDGER: {"innodb_doublewrite": "OFF"}},
    ),
    "doublewrite-off": Case("`innodb_doublewrite = OFF`", ACKNOWLEDGER, of="flush-log-0"),
    "flush-log-2": Case(f"`{FLUSH} = 2`", SOURCE, {SOURCE: {FLUSH: "2"}}),
    "sync-binlog-1000": Case("`sync_binlog = 1000`", SOURCE, {SOURCE: {"sync_binlog": "1000"}}),
    "relay-log-recovery": Case(
        "`relay_log_recovery = ON` at the start",
        ACKNOWLEDGER,
        start=("--relay-log-recovery=ON",),
        of=SETTINGS,
    ),
}


def of_server(server: str) -> list[str]:
    """The names of the cases that a server has."""
    return [name for name, case in CASES.items() if server in case.servers]
