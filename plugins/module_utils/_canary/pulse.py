# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that are written at a steady pace while something happens: what is recorded of each, and
what can be waited for.

A row is {'at': when the insert began, in seconds since 1970 by the source's clock, 'latency_ms',
'status', 'clients', and how far 'yes_tx', 'no_tx', 'no_times' rose since the row before}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Values

# Root's own folder, empty after a boot: no other user can put a link there, and nothing stays for
# ever.
PATTERN = "/run/dbre-semisync-pulse-%s.jsonl"
COUNTERS = ("yes_tx", "no_tx", "no_times")


def row_text(mark: str, token: str, number: int) -> str:
    """The text of one row; it begins like every canary row, so that old ones are deleted with
    those.
    """
    return f"{mark} drill {token} {number}"


def entry(begun: float, seconds: float, before: Values, after: Values) -> dict[str, object]:
    """One row from the counters around it.

    Args:
        begun: seconds since 1970.
        seconds: how long the insert took.
        before: the source's semi-sync statuses by our keys.
        after: the same after the insert.
    """
    return {
        "at": begun,
        "latency_ms": round(seconds * 1000, 3),
        "status": after["status"],
        "clients": int(after["clients"] or 0),
        **rises(before, after, COUNTERS),
    }


def parse(text: str) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """(header, rows, error) in the lines of a pulse's file; an incomplete last line is left out."""
    header: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    error = ""
    for line in text.split("\n")[:-1]:
        item = json.loads(line)
        if "pid" in item:
            header = item
        elif "error" in item:
            error = item["error"]
        else:
            rows.append(item)
    return header, rows, error


def acknowledged(row: Mapping[str, Any]) -> bool:
    """Whether an insert was on a replica when it was confirmed, and so every other one of that
    moment.
    """
    return row["yes_tx"] >= 1 and row["no_tx"] == 0


def unprotected(row: Mapping[str, Any]) -> bool:
    return row["no_tx"] >= 1


def unmet(wanted: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """What the newest rows still lack, in words; an empty list when each of them is as wanted.

    Args:
        wanted: {'status': 'ON' or 'OFF', 'clients': int, 'rows': how many of the newest are looked
            at}.
        rows: all so far.
    """
    last = rows[-wanted["rows"] :]
    if len(last) < wanted["rows"]:
        return [f"{len(rows)} rows so far, {wanted['rows']} are wanted"]
    lacking = []
    newest = last[-1]
    if newest["status"] != wanted["status"]:
        lacking.append(
            f"semi-sync's status on the source is {newest['status']}, not {wanted['status']}"
        )
    if newest["clients"] != wanted["clients"]:
        lacking.append(
            f"the source counts {newest['clients']} semi-sync clients, not {wanted['clients']}"
        )
    if not lacking and not all(
        row["status"] == wanted["status"]
        and row["clients"] == wanted["clients"]
        and (acknowledged(row) if wanted["status"] == "ON" else unprotected(row))
        for row in last
    ):
        lacking.append(
            f"not all of the newest {len(last)} rows are"
            f" {'acknowledged' if wanted['status'] == 'ON' else 'unacknowledged'}"
        )
    return lacking
