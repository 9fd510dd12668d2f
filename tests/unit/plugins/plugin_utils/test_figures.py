# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import figures


@pytest.mark.parametrize(
    "number,text",
    [
        (0, "0"),
        (0.31, "0.31"),
        (11.456, "11.5"),
        (90.0, "90"),
        (99.97, "100"),
        (1234.5, "1,234"),
        (0.00123, "0.00123"),
        (2, "2"),
        (10, "10"),
        (70000, "70,000"),
    ],
)
def test_numbers_for_people(number, text):
    assert figures.short(number) == text


def test_the_median_of_what_is_known_leaves_the_rest_out():
    assert figures.median_of_known([None, 3.0, 1.0, None]) == 2.0
    assert figures.median_of_known(iter([None])) is None
    assert figures.median_of_known([]) is None
