# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a benchmark, as semisync_benchmark is asked for them."""

from __future__ import annotations

from typing import Any

# What each part needs besides.
NEEDED = {
    "plan": ["suite", "environment_from"],
    "prepare": ["step", "environment_from", "plan_from", "measured_from"],
    "measure": ["step", "environment_from", "plan_from"],
    "confirm": ["step", "plan_from", "confirmed_from"],
    "restore": ["environment_from", "plan_from"],
    "finish": ["plan_from", "restored_from"],
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "do": {"type": "str", "choices": list(NEEDED), "required": True},
    "suite": {"type": "str"},
    "suite_folders": {"type": "list", "elements": "path", "default": []},
    "profile": {"type": "str", "choices": ["full", "quick"], "default": "full"},
    "repetitions": {"type": "int", "default": 0},
    "resume": {"type": "bool", "default": True},
    "info_from": {"type": "str", "required": True},
    "environment_from": {"type": "str"},
    "plan_from": {"type": "str"},
    "measured_from": {"type": "str"},
    "confirmed_from": {"type": "str"},
    "restored_from": {"type": "str"},
    "step": {"type": "dict"},
    "pings": {"type": "int", "default": 0},
    "login": {"type": "dict", "default": {}, "no_log": True},
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
}
