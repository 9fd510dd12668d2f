# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import donor
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


def test_the_donor_account_has_one_privilege_and_is_dropped():
    statements = donor.donor_statements({}, "10.0.0.2", "secret", "required")
    assert statements[0][0].startswith("INSTALL PLUGIN clone")
    assert [one for one, dummy in statements if one.startswith("GRANT")] == [
        "GRANT BACKUP_ADMIN ON *.* TO 'dbre_semisync_seed'@'10.0.0.2'"
    ]
    assert not any("secret" in one for one, dummy in statements)
    assert donor.end_statements(["10.0.0.2", "%"], True) == [
        ("DROP USER IF EXISTS 'dbre_semisync_seed'@'10.0.0.2'", None),
        ("DROP USER IF EXISTS 'dbre_semisync_seed'@'%'", None),
        ("UNINSTALL PLUGIN clone", None),
    ]


def test_the_donor_account_stays_out_of_the_binary_log_and_so_on_its_source():
    ran = [one for one, dummy in donor.donor_statements({}, "%", "p", "any")]
    off = ran.index("SET SESSION sql_log_bin = 0")
    assert off < min(place for place, one in enumerate(ran) if "dbre_semisync_seed" in one)


@pytest.mark.parametrize("tls,needs", [("required", "SSL"), ("any", "NONE"), ("disabled", "NONE")])
def test_the_donor_account_must_use_tls_if_its_source_has_it(tls, needs):
    ran = [one for one, dummy in donor.donor_statements({}, "%", "p", tls)]
    assert [one.endswith(f"REQUIRE {needs}") for one in ran if one.startswith("ALTER")] == [True]
    assert "'dbre_semisync_seed'@'%%'" in ran[2]


@pytest.mark.parametrize(
    "number,said,expected",
    [
        (1045, "Access denied for user 'dbre_semisync_seed'@'10.0.0.2' (using", "10.0.0.2"),
        (1045, "Access denied for user 'dbre_semisync_seed'@'fd99::2' (using", "fd99::2"),
        (1045, "Access denied for user 'dbre_semisync_seed'@'db2.example.com'", "db2.example.com"),
        (1045, "Access denied for user 'dbre_semisync_seed'@'%' (using", ""),
        (1045, "Access denied", ""),
        (2003, "Can't connect 'dbre_semisync_seed'@'10.0.0.2'", ""),
        (None, "", ""),
    ],
)
def test_the_source_says_as_which_host_it_sees_the_replica(monkeypatch, number, said, expected):
    asked = []

    def connect_to(*words):
        asked.append(words)
        if number:
            raise ServerError(Exception(number, said))

    monkeypatch.setattr(donor.login, "connect_to", connect_to)
    assert donor.seen_as({"source_host": "db1", "source_port": 3306}) == expected
    assert asked[0][:4] == ("db1", 3306, "dbre_semisync_seed", "")


GONE = "GRANT SELECT ON `shop`.`gone` TO `app`@`%`"


class Source:
    """A MySQL source on port 3307 with one MyISAM table, if asked for, and an account that may read
    a table which is gone.
    """

    def __init__(self, plugins=(), unfit=()):
        self.loaded, self.unfit, self.ran = plugins, unfit, []

    def rows(self, statement, arguments=None):
        if statement.startswith("SELECT COUNT"):
            return [{"tables": 7, "bytes": 4200}]
        if "ENGINE <> 'InnoDB'" in statement:
            return [{"name": name} for name in self.unfit]
        if "information_schema.PLUGINS" in statement:
            return [{"name": name, "dl": f"{name}.so"} for name in self.loaded]
        if "@@GLOBAL.port" in statement:
            return [{"port": 3307}]
        if statement.startswith("SELECT * FROM mysql.user"):
            return [{"User": "app", "Host": "%"}]
        if statement.startswith("SHOW CREATE USER"):
            return [{"CREATE USER": "CREATE USER `app`@`%`"}]
        if statement.startswith("SHOW GRANTS"):
            return [{"Grants": GONE}]
        if statement.startswith("SELECT Host AS host FROM mysql.user"):
            return [{"host": b"10.0.0.2"}]
        if statement.startswith(("SET SESSION", "SELECT 1")):
            return []
        self.ran.append(statement)
        return []

    def schemas(self):
        return ["shop"]


class Module:
    def __init__(self, check_mode=False, **params):
        self.check_mode, self.warnings = check_mode, []
        self.params = dict({"password": "p", "tls": "any", "donor_host": ""}, **params)

    def warn(self, words):
        self.warnings.append(words)


@pytest.fixture(autouse=True)
def notes(tmp_path, monkeypatch):
    """Where a source notes that the clone plugin was installed for a seeding."""
    monkeypatch.setattr(donor.marker_writing.Donor.__init__, "__defaults__", (str(tmp_path),))
    return tmp_path


def test_a_source_says_what_there_is_and_lets_a_clone_in(notes):
    source = Source()
    result = donor.prepare(Module(method="clone"), source, None)
    assert (result["bytes"], result["tables"], result["schemas"]) == (4200, 7, ["shop"])
    assert result["installed"] and result["changed"]
    assert [statement.split()[0] for statement in source.ran] == [
        "INSTALL",
        "CREATE",
        "ALTER",
        "GRANT",
    ]
    assert [path.name for path in notes.iterdir()] == ["donor-3307"]


@pytest.mark.parametrize("method,check_mode", [("dump", False), ("backup", False), ("clone", True)])
def test_a_source_is_only_asked_for_other_methods_and_in_check_mode(method, check_mode, notes):
    source = Source()
    result = donor.prepare(Module(check_mode, method=method), source, Names("mysql", (9, 7, 0)))
    assert source.ran == [] and list(notes.iterdir()) == []
    assert result["changed"] is check_mode


@pytest.mark.parametrize("method", ["dump", "backup"])
def test_what_a_dump_leaves_out_is_said_before_it_is_made(method):
    module = Module(method=method)
    result = donor.prepare(module, Source(), Names("mysql", (9, 7, 0)))
    assert result.get("left_out", []) == [GONE] * (method == "dump")
    assert [words for words in module.warnings if GONE in words] == module.warnings
    assert len(module.warnings) == (method == "dump")


def test_a_source_with_tables_that_cannot_be_copied_faithfully_is_refused():
    source = Source(unfit=["shop.old"])
    with pytest.raises(ValueError, match=r"the source has tables that are not InnoDB: shop\.old"):
        donor.prepare(Module(method="clone"), source, None)
    assert source.ran == []


@pytest.mark.parametrize("ours", [True, False])
def test_only_a_plugin_of_ours_goes_with_the_account(ours, notes):
    source = Source(plugins=["clone"])
    if ours:
        donor.note(source).write()
    assert donor.clear(Module(method="clone"), source, None) == {"changed": True}
    assert [statement.split()[0] for statement in source.ran] == ["DROP"] + ["UNINSTALL"] * ours
    assert list(notes.iterdir()) == []


def test_a_dump_leaves_nothing_to_clear():
    source = Source()
    assert donor.clear(Module(method="dump"), source, None) == {"changed": False}
    assert source.ran == []
