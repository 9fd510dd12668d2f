# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of what hosts return and controllers read: RETURN of semisync_info says what it means.

They cross from a host as JSON, so they are plain dicts, written as dict literals. mypy reads this,
and nothing that runs imports it: a module would carry it to a host. A key that only some results
have is NotRequired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import Beats
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.received_shapes import (
        Received,
    )

    Side = Literal["source", "replica"]
    # A server's own name -> its value, as text; None for a name that it does not have.
    Variables = dict[str, str | None]
    # The same under the collection's keys (server/names.py).
    Values = dict[str, str | None]
    # GTID sets and positions by the server's names for them, as far as it has them.
    Gtid = dict[str, str]
else:
    TypedDict = dict
    Side = str
    Variables = Values = Gtid = dict


# --- Names, variables and statuses (server/read.py)


class SideNames(TypedDict):
    """What a server calls the plugin of one side; both None if semi-sync is built in."""

    plugin: str | None
    library: str | None
    variables: dict[str, str]
    statuses: dict[str, str]


class NamesInUse(TypedDict):
    """The names table of one server (server/names.py)."""

    generation: str
    builtin: bool
    slapper: str
    log_updates: str
    log_bin_by_default: bool
    gtid: bool
    gtid_online: bool
    copy_series: str | None
    account_plugin: str | None
    show_channels: str
    longest_source_password: int | None
    defaults: dict[str, str]
    verifies_source_by_default: bool
    proves_itself_by_password: bool
    source: SideNames
    replica: SideNames


class SemisyncSide(TypedDict):
    """Semi-sync on one side, under the collection's keys."""

    variables: Values
    status: Values


class Semisync(TypedDict):
    source: SemisyncSide
    replica: SemisyncSide


# --- Replication (server/channels.py, server/sessions.py, replication/)


class Channel(TypedDict):
    """A replication channel; its default one has the name ""."""

    name: str
    source_host: str | None
    source_port: int | None
    source_user: str | None
    source_uuid: str | None
    source_server_id: int | None
    io_running: str | None
    sql_running: str | None
    # Whether it replicates by GTID.
    gtid: bool
    retrieved: str
    read_file: str
    read_position: int
    applied_file: str
    applied_position: int
    seconds_behind: int | None
    last_io_error: str
    last_sql_error: str
    connect_retry: int | None
    delay: int
    tls: bool
    tls_ca: str
    tls_verify: bool


class Account(TypedDict):
    user: str
    host: str
    privileges: list[str]
    needs_ssl: bool


class Reader(TypedDict):
    """A session that reads the binary log; tls is None if the server does not report it."""

    user: str
    host: str
    tls: bool | None


class Registered(TypedDict):
    """A replica that has registered with its source."""

    server_id: int
    uuid: str | None


class Backlog(TypedDict):
    unit: str
    left: int | None
    applied: int | None
    seconds: float | None
    busy: bool


class JournalRow(TypedDict):
    """A row of the journal (replication/journal.py, Entry); happened is UTC, as ISO 8601."""

    number: int
    operation: str
    run: str
    state: str
    from_host: str
    to_host: str
    from_id: str
    to_id: str
    position: str
    verdict: str
    details: str
    happened: str


class HeldRow(TypedDict):
    """A server that a failover took the source's role from, and that is not back."""

    host: str
    id: str
    to_host: str
    happened: str


class Standing(TypedDict):
    """The little that says who is a cluster's source (canary/wait.py)."""

    variables: Variables
    channel: Channel | None
    journal: JournalRow | None
    held: list[HeldRow]


# --- The rest of a server (server/connection.py)


class EventState(TypedDict):
    """A scheduled event."""

    schema: str
    name: str
    status: str


class ScheduledEvent(EventState):
    """The same with what changing it has to keep."""

    definer: str
    sql_mode: str
    time_zone: str


class Uptime(TypedDict):
    seconds: int
    since_reset: int | None


class Tls(TypedDict):
    on: bool


class TableCheck(TypedDict):
    """What a server itself says against its tables before an upgrade.

    Attributes:
        tables: how many were checked, of how many.
        wrong: what it says against them; each text names one.
        unchecked: why the others were not; empty if all were.
    """

    tables: int
    of: int
    wrong: list[str]
    unchecked: str


class LoginPlace(TypedDict):
    """Where a login found the server."""

    host: str | None
    port: int | None
    unix_socket: str | None


# --- Its host


class LeftBehind(TypedDict):
    path: str
    exists: bool


class OptionFiles(TypedDict):
    """What the option files and the command line say, and our part (host/server_options.py)."""

    reader: str | None
    unknown: str
    options: dict[str, str]
    elsewhere: dict[str, str]
    command_line: dict[str, str]
    path: str
    kind: str
    marker: str
    group: str
    exists: bool
    unsafe: str
    ours: str | None
    left_behind: LeftBehind


class ErrorLog(TypedDict):
    """path is "" if it is the unit's journal; at is in seconds since 1970 by the host."""

    path: str
    inode: int | None
    size: int | None
    at: float


class CertificateCopy(TypedDict):
    path: str
    text: str | None


class Certificates(TypedDict):
    ca: str | None
    copy: CertificateCopy


class Said(TypedDict):
    """What the HTTP answer says of itself; status is None if it does not respond."""

    status: int | None
    yes: bool
    why: str
    kind: str


class Answer(TypedDict):
    """The HTTP answer on a host: path -> text of its files, and what GET /source is told."""

    python: str
    files: dict[str, str]
    password_kept: bool
    enabled: bool
    said: Said


class ErrantTransaction(TypedDict):
    """A transaction that one server alone has (binlog/errant.py); a report has no rows of clients.

    Attributes:
        at: when it was written, UTC, as ISO 8601.
        tables: name -> inserted, updated or deleted -> how many rows.
        transactional: whether all of it can be rolled back.
        statements, rows: the first of them, as text.
        seen: how many rows it has, if it has any.
    """

    gtid: str
    at: str
    tables: dict[str, dict[str, int]]
    statements: NotRequired[list[str]]
    rows: NotRequired[list[str]]
    ddl: bool
    transactional: bool
    seen: NotRequired[int]


class ErrantShown(TypedDict):
    """What a log has of such transactions.

    Attributes:
        count: how many there are; `transactions` are the first.
        tables: as of one transaction, of all.
        lasting: GTIDs of those that cannot be rolled back.
    """

    count: int
    transactions: list[ErrantTransaction]
    tables: dict[str, dict[str, int]]
    lasting: list[str]


class LogRead(TypedDict):
    """What a former source's binary log says.

    Attributes:
        files: paths of those that were read; all_files: whether those are all.
        end: where the last whole transaction ends, in the last file.
        torn_bytes, torn_gtid: what comes after that, and the transaction that it is of; or empty.
        gtids: all that the log has.
        anonymous: how many transactions have no GTID.
        disorder: where the numbers of a MariaDB server fall, in words; or empty.
        count, lacking: the transactions that the new source lacks, how many and the first.
    """

    files: list[str]
    all_files: bool
    end: int
    torn_bytes: int
    torn_gtid: str
    gtids: str
    anonymous: int
    disorder: str
    count: int
    lacking: list[str]
    shown: ErrantShown


class OptionPlace(TypedDict):
    """Where our option lines are; see OptionFiles."""

    path: str
    kind: str
    group: str
    unknown: str
    reader: str | None
    command_line: dict[str, str]


class FormerLook(TypedDict):
    """What was read on a former source's host (rejoin/former_facts.py).

    Attributes:
        down: whether its server does not run.
        log: None if it was not read, and `why` says why not.
        encrypted: whether that is because it is encrypted.
        lost_power: whether the host was started since its server ended without a message; None if
            that is not known.
        reach: why the replication account cannot log in to the new source there, or empty.
        unit, version, identity, by_gtid, strict, scheduler, sync_binlog, datadir, option_file: of
            a server that does not run.
        read_only_by: the option file by which its next start is read-only, or empty.
        msg: that it could not be read at all, and why.
    """

    changed: NotRequired[bool]
    down: NotRequired[bool]
    log: NotRequired[LogRead | None]
    why: NotRequired[str]
    encrypted: NotRequired[bool]
    lost_power: NotRequired[bool | None]
    reach: NotRequired[str]
    unit: NotRequired[str]
    version: NotRequired[str | None]
    identity: NotRequired[str]
    by_gtid: NotRequired[bool]
    strict: NotRequired[bool]
    scheduler: NotRequired[str]
    sync_binlog: NotRequired[str]
    datadir: NotRequired[str]
    option_file: NotRequired[OptionPlace]
    read_only_by: NotRequired[str]
    msg: NotRequired[str]


class Heartbeat(TypedDict):
    """The heartbeat's service on a host: path -> text of its files."""

    python: str
    files: dict[str, str]
    password_kept: bool
    enabled: bool
    active: bool
    said: str


class SeedMarker(TypedDict):
    """What the last seeding of a server wrote down (seed/marker.py)."""

    source: str
    method: str
    state: str
    at: float
    stage: NotRequired[str]
    began: NotRequired[float]
    bytes: NotRequired[int]
    total: NotRequired[int]
    seconds: NotRequired[float]
    caught_up: NotRequired[bool]
    # The replica's own plugins, while a clone replaces them: name -> library.
    plugins: NotRequired[dict[str, str]]


class Arrival(TypedDict):
    """What was seen of a canary row on a replica; msg says why it was not seen."""

    arrived: bool
    changed: NotRequired[bool]
    arrived_at: NotRequired[float | None]
    gave_up_at: NotRequired[float | None]
    polls: NotRequired[int]
    unknown: NotRequired[bool]
    msg: NotRequired[str]


# --- What a task asks for


class WaitFor(TypedDict):
    """The conditions of semisync_info's wait_for."""

    answering: NotRequired[bool]
    channel: NotRequired[bool]
    clients: NotRequired[int | None]
    no_clients: NotRequired[bool]
    source_status: NotRequired[bool]
    replica_status: NotRequired[bool]
    max_lag: NotRequired[int | None]
    tls_only: NotRequired[str | None]


# --- All of it


class Sessions(TypedDict):
    """What a process list says (server/sessions.py)."""

    readers: list[Reader]
    # None where nothing tells the default channel's from another's.
    applier_ids: list[int] | None


class ReplicationState(Sessions):
    """What a server is, and how it replicates (server/read.py)."""

    engine: str
    version: str
    version_full: str
    version_comment: str
    names: NamesInUse
    plugins: dict[str, str]
    variables: Variables
    gtid: Gtid
    semisync: Semisync
    channel: Channel | None
    other_channels: list[str]
    tls: Tls
    uptime: Uptime
    clock: float
    connection_id: int


class ServerState(ReplicationState):
    """What SQL says of a server (server/read.py)."""

    plugins_registered: dict[str, str]
    persisted: dict[str, str]
    accounts: list[Account]
    native_accounts: list[str]
    registered: list[Registered] | None
    schemas: list[str]
    empty_schemas: list[str]
    events: list[EventState] | None


class SettingsRows(TypedDict):
    """The journal's rows of settings: the newest, and the oldest that is open; 0 if none is."""

    settings_row: int
    settings_open: int


class Past(SettingsRows):
    """What the whole journal says (replication/journal.py, past())."""

    held: list[HeldRow]


class RoleState(ReplicationState, Past):
    """What a change of roles asks of a replica: all that a failover's first look reads of one."""

    journal: JournalRow | None


class State(ServerState, Past):
    """The same with what its journal says (replication/state.py)."""

    journal: JournalRow | None


class Calm(TypedDict):
    """What is measured of a source (replication/ack_wait.py)."""

    calm_since: float | None
    binlog_filters: list[str] | None


class OnHost(TypedDict):
    """What the server's host says of its process (host/process.py)."""

    unit: str | None
    program: str | None
    pid: int | None
    tools: dict[str, str | None]
    option_files: OptionFiles


class Info(State, Calm, OnHost):  # pylint: disable=duplicate-bases  # dict, once, at run time
    """The same with what its host says: all that semisync_info returns."""

    login: LoginPlace
    error_log: ErrorLog | None
    answer: Answer | None
    # None on MySQL, and if the server's process is on another host.
    received: Received | None
    # Whether the option file of a switchover stands there.
    fence: NotRequired[bool]
    # Of semisync_info alone; a failover's first look does without.
    heartbeat: NotRequired[Heartbeat | None]
    seed: SeedMarker | None
    certificates: Certificates
    disk_full: NotRequired[str]
    # With heartbeat_seconds; None if they could not be read.
    beats: NotRequired[Beats | None]
    # With measure_backlog; None if it follows no source.
    backlog: NotRequired[Backlog | None]
    asked_at: NotRequired[float]
    clock_ahead: NotRequired[float]
    waited: NotRequired[float]
    arrival: NotRequired[Arrival]
