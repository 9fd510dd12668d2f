# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan that a host gets when it is read, and what all plans of a role change share: types that
the controller sends with to_dict() and the module reads with from_dict(), which refuses a missing
or unknown key. Seconds are seconds, and hosts are names of the inventory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import ErrorLog


class PlanError(Exception):
    """A plan has an unknown or a missing key; the text names it."""


Kind = TypeVar("Kind", bound="DataclassInstance")
# A field's plan type, of which the field holds one or several.
ONE_OF, LIST_OF = "one_of", "list_of"


@dataclass(frozen=True)
class Plan:
    """Base of all plans."""

    @classmethod
    def from_dict(cls: type[Kind], plan: Mapping[str, object] | None) -> Kind:
        """A plan from what the controller sent.

        Raises:
            PlanError: a key is missing, or is not known.
        """
        return made(cls, plan or {})

    def to_dict(self) -> dict[str, object]:
        """The plan as a dictionary for JSON."""
        return dataclasses.asdict(self)


def made(kind: type[Kind], given: Mapping[str, object]) -> Kind:
    """Make a dataclass from its fields by name.

    Raises:
        PlanError: one is missing, or is not known.
    """
    fields = {one.name: one for one in dataclasses.fields(kind)}
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise PlanError(f"{kind.__name__} has no field {', '.join(unknown)}")
    missing = [name for name in fields if name not in given and not has_default(fields[name])]
    if missing:
        raise PlanError(f"{kind.__name__} lacks {', '.join(missing)}")
    return kind(**{name: nested(fields[name], value) for name, value in given.items()})


def has_default(one: dataclasses.Field[object]) -> bool:
    absent = dataclasses.MISSING
    return one.default is not absent or one.default_factory is not absent


def nested(one: dataclasses.Field[object], value: object) -> object:
    """A field's value, which may be a plan of its own or a list of those."""
    if isinstance(value, Mapping) and ONE_OF in one.metadata:
        return made(one.metadata[ONE_OF], value)
    if isinstance(value, list) and LIST_OF in one.metadata:
        return [made(one.metadata[LIST_OF], each) for each in value]
    return value


@dataclass(frozen=True)
class Peer(Plan):
    """Where another member's server listens, and whether it has TLS."""

    host: str
    address: str
    port: int
    tls: bool


@dataclass(frozen=True)
class Place(Plan):
    """Where a server may listen.

    Attributes:
        port: None for the default.
        tls: whether it has TLS; if not `known`, whether that is likely.
        known: whether that is known.
        host: the host that it belongs to, if known.
    """

    address: str | None
    port: int | str | None
    tls: bool = False
    known: bool = True
    host: str = ""


@dataclass(frozen=True)
class OptionFile(Plan):
    """Where the collection's option lines are.

    Attributes:
        kind: drop-in, a file of its own; or block, marked lines in another file.
        group: of the lines, such as mysqld.
        reader: the command that prints what the server's option files say; see host/option_reader.
        command_line: what its command line says of read_only and the like, which overrides them.
        unknown: why path and the rest may be wrong; empty if they are known.
    """

    path: str
    kind: str
    group: str
    reader: str | None = None
    unknown: str | None = None
    command_line: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LookPlan(Plan):
    """What is read on a host before a switchover; `members` are those that it tries to reach."""

    members: list[Peer] = field(metadata={LIST_OF: Peer})
    user: str


@dataclass(frozen=True)
class FirstLookPlan(Plan):
    """What is read on a host before a failover.

    Attributes:
        places: where the other servers may listen.
        dead: those of them whose host is expected to be dead.
    """

    places: list[Place] = field(metadata={LIST_OF: Place})
    user: str
    dead: list[Place] = field(default_factory=list, metadata={LIST_OF: Place})


@dataclass(frozen=True)
class LastWordsPlan(Plan):
    """What is read on the host of a server that has ended.

    Attributes:
        unit: of the server.
        error_log: where its error log stood when it was last read; see semisync_info.
        files: its binary log, if that is to be salvaged.
    """

    unit: str | None
    error_log: ErrorLog | None
    files: LogFiles | None = field(metadata={ONE_OF: LogFiles})


@dataclass(frozen=True)
class ReachPlan(Plan):
    """The servers that a replica tries to reach in addition."""

    places: list[Place] = field(metadata={LIST_OF: Place})
    user: str
