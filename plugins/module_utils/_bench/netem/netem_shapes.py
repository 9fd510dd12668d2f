# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of what netem reads, plans and returns. They are plain dicts, because tc and ip print
JSON and a module returns it; at run time these classes are only names (Python 3.7 has no
TypedDict).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    class DelayOption(TypedDict):
        """Seconds; correlation is a share."""

        delay: NotRequired[float]
        jitter: NotRequired[float]
        correlation: NotRequired[float]

    class LossOption(TypedDict):
        """A share of all packets."""

        loss: float
        correlation: NotRequired[float]

    class RateOption(TypedDict):
        """Bytes per second."""

        rate: int

    # The options of netem; those of other kinds are copied, never read.
    QdiscOptions = TypedDict(
        "QdiscOptions",
        {
            "limit": NotRequired[int | None],
            "delay": NotRequired[DelayOption],
            "loss-random": NotRequired[LossOption],
            "rate": NotRequired[RateOption],
        },
    )
else:
    TypedDict = QdiscOptions = dict


class Qdisc(TypedDict):
    """A qdisc of `tc -json qdisc show`; the last two with `-statistics`."""

    kind: str
    handle: str
    dev: str
    options: QdiscOptions
    root: NotRequired[bool]
    parent: NotRequired[str]
    refcnt: NotRequired[int]
    drops: NotRequired[int]
    qlen: NotRequired[int]


class LinkKind(TypedDict):
    info_kind: NotRequired[str]


class Link(TypedDict):
    """A device of `ip -json -details link`."""

    ifname: str
    flags: list[str]
    mtu: int
    ifalias: NotRequired[str]
    linkinfo: NotRequired[LinkKind]


class Route(TypedDict):
    """A route of `ip -json route get`."""

    dev: NotRequired[str]
    type: NotRequired[str]


class Filter(TypedDict):
    """A filter of `tc filter show`.

    handle is None for the classifier itself, which tc lists too; peer is the only destination
    address that it matches; device is where it redirects to.
    """

    protocol: str
    pref: int
    kind: str
    handle: str | None
    peer: str | None
    device: str | None
    flow: str | None


class Ifb(TypedDict):
    """The module's own device."""

    up: bool
    alias: str


class Qdiscs(TypedDict):
    """All qdiscs of a host."""

    qdiscs: list[Qdisc]


class NetState(Qdiscs):
    """What a host has, as Host.read() reads it.

    egress and ingress: device -> filters, for devices with clsact; tree: device -> filters under
    the module's own root qdisc.
    """

    ifb: Ifb | None
    links: dict[str, Link]
    egress: dict[str, list[Filter]]
    ingress: dict[str, list[Filter]]
    tree: dict[str, list[Filter]]


class Delay(TypedDict):
    """What netem does: milliseconds, percent, bits per second, packets."""

    delay_ms: float
    jitter_ms: float
    loss: float
    rate: int | None
    limit: int | None


class DelayOptions(TypedDict):
    """The module's options."""

    state: str
    peers: list[str]
    interface: str | None
    delay_ms: float | None
    jitter_ms: float
    loss: float
    rate: str | None
    limit: int | None
    rollback_after: int
    ping_count: int


class Counters(TypedDict):
    """Packets that the module's netem dropped since it was added, and those it holds."""

    dropped: int
    backlog: int


class Diff(TypedDict):
    before: str
    after: str


class DelayResult(TypedDict):
    """The module's result; RETURN of the module says what each means."""

    qdiscs_before: list[Qdisc]
    dropped: int
    backlog: int
    rtt_before: dict[str, Trip]
    rtt_after: dict[str, Trip] | None
    warnings: list[str]
    changed: NotRequired[bool]
    commands: NotRequired[list[str]]
    command: NotRequired[list[str]]
    qdiscs_after: NotRequired[list[Qdisc]]
    targets: NotRequired[dict[str, str]]
    way: NotRequired[str | None]
    diff: NotRequired[Diff]
    shown: NotRequired[list[str]]
    limit: NotRequired[int]
    rollback_at: NotRequired[str | None]
