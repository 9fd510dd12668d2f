# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of a load: its options, the tool's result, the server's state before and after, and a
run as it is returned and stored. They are plain dicts, because modules get and return them; at run
time these classes are only names (Python 3.7 has no TypedDict).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Dict, NotRequired, Optional, TypedDict

    # A server's name for a variable or status -> its value; None if it has none of that name.
    Readings = Dict[str, Optional[str]]
else:
    TypedDict = Readings = dict


class Work(TypedDict):
    """What a load does, as a suite's cell or semisync_load's options have it.

    same_row says that all clients change one row: the tool does not ask for it, the limit of the
    throughput does.
    """

    tool: str
    clients: int
    queries: int | None
    seconds: NotRequired[int | None]
    load_type: NotRequired[str]
    engine: NotRequired[str | None]
    create: NotRequired[str | None]
    query: NotRequired[str | None]
    script: NotRequired[str | None]
    table_size: NotRequired[int]
    same_row: NotRequired[bool]


class Mode(TypedDict):
    """How a source replicates: none, async, semisync or None for any; and to how many replicas."""

    replication: NotRequired[str | None]
    replicas: NotRequired[int]


class Expected(Work, Mode):
    """A load, and what must hold for a run of it to count: peers are those whose round trip is
    measured.
    """

    delay_ms: NotRequired[float]
    peers: NotRequired[list[str]]


class Login(TypedDict):
    """How a tool logs in; empty ones are left out."""

    user: str | None
    password: str | None
    host: str | None
    port: int | None
    socket: str | None


class LoadOptions(Expected):  # pylint: disable=duplicate-bases  # dict, once, at run time
    """semisync_load's options."""

    iterations: int
    warmup: int
    schema: str | None
    timeout: int
    login_user: str | None
    login_password: str | None
    login_host: str | None
    login_port: int | None
    login_unix_socket: str | None


class Snapshot(TypedDict):
    """A source at one moment: see take_snapshot()."""

    status: Readings
    uptime: int
    at: float
    senders: int
    semisync: Readings
    gtid: str | None


class Latency(TypedDict):
    """Latencies of single transactions, in milliseconds; None if the tool does not tell one."""

    mean: float
    stdev: float
    p50: float | None
    p95: float | None
    p99: float | None
    max: float


class ToolRun(TypedDict):
    """What a tool did. reason says why it failed, and is empty if it did not; asked is how many
    statements it was asked for, None if that is not known.
    """

    reason: str
    asked: int | None
    own_query: bool
    operations: NotRequired[int]
    seconds: NotRequired[float]
    rate: NotRequired[float | None]
    rate_stdev: NotRequired[float | None]
    latency_ms: NotRequired[Latency | None]


class Outcome(ToolRun):
    """The same with what the network did: the round trip in milliseconds, and packets that netem
    dropped.
    """

    rtt_ms: float | None
    dropped: int


class LoadRun(TypedDict):
    """A run as semisync_load returns it: figures are None if it does not count."""

    valid: bool
    reason: str
    rtt_ms: float | None
    dropped: int
    commits: int | None
    counters: dict[str, int]
    seconds: float | None
    operations: int | None
    rate: float | None
    rate_stdev: NotRequired[float | None]
    latency_ms: Latency | None


class Spread(TypedDict):
    """Seconds of the runs that count."""

    median: float
    min: float
    max: float
    runs: int


class Kept(TypedDict):
    """What a host must restore after a measurement, or drop after a reboot.

    variables: name -> the value before; io: whether the IO thread ran, None if it was left alone;
    accounts: [user, host] of each.
    """

    variables: NotRequired[dict[str, str]]
    io: NotRequired[bool | None]
    schemas: NotRequired[list[str]]
    accounts: NotRequired[list[list[str]]]


class NewAccount(TypedDict):
    """An account that semisync_setting creates for a client host."""

    user: str
    host: str
    password: str


class SettingOptions(TypedDict):
    """semisync_setting's options."""

    state: str
    side: str
    replication: str | None
    variables: dict[str, int | str]
    replicas: int
    wait_timeout: int
    schema: str | None
    account: NewAccount | None
    rollback_after: int


class SettingResult(TypedDict):
    """semisync_setting's result."""

    statements: list[str]
    kept: Kept
    changed: bool
    rollback_at: str | None
