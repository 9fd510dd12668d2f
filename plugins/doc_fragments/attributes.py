# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DESCRIPTIONS = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
%s
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
%s
"""
FULL = "    support: full"
NONE = "    support: none"


class ModuleDocFragment(object):
    """What every module and action of this collection promises about check mode and diff."""

    # The module says itself.
    DOCUMENTATION = DESCRIPTIONS % ("", "")

    # It changes hosts, and tells how they were and are.
    CHANGES = DESCRIPTIONS % (FULL, FULL)

    # It changes hosts, or waits for them, and has no difference to show.
    QUIET = DESCRIPTIONS % (FULL, NONE)

    INFO = DESCRIPTIONS % (FULL + "\n    details:\n      - The module only reads.", NONE)

    CONTROLLER = DESCRIPTIONS % (
        FULL + "\n    details:\n      - Works on the controller, with what other tasks read; it touches no host.", NONE)
