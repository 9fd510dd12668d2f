# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.modules import semisync_seed

NOTHING = {"password": None, "certificate": None, "token": None, "tools": None}


@pytest.mark.parametrize(
    "part,method,missing",
    [
        ("prepare", "clone", ["password"]),
        ("prepare", "dump", []),
        ("take", "clone", ["password"]),
        ("take", "backup", ["certificate", "token", "tools"]),
        ("take", "dump", ["certificate", "token", "tools"]),
        ("clear", "clone", []),
    ],
)
def test_a_part_says_what_it_needs_with_a_method(part, method, missing):
    params = dict(NOTHING, part=part, method=method)
    assert semisync_seed.missing_options(params) == missing
    given = dict(params, **dict.fromkeys(missing, "given"))
    assert semisync_seed.missing_options(given) == []
