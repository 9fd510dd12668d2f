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
    """One run of the clients, or another way to start what is left of one.

    Attributes:
        words: for the table.
        host: whose disks a control is about; empty for both.
        options: of its server, in place of those of every case.
        start: options of a start on a rebuilt disk.
        of: the case whose run it judges.
    """

    words: str
    host: str = ""
    options: dict[str, str] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    of: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        return (self.host,) if self.host else HOSTS

    def options_of(self, host: str) -> dict[str, str]:
        """What its option file has."""
        return {**EVERY, **(self.options if host in self.hosts else {})}


def control(host: str, name: str, value: str) -> Case:
    return Case(f"`{name} = {value}`", host, {name: value})


FLUSH = "innodb_flush_log_at_trx_commit"
SETTINGS = "settings"
CASES = {
    SETTINGS: Case("the collection's, and `sync_relay_log = 1`"),
    "sync-binlog-0": control(SOURCE, "sync_binlog", "0"),
    "sync-binlog-1000": control(SOURCE, "sync_binlog", "1000"),
    "flush-log-0": control(SOURCE, FLUSH, "0"),
    "flush-log-2": control(SOURCE, FLUSH, "2"),
    "doublewrite-off": control(SOURCE, "innodb_doublewrite", "OFF"),
    "relay-log-10000": control(ACKNOWLEDGER, "sync_relay_log", "10000"),
    "relay-log-recovery": Case(
        "`relay_log_recovery = ON` at the start",
        ACKNOWLEDGER,
        start=("--relay-log-recovery=ON",),
        of=SETTINGS,
    ),
}
