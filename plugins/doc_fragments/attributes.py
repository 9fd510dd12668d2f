# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """What every module and action of this collection says of check mode and diff."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying
      target.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode),
      when in diff mode.
"""

    # The others go beside the first: they say only what holds.
    # It changes hosts, and tells how they were and are.
    CHANGES = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

    # It changes hosts, or waits for them, and has no difference to show.
    QUIET = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: [The module only reads.]
  diff_mode:
    support: none
"""

    CONTROLLER = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: ["Works on the controller, with what other tasks read; it touches no host."]
  diff_mode:
    support: none
"""
