# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error that ends a seeding on the replica."""

from __future__ import annotations


class SeedError(Exception):
    """The seeding failed. The text says why, and what state the replica is in."""
