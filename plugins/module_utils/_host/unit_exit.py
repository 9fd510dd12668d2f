# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a server ended, if its host is alive: systemd remembers. A server that was shut down cleanly
has confirmed the waiting commits; one that was killed has not, unless it was already stopping.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Our key -> systemd's property, in microseconds of the monotonic clock.
TIMES = {
    "started": "ExecMainStartTimestampMonotonic",
    "stopping": "ActiveExitTimestampMonotonic",
    "ended": "ExecMainExitTimestampMonotonic",
}
# What a server's unit is called by its packages; one is often an alias of another.
USUAL = ("mysql", "mysqld", "mariadb")
THERE = ("loaded", "masked")
PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "ExecMainCode",
    "ExecMainStatus",
    *TIMES.values(),
)
# CLD_EXITED, CLD_KILLED and CLD_DUMPED of sigaction(2).
KINDS = {
    "1": "exited",
    "2": "killed",
    "3": "killed",
}


def read_exit(module: AnsibleModule, unit: str | None) -> dict[str, object]:
    """`ended` and `starting` of `look` in the RETURN section of semisync_switchover."""
    systemctl = module.get_bin_path("systemctl")
    unit = unit or sole_unit(module, systemctl) if systemctl else None
    if not systemctl or not unit:
        return {"ended": None, "starting": ""}
    words = [
        systemctl,
        "show",
        "--property=" + ",".join(PROPERTIES),
        service_name(unit),
    ]
    _status, printed, _errors = command.run(module, words)
    return {"ended": parse_exit(printed, time.monotonic()), "starting": parse_start(printed)}


def clocks() -> dict[str, object]:
    """This start of the machine and its clocks now, by which the source dated its beats."""
    try:
        boot = read_text(BOOT_ID).strip()
    except OSError:
        boot = ""
    return {"boot": boot or None, "monotonic": time.monotonic(), "wall": time.time()}


def sole_unit(module: AnsibleModule, systemctl: str) -> str | None:
    """The only unit of a database server on this host, by its usual names; None if there is none,
    or several.
    """
    words = [systemctl, "show", "--property=Id,LoadState", *map(service_name, USUAL)]
    _status, printed, _errors = command.run(module, words)
    units = set()
    for block in printed.split("\n\n"):
        values = dict(line.partition("=")[::2] for line in block.splitlines())
        if values.get("LoadState") in THERE and values.get("Id"):
            units.add(values["Id"])
    return units.pop() if len(units) == 1 else None


def parse_exit(printed: str, monotonic: float) -> dict[str, object] | None:
    """How the unit's server ended, and how many seconds ago each event was; None if systemd does
    not know, or the server runs.

    Args:
        printed: of `systemctl show`.
        monotonic: the monotonic clock now.
    """
    values = dict(line.partition("=")[::2] for line in printed.splitlines())
    kind = KINDS.get(values.get("ExecMainCode", ""))
    micros = {word: int(values.get(name) or 0) for word, name in TIMES.items()}
    if values.get("LoadState") not in THERE or not kind or not micros["ended"]:
        return None
    if values.get("ActiveState") == "active" or micros["started"] > micros["ended"]:
        return None
    if parse_start(printed):
        return None
    if micros["stopping"] < micros["started"]:
        # From an earlier start: this one never became active.
        micros["stopping"] = 0
    ago = {
        f"{word}_ago": round(monotonic - moment / 1e6, 3) if moment else None
        for word, moment in micros.items()
    }
    return {"how": kind, "status": int(values.get("ExecMainStatus") or 0), **ago}


def parse_start(printed: str) -> str:
    """The state of a unit whose server systemd starts, or is about to start again (Restart=, after
    RestartSec= seconds); empty if it does not. A masked unit cannot be started.
    """
    values = dict(line.partition("=")[::2] for line in printed.splitlines())
    if values.get("LoadState") != "loaded" or values.get("ActiveState") != "activating":
        return ""
    return f"activating ({values.get('SubState')})"


def service_name(unit: str) -> str:
    """The unit with its suffix, as systemd's own commands need it."""
    return unit if re.search(r"\.(service|target|socket)\Z", unit) else unit + ".service"
