# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtid

A = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
B = "92139d91-e5a0-11f1-923b-0242ac130003"


@pytest.mark.parametrize(
    "text,expected",
    [
        ("", {}),
        (None, {}),
        (A + ":1-3924", {A: [(1, 3924)]}),
        (A + ":7", {A: [(7, 7)]}),
        (A + ":1-3:5-9", {A: [(1, 3), (5, 9)]}),
        (A + ":5-9:1-4", {A: [(1, 9)]}),
        (A.upper() + ":1-2", {A: [(1, 2)]}),
        (A + ":1-5,\n" + B + ":1", {A: [(1, 5)], B: [(1, 1)]}),
        # tags, from MySQL 8.3: the intervals behind a tag are the tag's own
        (
            A + ":1-3:backup:1-2:5:Audit:9," + B + ":4",
            {A: [(1, 3)], A + ":backup": [(1, 2), (5, 5)], A + ":audit": [(9, 9)], B: [(4, 4)]},
        ),
    ],
)
def test_a_gtid_set_is_read_as_intervals(text, expected):
    assert gtid.parse_set(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ON",
        "0-1-5",
        A,
        A + ":",
        A + ":1-",
        A + ":-3",
        A + ":3-1",
        A + ":0",
        A + ":1-2-3",
        A + ":a-b:1",
        A + "1:1",
        A + ":tag",
    ],
)
def test_what_is_no_gtid_set_is_refused(text):
    with pytest.raises(ValueError):
        gtid.parse_set(text)


@pytest.mark.parametrize(
    "one,other,rest",
    [
        ("", A + ":1-5", ""),
        (A + ":1-5", "", A + ":1-5"),
        (A + ":1-5", A + ":1-5", ""),
        (A + ":1-5", A + ":1-9", ""),
        (A + ":1-9", A + ":3-5", A + ":1-2:6-9"),
        (A + ":1-9", A + ":1-2:4:8-20", A + ":3:5-7"),
        (A + ":1-3:7-9", A + ":2-8", A + ":1:9"),
        (A + ":1-3," + B + ":1-2", A + ":1-3", B + ":1-2"),
        (A + ":tag:1-4", A + ":1-4", A + ":tag:1-4"),
        (A + ":tag:1-4", A + ":tag:1-3", A + ":tag:4"),
    ],
)
def test_subtraction_leaves_what_the_other_lacks(one, other, rest):
    assert gtid.subtract(one, other) == rest


def test_subtraction_undoes_union_for_any_intervals():
    for mask in range(256):
        for other in (0, 0x0F, 0x5A, 0xFF, 0x81):
            left = [number + 1 for number in range(8) if mask >> number & 1]
            right = [number + 1 for number in range(8) if other >> number & 1]
            spelled = [
                A + "".join(f":{number}" for number in numbers) if numbers else ""
                for numbers in (left, right)
            ]
            rest = gtid.parse_set(gtid.subtract(*spelled)).get(A, [])
            assert [number for first, last in rest for number in range(first, last + 1)] == [
                number for number in left if number not in right
            ]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("", {}),
        ("0-1112514424-5", {(0, 1112514424): 5}),
        ("0-1-5,0-2-9,\n1-1-3", {(0, 1): 5, (0, 2): 9, (1, 1): 3}),
        ("0-1-9,0-1-5", {(0, 1): 9}),
    ],
)
def test_a_mariadb_list_is_read(text, expected):
    assert gtid.parse_list(text) == expected


@pytest.mark.parametrize("text", ["0-1", "0-1-x", A + ":1-5", "0-1-2-3", "-1-1-1"])
def test_what_is_no_mariadb_list_is_refused(text):
    with pytest.raises(ValueError):
        gtid.parse_list(text)


@pytest.mark.parametrize(
    "one,other,rest",
    [
        ("0-1-5", "0-1-5", ""),
        ("0-1-5", "0-1-7", ""),
        ("0-1-7", "0-1-5", "0-1-7"),
        ("0-1-5,0-2-6", "0-1-5", "0-2-6"),
        ("0-1-5,5-2-1", "0-1-9,5-2-1", ""),
        ("", "0-1-5", ""),
    ],
)
def test_local_writes_of_a_mariadb_server_are_found(one, other, rest):
    assert gtid.ahead(one, other) == rest
