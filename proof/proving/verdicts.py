"""Whether a certificate tells the truth, by what the clients were told and when."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate

# A certificate's times have no fractions.
WHOLE_SECONDS = 1
# The verdict where clients write again, and no failover was needed for it: nothing may be lost.
NEEDLESS = "no failover"


def outside(
    lost: Collection[tuple[int, int]], known: dict[str, Any], window: dict[str, Any] | None
) -> int:
    """How many lost rows were confirmed at a time for which the certificate answers."""
    if not window:
        return len(lost)
    begin, end = (
        datetime.datetime.fromisoformat(window[side]).timestamp() for side in ("from", "to")
    )
    moments = moments_of(known)
    if not window["ended"]:
        end = math.inf
    return sum(not begin <= moments[row] <= end + WHOLE_SECONDS for row in lost)


def early(lost: Collection[tuple[int, int]], known: dict[str, Any], until: str | None) -> int:
    """How many lost rows were confirmed before the moment until which the certificate answers."""
    if not until:
        return 0
    end = datetime.datetime.fromisoformat(until).timestamp()
    moments = moments_of(known)
    return sum(moments[row] < end for row in lost)


def moments_of(known: dict[str, Any]) -> dict[tuple[int, int], float]:
    """When each row was confirmed to its client."""
    return {
        (client, number): moment
        for client, rows in enumerate(known["confirmed"])
        for number, moment in zip(rows, known["moments"][client], strict=True)
    }


def lies(record: dict[str, Any]) -> bool:
    """Whether a certificate says of a time that nothing was lost, and something was."""
    answers = record["verdict"] in (certificate.PROVEN, certificate.WINDOW, NEEDLESS)
    return answers and bool(record["outside"])
