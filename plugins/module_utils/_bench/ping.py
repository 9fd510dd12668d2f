# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips from this host to others, measured by ping."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.statistics import median
from ansible_collections.dbre.semisync.plugins.module_utils._host import command

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

INTERVAL = "0.2"


class Trip(TypedDict):
    """Round trips to one host in milliseconds; None of no answer."""

    sent: int
    received: int
    min: float | None
    median: float | None
    avg: float | None
    max: float | None


class PingError(ValueError):
    """Nothing can be measured; the text gives the reason."""


def round_trips(
    module: AnsibleModule,
    peers: list[str],
    count: int,
    wait: int = 2,
) -> dict[str, Trip]:
    """The round trips to each peer: address -> parse_ping().

    Args:
        module: the AnsibleModule.
        count: pings for each peer; with 0 none is asked.
        wait: seconds to wait for an answer.

    Raises:
        PingError: the host has no ping.
    """
    if not peers or not count:
        return {}
    program = module.get_bin_path("ping", opt_dirs=["/sbin", "/usr/sbin"])
    if not program:
        raise PingError(
            "the program ping is missing on this host; install the package iputils-ping (Debian,"
            " Ubuntu) or iputils"
        )
    words = [
        program,
        "-n",
        "-c",
        str(count),
        "-i",
        INTERVAL,
        "-W",
        str(wait),
        "--",
    ]
    return {peer: parse_ping(command.run(module, [*words, peer])[1]) for peer in peers}


def parse_ping(text: str) -> Trip:
    """The round trips that `ping` printed."""
    times = sorted(float(value) for value in re.findall(r"\btime[=<]([\d.]+) ?ms", text))
    counts = re.search(r"(\d+) packets transmitted, (\d+) (?:packets )?received", text)
    return {
        "sent": int(counts.group(1)) if counts else 0,
        "received": len(times),
        "min": times[0] if times else None,
        "median": round(median(times), 3) if times else None,
        "avg": round(sum(times) / len(times), 3) if times else None,
        "max": times[-1] if times else None,
    }
