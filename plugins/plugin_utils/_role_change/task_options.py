# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a role change's task: those that only the controller needs, and which module
gets which of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ansible.module_utils.parsing.convert_bool import boolean


class Options(NamedTuple):
    """The task options that only the controller needs.

    Attributes:
        step: which one.
        operation: switchover, failover or rejoin.
        info_from: name of the variable with each host's semisync_info result.
        results_dir: folder for results.
        run: name of the run's folder; empty for a new one.
        begun: when a failover began, in seconds since 1970; None if that is not known.
        settled: whether the report comes after everything else, or the step `after` once the
            option files have the new roles.
        fenced: whether a failover's plan comes after the tasks that fence the source.
        again: whether a rejoin's judgement comes after the start of the former source.
        upgrades: whether a switchover's former source is upgraded next, so that it may be older.
    """

    step: str
    operation: str
    info_from: str
    results_dir: str
    run: str
    begun: float | None
    settled: bool
    fenced: bool
    again: bool
    upgrades: bool


# Options that the modules do not get.
CONTROLLERS = (*(name for name in Options._fields if name not in ("step", "operation")),)
# Modules that read a host, and which of the other options they get; the login's all get.
LOOK = "dbre.semisync.semisync_role_look"
LAST_WORDS = "dbre.semisync.semisync_last_words"
INFO = "dbre.semisync.semisync_info"
READERS = {
    LOOK: ("step", "operation", "journal_schema", "plan", "password"),
    LAST_WORDS: ("plan",),
    INFO: ("option_file", "journal_schema"),
}
STEP_OPTIONS = ("step", "operation", "option_file", "journal_schema", "plan", "password", "tail")


def options_of(arguments: Mapping[str, object], operation: str) -> Options:
    """A task's options."""
    begun = arguments.get("begun")
    return Options(
        step=str(arguments["step"]),
        operation=operation,
        info_from=str(arguments.get("info_from") or ""),
        results_dir=str(arguments.get("results_dir") or "results"),
        run=str(arguments.get("run") or ""),
        begun=None if begun in (None, "") else float(str(begun)),
        settled=boolean(arguments.get("settled") or False),
        fenced=boolean(arguments.get("fenced") or False),
        again=boolean(arguments.get("again") or False),
        upgrades=boolean(arguments.get("upgrades") or False),
    )
