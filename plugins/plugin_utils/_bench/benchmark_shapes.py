# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of a suite, of its run as benchmark-SUITE.json keeps it (schema.json describes each
key), and of the steps of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Latency,
    LoadRun,
    Work,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import Qdisc
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    # Our key of a variable of durability -> its value.
    Durability = dict[str, int]
else:
    TypedDict = Durability = dict


# --- A suite's file


class RawWork(TypedDict):
    """A load, as in a suite's file."""

    tool: NotRequired[str]
    clients: NotRequired[int]
    queries: NotRequired[int]
    seconds: NotRequired[int]
    load_type: NotRequired[str]
    engine: NotRequired[str]
    create: NotRequired[str]
    query: NotRequired[str]
    script: NotRequired[str]
    table_size: NotRequired[int]
    same_row: NotRequired[bool]


class RawConditions(TypedDict):
    delay_ms: NotRequired[float]
    durability: NotRequired[Durability]
    wait_point: NotRequired[str]
    timeout_ms: NotRequired[int]
    load: NotRequired[RawWork]


class RawCell(RawConditions):
    id: NotRequired[str]
    label: NotRequired[str]
    checkpoint: NotRequired[str]
    replication: NotRequired[str]
    baseline: NotRequired[str]


class RawGeneral(RawConditions):
    """The keys of a suite and of its profiles. document is the former name of reference."""

    title: NotRequired[str]
    reference: NotRequired[str]
    document: NotRequired[str]
    what: NotRequired[str]
    metric: NotRequired[str]
    repetitions: NotRequired[int]
    warm_up: NotRequired[bool]
    time_limit: NotRequired[int]
    needs_client: NotRequired[bool]


class Published(TypedDict):
    """A published figure, and the cell that shows it."""

    what: NotRequired[str]
    figure: NotRequired[str]
    found: NotRequired[str]


class RawSuite(RawGeneral):
    cells: NotRequired[list[RawCell]]
    documented: NotRequired[list[Published]]
    profiles: NotRequired[dict[str, RawGeneral]]


# --- A suite with its defaults filled in


class Cell(TypedDict):
    """All conditions of a cell."""

    id: str
    label: str
    checkpoint: str | None
    replication: str
    baseline: str | None
    load: Work
    delay_ms: float
    durability: Durability | None
    wait_point: str | None
    timeout_ms: int | None


class Suite(TypedDict):
    title: str
    what: str
    reference: str | None
    metric: str | None
    repetitions: int
    warm_up: bool
    time_limit: int
    documented: list[Published]
    cells: list[Cell]


# --- A run as it is kept


class Repetition(LoadRun):
    """A run of a cell: semisync_load's, and when it was."""

    at: str
    warm_up: bool
    number: int
    wall_seconds: float


class Summary(TypedDict):
    """The statistics of a list of figures; low and high are the median's 95 % interval."""

    n: int
    median: float
    low: float
    high: float
    min: float
    max: float
    stdev: float


class Statistics(Summary):
    metric: str
    unit: str


class Ratio(TypedDict):
    """A cell against its baseline, whose id is `to`; difference is none, higher or lower."""

    to: str
    value: float
    low: float
    high: float
    difference: str
    words: str


class Model(TypedDict):
    """A cell against the model's limit; share is None if the model does not hold."""

    limit: float
    share: float | None
    words: str


class MeasuredCell(Cell):
    """A cell with its runs; analyse() fills in what follows from them."""

    repetitions: list[Repetition]
    error: NotRequired[str | None]
    valid: NotRequired[bool]
    reasons: NotRequired[list[str]]
    statistics: NotRequired[Statistics | None]
    ratio: NotRequired[Ratio | None]
    model: NotRequired[Model | None]
    latency_ms: NotRequired[Latency | None]
    rtt_ms: NotRequired[float | None]


class SuiteOfRun(TypedDict):
    """The suite, without its cells."""

    id: str
    title: str
    reference: str | None
    profile: str
    expected_seconds: float
    repetitions: int
    warm_up: bool
    time_limit: int
    what: str
    metric: NotRequired[str]


class Comparison(TypedDict):
    """A published figure and what was measured in the cell that shows it."""

    what: str
    figure: str
    cell: str | None
    found: str | None


class ControllerSoftware(TypedDict):
    ansible: str
    python: str
    collection: str


class SyncedWrites(TypedDict):
    """Latencies of synchronous writes, in microseconds."""

    median: float
    p95: float
    max: float
    n: int


class Machine(TypedDict):
    """A host's machine, as semisync_environment reads it."""

    kernel: NotRequired[str | None]
    cpus: NotRequired[int | None]
    cpu: NotRequired[str | None]
    memory_mb: NotRequired[int | None]
    virtualization: NotRequired[str | None]
    fsync_us: NotRequired[SyncedWrites | None]


class HostOfRun(Machine):
    """A host, with its server's version and settings if it has one."""

    host: str
    role: str
    engine: NotRequired[str]
    version: NotRequired[str]
    sync_binlog: NotRequired[int | None]
    innodb_flush_log_at_trx_commit: NotRequired[int | None]
    wait_point: NotRequired[str | None]
    timeout_ms: NotRequired[int | None]


class Delayed(TypedDict):
    """What the module netem returned when it added a delay."""

    command: list[str] | None
    shown: list[str] | None
    way: str | None
    limit: int | None
    rtt_before: dict[str, Trip] | None
    rtt_after: dict[str, Trip] | None


class Environment(TypedDict):
    """The environment of a benchmark; netem by its delay in milliseconds, as text."""

    controller: ControllerSoftware
    hosts: list[HostOfRun]
    rtt_ms: dict[str, float | None]
    defects: list[str]
    netem: NotRequired[dict[str, Delayed]]


class Benchmark(TypedDict):
    """benchmark-SUITE.json."""

    format: int
    cluster: str
    suite: SuiteOfRun
    started: str
    ended: str | None
    complete: bool
    environment: Environment
    cells: list[MeasuredCell]
    documented: list[Comparison]
    statement: list[str]


# --- Steps


class Step(TypedDict):
    """One run of a cell, and whose settings change before it."""

    cell: str
    repetition: int
    warm_up: bool
    source: bool
    replica: bool
    delay: bool


class Restored(TypedDict):
    """The state after the restore; qdiscs_after is None if it was not reported."""

    qdiscs_after: list[Qdisc] | None
    status: str | None
    clients: int
    replicas: int
