# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import setting_keys, settings

SPECS = settings.public_variables()
TABLE = settings.TABLE
NUMBERS = sorted(name for name, row in TABLE.items() if row.type in ("int", "float"))
TEXTS = sorted(name for name, row in TABLE.items() if row.type == "str")
HOSTILE = (
    "a'b",
    'a"b',
    "a\\b",
    "a`b",
    "x'; DROP DATABASE mysql; -- ",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "Zürich日本",
    "$(id)",
    "-e",
    "../../etc",
    "a b",
)
ANY_FORM = TABLE["semisync_login_user"].form
LINES = ("a\nb", "a\rb", "a\x00b", "a\tb")
# Texts that reach the server as parameters, and files and folders of any name: what they hold works
# literally. The live test of bad input shows it for those in its table; the others end as a wrong
# login or a missing file that is named.
LITERAL = (
    "semisync_cluster",
    "semisync_suite",
    "semisync_login_user",
    "semisync_login_password",
    "semisync_results_dir",
    "semisync_canary_schema",
    "semisync_canary_table",
    "semisync_replication_user",
    "semisync_replication_password",
)


def judged(name, value):
    return settings.problem(name, value)


def test_every_public_variable_has_a_row_and_every_row_a_variable():
    # Its default, its spec and its line in the role's README are compared by check_roles.py.
    assert sorted(set(SPECS) - set(TABLE)) == [], "no row in plugin_utils/_common/setting_rows.py"
    assert sorted(set(TABLE) - set(SPECS)) == [], "no argument spec in roles/*/meta"


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_row_says_what_the_argument_spec_says(name):
    row, spec = TABLE[name], SPECS[name]
    assert (row.type, list(row.choices), row.secret) == (
        spec["type"],
        spec.get("choices", []),
        spec.get("no_log", False),
    )


def test_decisions_have_one_name_for_each_variable():
    assert len(settings.KEYS) == len(TABLE) == len(settings.ROWS)
    assert settings.KEYS["timeout_ms"].name == "semisync_timeout"


def test_a_variable_that_nobody_has_set_has_its_roles_default():
    assert settings.Settings()["timeout_ms"] == SPECS["semisync_timeout"]["default"]
    assert "timeout_ms" not in settings.Settings()


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_default_is_accepted(name):
    assert judged(name, SPECS[name]["default"]) == ""


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}])
def test_a_value_of_no_type_is_refused_by_name(name, value):
    if type(value).__name__ != SPECS[name]["type"]:
        assert judged(name, value).startswith(name + " ")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "value",
    [
        "",
        "abc",
        "1; DROP",
        "{{ 1 }}",
        "\N{ARABIC-INDIC DIGIT ONE}\N{ARABIC-INDIC DIGIT TWO}x",
        True,
        -1,
        4294967296 * 4,
        "nan",
        "inf",
        "1e99",
    ],
)
def test_a_number_that_is_none_or_out_of_range_is_refused_by_name(name, value):
    assert judged(name, value).startswith(f"{name} is ")


@pytest.mark.parametrize("name", NUMBERS)
def test_the_ends_of_a_range_work_and_what_is_beyond_does_not(name):
    low, high = TABLE[name].least, TABLE[name].most
    assert judged(name, low) == judged(name, high) == judged(name, str(high)) == ""
    assert judged(name, high + 1) and (judged(name, low - 1))


@pytest.mark.parametrize(
    "name", sorted(name for name, spec in SPECS.items() if spec["type"] == "bool")
)
@pytest.mark.parametrize("value", ["", "perhaps", 2, "yes; DROP"])
def test_a_switch_that_is_neither_on_nor_off_is_refused_by_name(name, value):
    assert judged(name, value).startswith(f"{name} is ")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", LINES)
def test_control_characters_are_refused_by_name(name, value):
    assert judged(name, value).startswith(f"{name} is ")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_text_is_refused_by_name_or_works_literally(name, value):
    words = judged(name, value)
    if TABLE[name].form != ANY_FORM or TABLE[name].choices:
        # A value of one of these forms cannot leave a quotation; systemd escapes a unit's name with
        # backslashes.
        assert (
            words.startswith(f"{name} is ")
            or name in LITERAL
            or value[0] in "-."
            or "semisync_login" in name
            or (name, value) == ("semisync_service", "a\\b")
        )
    assert words == "" or words.startswith(f"{name} is ")


@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_text_is_a_default_or_refused_by_name(name):
    words = judged(name, "")
    assert words == "" or words.startswith(f"{name} is ")
    assert (
        words
        or SPECS[name]["default"] == ""
        or name in ("semisync_login_config_file", "semisync_bind_address")
    )


def test_a_secret_is_never_shown():
    for name in ("semisync_replication_password", "semisync_login_password"):
        assert "geheim" not in judged(name, "geheim\nx") and judged(name, "geheim\nx")


@pytest.mark.parametrize(
    "name,value",
    [
        ("semisync_address", "db1.example.com"),
        ("semisync_address", "10.0.0.1"),
        ("semisync_address", "fe80::1%eth0"),
        ("semisync_bind_address", "10.0.0.1,::1"),
        ("semisync_bind_address", "*"),
        ("semisync_service", "mysqld@1"),
        ("semisync_service", "mysqld@my-db_1.service"),
        ("semisync_replication_user_host", "10.0.%"),
        ("semisync_replication_user_host", "192.168.1.0/255.255.255.0"),
        ("semisync_option_file", "/etc/my.cnf.d/zz our.cnf"),
        ("semisync_canary_schema", "Kanäle"),
        ("semisync_run", "2026-01-31T235959.123456Z"),
        ("semisync_upgrade_to", "8.0.45"),
        ("semisync_upgrade_to", 10.11),
    ],
)
def test_what_people_write_is_accepted(name, value):
    assert judged(name, value) == ""


@pytest.mark.parametrize(
    "name,value",
    [
        ("semisync_option_file", "my.cnf"),
        ("semisync_option_file", "/etc/mysql/"),
        ("semisync_canary_schema", "MySQL"),
        ("semisync_canary_schema", "x" * 65),
        ("semisync_run", "../../etc"),
        ("semisync_upgrade_to", "11"),
        ("semisync_upgrade_to", "11.08"),
        ("semisync_upgrade_to", "8.4."),
        ("semisync_upgrade_to", "8.0.45-36"),
        ("semisync_upgrade_to", "latest"),
        ("semisync_login_unix_socket", "mysqld.sock"),
        ("semisync_bind_address", "127.0.0.1\nskip_grant_tables"),
        ("semisync_address", "db1; id"),
        ("semisync_service", "mysql.service; reboot"),
        ("semisync_replication_user", "x" * 33),
    ],
)
def test_what_cannot_work_is_refused(name, value):
    assert judged(name, value).startswith(f"{name} is ")


def test_a_template_that_cannot_be_read_names_its_variable():
    class Values(dict):
        def __getitem__(self, name):
            raise ValueError("unexpected\nend of template")

    (words,) = settings.read(Values(semisync_timeout="{{ x"))[1]
    assert words.startswith("semisync_timeout cannot be read: unexpected end of template")


def test_variables_that_are_not_ours_are_nobodys_business():
    assert settings.read({"mysql_timeout": "x", "semisync_unknown": "\n"}) == ({}, [])


def test_values_have_their_types_whatever_they_were_written_as():
    given = {"semisync_timeout": "500", "semisync_wait_no_replica": "no", "semisync_cluster": 7}
    assert settings.read(given) == (
        {"timeout_ms": 500, "wait_no_replica": False, "cluster": "7"},
        [],
    )


@pytest.mark.parametrize(
    "own,mine,theirs,expected",
    [
        # A role's default, and another host that has none of its own.
        (10000, {}, {}, 10000),
        # The inventory's values, each host's own.
        (10000, {}, {"timeout_ms": 500}, 500),
        (500, {"timeout_ms": 500}, {"timeout_ms": 700}, 700),
        (500, {"timeout_ms": 500}, {}, None),
        # What stands above the inventory holds for all.
        (900, {"timeout_ms": 500}, {"timeout_ms": 700}, 900),
    ],
)
def test_what_is_wanted_of_another_host(own, mine, theirs, expected):
    found = settings.of_another_host(settings.Settings(timeout_ms=own), mine, theirs)
    assert found.get("timeout_ms") == expected


@pytest.mark.parametrize(
    "change,words",
    [
        (
            {"semisync_timeout": 0},
            "semisync_timeout is 0; it must be 1 to 4294967295 (milliseconds)",
        ),
        ({"semisync_timeout": -5}, "semisync_timeout is -5"),
        ({"semisync_timeout": 4294967296}, "semisync_timeout is 4294967296"),
        ({"semisync_trace_level": -1}, "semisync_trace_level is -1"),
        ({"semisync_wait_for_replica_count": 0}, "semisync_wait_for_replica_count is 0"),
        (
            {"semisync_wait_point": "AFTER_LUNCH"},
            "semisync_wait_point is 'AFTER_LUNCH'; it must be AFTER_SYNC or AFTER_COMMIT",
        ),
        ({"semisync_sync_binlog": -1}, "semisync_sync_binlog is -1"),
        (
            {"semisync_innodb_flush_log_at_trx_commit": 3},
            "semisync_innodb_flush_log_at_trx_commit is 3",
        ),
        ({"semisync_replication_connect_retry": 0}, "semisync_replication_connect_retry is 0"),
        (
            {"semisync_replication_connect_retry": 86401},
            "semisync_replication_connect_retry is 86401",
        ),
        ({"semisync_wait_for_replica_count": 65536}, "semisync_wait_for_replica_count is 65536"),
        (
            {"semisync_innodb_flush_log_at_trx_commit": -1},
            "semisync_innodb_flush_log_at_trx_commit is -1",
        ),
        ({"semisync_replication_user": ""}, "semisync_replication_user is ''"),
        ({"semisync_replication_user_host": ""}, "semisync_replication_user_host is ''"),
        (
            {"semisync_bind_address": "*\nskip_grant_tables"},
            "semisync_bind_address is '*\\nskip_grant_tables'",
        ),
        ({"semisync_bind_address": "10.0.0.1, ::1"}, "semisync_bind_address"),
    ],
)
def test_a_value_that_no_server_takes(change, words):
    (found,) = settings.read(change)[1]
    assert words in found


@pytest.mark.parametrize(
    "change",
    [
        {"semisync_timeout": 1},
        {"semisync_timeout": 4294967295},
        {"semisync_wait_for_replica_count": 65535},
        {"semisync_trace_level": 0},
        {"semisync_sync_binlog": 0},
        {"semisync_innodb_flush_log_at_trx_commit": 0},
        {"semisync_innodb_flush_log_at_trx_commit": 2},
        {"semisync_replication_connect_retry": 86400},
        {"semisync_wait_point": "AFTER_COMMIT"},
        {"semisync_bind_address": ""},
        {"semisync_bind_address": "10.0.0.1,::1"},
        {"semisync_replication_password": ""},
    ],
)
def test_every_value_that_servers_take_is_taken(change):
    assert settings.read(change)[1] == []


def test_every_bad_value_is_said_at_once():
    bad = {"semisync_timeout": 0, "semisync_sync_binlog": -1, "semisync_replication_user": ""}
    assert len(settings.read(bad)[1]) == 3


@pytest.mark.parametrize(
    "text,words",
    [
        ("- name: Tell the router\n  ansible.builtin.debug:\n    msg: !unsafe '{{ x }}'\n", ""),
        (None, "(No such file or directory)"),
        ("", "a list"),
        ("[]\n", "a list"),
        ("- just words\n", "a list"),
        ("name: one task\n", "a list"),
        ("- name: [\n", "a file of tasks ("),
        (b"- name: \xff\n", "a file of tasks ("),
    ],
)
@pytest.mark.parametrize("name", [row.name for row in settings.ROWS if row.tasks])
def test_a_hook_is_a_file_of_tasks_that_is_there(tmp_path, name, text, words):
    path = tmp_path / "hook.yml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = judged(name, str(path))
    assert found == "" if not words else (found.startswith(f"{name} is ") and words in found)


def test_a_hook_is_named_by_its_full_path():
    assert "full path" in judged("semisync_hook_fence", "hooks/fence.yml")


@pytest.mark.parametrize(
    "name,nearest",
    [
        ("semisync_timout", "semisync_timeout"),
        ("semisync_wait_for_slave_count", "semisync_wait_for_replica_count"),
        ("semisync_hook_affter_open", "semisync_hook_after_open"),
        ("semisync_x", "semisync_"),
    ],
)
def test_a_variable_that_is_none_is_named_with_the_nearest_that_is(name, nearest):
    (said,) = settings.unknown(["ansible_host", name, "semisync_timeout"])
    assert said.startswith(f"{name} is not a variable of this collection (nearest: {nearest}")
    assert "semisync_user_" in said


def test_what_is_ours_the_users_own_or_private_is_no_slip():
    fine = ["semisync_user_pager", "_semisync_changed", "__semisync_info", "semisync_baseline"]
    assert settings.unknown([*settings.TABLE, *settings.public_variables(), *fine, "semi"]) == []


@pytest.mark.parametrize(
    "values,named",
    [
        ({"semisync_timeout": 5, "ansible_facts": {"semisync_timeout": 5}}, ["semisync_timeout"]),
        ({"semisync_timeout": 5, "ansible_facts": {"semisync_timeout": 9}}, []),
        ({"semisync_timeout": 5, "ansible_facts": {"os_family": "Debian"}}, []),
        ({"ansible_facts": {"semisync_timeout": 9}}, []),
        ({"_semisync_x": 1, "ansible_facts": {"_semisync_x": 1}}, ["_semisync_x"]),
        ({"semisync_user_x": 1, "ansible_facts": {"semisync_user_x": 1}}, []),
        ({"ansible_facts": None}, []),
    ],
)
def test_a_variable_that_a_host_gave_itself_is_refused(values, named):
    said = settings.read(values)[1]
    assert [one.partition(" ")[0] for one in said] == named
    assert all("inject_facts_as_vars" in one for one in said)


@pytest.mark.parametrize(
    "kind,keys",
    [
        ("int", setting_keys.WholeKey),
        ("float", setting_keys.DecimalKey),
        ("bool", setting_keys.SwitchKey),
        ("str", setting_keys.TextKey),
        ("list", setting_keys.ListKey),
    ],
)
def test_mypy_knows_each_key_by_the_type_of_its_variable(kind, keys):
    assert set(typing.get_args(keys)) == {row.key for row in settings.ROWS if row.type == kind}


def test_a_key_that_no_variable_has_is_named():
    with pytest.raises(KeyError, match="no variable of this collection has the key timeout_s"):
        settings.Settings()["timeout_s"]
