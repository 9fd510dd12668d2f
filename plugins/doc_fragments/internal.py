# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """For the modules that are plumbing."""

    DOCUMENTATION = r"""
options: {}
notes:
  - A part of the roles. Its options change without notice.
"""
