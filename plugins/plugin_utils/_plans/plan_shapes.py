# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of a host's plan, which playbooks read; RETURN of semisync_plan says what they
mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side, WaitFor

# A line of an option file: (option, value), and the lines of one purpose under a comment.
Line = tuple[str, int | str]
Section = tuple[str, list[Line]]
# Canonical name of a variable -> (running value, wanted value).
Drift = dict[str, tuple[str | None, int | str]]


class OptionFileStep(TypedDict):
    """Where our lines go, and whether they are already there."""

    path: str
    kind: str
    marker: str
    before: str | None
    content: str | None
    changed: bool


class WantedTls(TypedDict):
    """TLS of a channel; ca and verify are None if the server's own way is right."""

    ssl: bool
    ca: str | None
    verify: bool | None


class AuthorityCopy(TypedDict):
    """The file with the source's authority on a replica."""

    path: str
    content: str | None
    changed: bool


class ChannelTls(TypedDict):
    """What a replica's channel needs of TLS."""

    wanted: WantedTls | None
    differs: bool
    authority: AuthorityCopy | None
    new_authority: bool


class CloneTls(TypedDict):
    """TLS of a clone; need is required, disabled or any."""

    need: str
    ca: str | None


class SeedStep(TypedDict):
    """How a replica is seeded; because says why not by the faster method."""

    method: str | None
    why: str
    because: str
    tls: CloneTls | None


class AccountStep(TypedDict):
    create: bool
    needs_ssl: bool
    open_because: str


class Spending(TypedDict):
    """The part of a change that needs a row in the journal first."""

    spends: str
    settles: bool


class AnswerStep(TypedDict):
    """What has to be done with the HTTP answer; step is none, present or absent."""

    port: int
    address: str
    schema: str
    begins: bool
    peers: list[str]
    allow: list[str]
    filter: list[str]
    step: str
    why: list[str]


class HeartbeatStep(TypedDict):
    """What has to be done with the heartbeat; step is none, present or absent."""

    interval: int
    schema: str
    begins: bool
    table: bool
    step: str
    why: list[str]


class ReceivedFile(TypedDict):
    """A file of the service that applies what a replica had received."""

    path: str
    text: str


class ReceivedGone(TypedDict):
    """Its files that go, in their order."""

    gone: list[str]


class ReceivedStep(TypedDict, total=False):
    """What has to be done with that service; only `step` (none, present or absent) if it is none.

    Attributes:
        files: to write before the service starts with the server.
        option: to write after that.
        gone: paths to remove, in their order; only if the step is absent.
        check: words of the command that tries the service's login.
    """

    step: str
    why: list[str]
    unit: str
    files: list[ReceivedFile]
    option: ReceivedFile
    gone: list[str]
    check: list[str]


class ClusterPart(TypedDict):
    """A host's place in its cluster."""

    side: Side
    source: str
    source_address: str
    source_port: int
    replicas: list[str]
    replica_addresses: list[str]
    turn: int
    followers: list[str]
    clients: int
    clients_after: int
    baseline: bool
    before_first_replica: bool
    fell_back: bool
    unit: str | None


class StagePart(TypedDict):
    """How far this run goes, and the plugins that it needs."""

    stage: str
    held: bool
    requested_stage: str
    install_plugin: bool
    install: list[Side]
    plugin_names: str
    renames: str
    plugin: str | None


class ServerPart(Spending):
    """The server's options, those it takes at run time, and whether it restarts."""

    server_id: int
    fresh: bool
    option_file: OptionFileStep
    restart: bool
    restart_reasons: list[str]
    opens: bool
    set_global: dict[str, int | str]
    restart_io: bool
    server_changes: bool


class ChannelPart(TypedDict):
    """A replica's channel, and what a source needs to know of other hosts' channels."""

    channel: str
    channels_change: bool
    tries_login: bool
    catch_up: bool
    wait_for: WaitFor
    tls: WantedTls | None
    tls_differs: bool
    tls_authority: AuthorityCopy | None
    tls_changes: bool
    account: bool
    account_needs_ssl: bool
    account_open_because: str


class HostPlan(ClusterPart, StagePart, ServerPart, ChannelPart):
    """What has to be done on one host."""

    seed: SeedStep | None
    seed_leftover: bool
    answer: AnswerStep
    heartbeat: HeartbeatStep
    received: ReceivedStep
    differs: bool
    changes: bool


class Plan(HostPlan):  # pylint: disable=duplicate-bases  # dict, once, at run time
    """The same with what it needs to know of the other hosts."""

    cluster_changes: bool
    cluster_differs: bool
    turns: int
    source_restarts: list[str]
    rotate_problem: str


class DrillTask(TypedDict):
    """One drill as plans/drill.py makes it.

    Attributes:
        replica, source: inventory names.
        unit: the systemd unit of the replica's server.
        timeout_ms: the source's semi-sync timeout.
        needed: acknowledgements that a commit waits for.
        clients: semi-sync clients before the drill.
        waits: whether the source waits if too few replicas are connected.
        expected_fallback: whether too few are left while this one is stopped.
        position, count: which of how many drills of a run it is.
    """

    replica: str
    source: str
    unit: str
    timeout_ms: int
    needed: int
    clients: int
    waits: bool
    expected_fallback: bool
    position: int
    count: int
