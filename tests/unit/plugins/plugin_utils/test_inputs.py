# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import inputs

SPECS = inputs.public_variables()
NUMBERS = sorted(name for name, spec in SPECS.items() if spec["type"] in ("int", "float"))
TEXTS = sorted(name for name, spec in SPECS.items() if spec["type"] in ("str", "path"))
HOSTILE = ("a'b", 'a"b', "a\\b", "a`b", "x'; DROP DATABASE mysql; -- ", "{{ 7 * 7 }}", "{% raw %}", "Zürich日本", "$(id)",
           "-e", "../../etc", "a b")
LINES = ("a\nb", "a\rb", "a\x00b", "a\tb")
# Texts that reach the server as parameters, and files and folders of any name: what they hold works literally. The live
# test of bad input shows it for those in its table; the others end as a wrong login or a missing file that is named.
LITERAL = ("semisync_cluster", "semisync_suite", "semisync_login_user", "semisync_login_password", "semisync_results_dir",
           "semisync_canary_schema", "semisync_canary_table", "semisync_replication_user",
           "semisync_replication_password")


def judged(name, value):
    return inputs.problem(name, value, SPECS[name])


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_default_is_accepted(name):
    assert judged(name, SPECS[name]["default"]) == ""


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}])
def test_a_value_of_no_type_is_refused_by_name(name, value):
    if type(value).__name__ != SPECS[name]["type"]:
        assert judged(name, value).startswith(name + " ")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["", "abc", "1; DROP", "{{ 1 }}", "١٢x", True, -1, 4294967296 * 4, "nan", "inf", "1e99"])
def test_a_number_that_is_none_or_out_of_range_is_refused_by_name(name, value):
    assert judged(name, value).startswith("%s is " % name)


@pytest.mark.parametrize("name", sorted(inputs.RANGES))
def test_the_ends_of_a_range_work_and_what_is_beyond_does_not(name):
    low, high = inputs.RANGES[name][:2]
    assert judged(name, low) == judged(name, high) == judged(name, str(high)) == ""
    assert judged(name, high + 1) and (judged(name, low - 1))


@pytest.mark.parametrize("name", sorted(name for name, spec in SPECS.items() if spec["type"] == "bool"))
@pytest.mark.parametrize("value", ["", "perhaps", 2, "yes; DROP"])
def test_a_switch_that_is_neither_on_nor_off_is_refused_by_name(name, value):
    assert judged(name, value).startswith("%s is " % name)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", LINES)
def test_control_characters_are_refused_by_name(name, value):
    assert judged(name, value).startswith("%s is " % name)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_text_is_refused_by_name_or_works_literally(name, value):
    words = judged(name, value)
    if name in inputs.FORMS or SPECS[name].get("choices"):
        # A value of one of these forms cannot leave a quotation; systemd escapes a unit's name with backslashes.
        assert (words.startswith("%s is " % name) or name in LITERAL or value[0] in "-." or "semisync_login" in name
                or (name, value) == ("semisync_service", "a\\b"))
    assert words == "" or words.startswith("%s is " % name)


@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_text_is_a_default_or_refused_by_name(name):
    words = judged(name, "")
    assert words == "" or words.startswith("%s is " % name)
    assert words or SPECS[name]["default"] == "" or name in ("semisync_login_config_file", "semisync_bind_address")


def test_a_secret_is_never_shown():
    for name in ("semisync_replication_password", "semisync_login_password"):
        assert "geheim" not in judged(name, "geheim\nx") and judged(name, "geheim\nx")


@pytest.mark.parametrize("name,value", [
    ("semisync_address", "db1.example.com"), ("semisync_address", "10.0.0.1"), ("semisync_address", "fe80::1%eth0"),
    ("semisync_bind_address", "10.0.0.1,::1"), ("semisync_bind_address", "*"), ("semisync_service", "mysqld@1"),
    ("semisync_service", "mysqld@my-db_1.service"), ("semisync_replication_user_host", "10.0.%"),
    ("semisync_replication_user_host", "192.168.1.0/255.255.255.0"), ("semisync_option_file", "/etc/my.cnf.d/zz our.cnf"),
    ("semisync_canary_schema", "Kanäle"), ("semisync_run", "2026-01-31T235959.123456Z"),
])
def test_what_people_write_is_accepted(name, value):
    assert judged(name, value) == ""


@pytest.mark.parametrize("name,value", [
    ("semisync_option_file", "my.cnf"), ("semisync_option_file", "/etc/mysql/"), ("semisync_canary_schema", "MySQL"),
    ("semisync_canary_schema", "x" * 65), ("semisync_run", "../../etc"), ("semisync_login_unix_socket", "mysqld.sock"),
    ("semisync_bind_address", "127.0.0.1\nskip_grant_tables"), ("semisync_address", "db1; id"),
    ("semisync_service", "mysql.service; reboot"), ("semisync_replication_user", "x" * 33),
])
def test_what_cannot_work_is_refused(name, value):
    assert judged(name, value).startswith("%s is " % name)


def test_a_template_that_cannot_be_read_names_its_variable():
    class Values(dict):
        def __getitem__(self, name):
            raise ValueError("unexpected\nend of template")
    (words,) = inputs.of_host(Values(semisync_timeout="{{ x"), SPECS)
    assert words.startswith("semisync_timeout cannot be read: unexpected end of template")


def test_variables_that_are_not_ours_are_nobodys_business():
    assert inputs.of_host({"mysql_timeout": "x", "semisync_unknown": "\n"}, SPECS) == []
