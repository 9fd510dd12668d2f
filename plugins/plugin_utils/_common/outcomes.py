# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that results are made of: outcomes of checkpoints, severities of findings, a cluster's
health.
"""

from __future__ import annotations

# Unknown means that it could not be seen: neither right nor wrong.
PASSED, FAILED, UNKNOWN, NOT_APPLICABLE = "passed", "failed", "unknown", "not_applicable"
OUTCOMES = (PASSED, FAILED, UNKNOWN, NOT_APPLICABLE)

# The worst first.
CRITICAL, WARNING, INFO = "critical", "warning", "info"
SEVERITIES = (CRITICAL, WARNING, INFO)

# A cluster's, or UNKNOWN.
HEALTHY, UNHEALTHY = "healthy", "unhealthy"
