# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.tests.unit import samples

# `mysqld --print-defaults` of Debian's MySQL 9.7.4, with site.yml's drop-in.
MYSQL_PRINTED = """/usr/sbin/mysqld would have been started with the following arguments:
--user=mysql --bind-address=127.0.0.1 --mysqlx-bind-address=127.0.0.1 --key_buffer_size=16M \
--myisam-recover-options=BACKUP --log_error=/var/log/mysql/error.log --max_binlog_size=100M \
--server_id=3226732337 --gtid_mode=ON --enforce_gtid_consistency=ON --log_replica_updates=ON \
--relay_log=mysql-relay-bin --bind_address=* --sync_binlog=1 --innodb_flush_log_at_trx_commit=1 \
--loose_rpl_semi_sync_source_enabled=1 --loose_rpl_semi_sync_source_timeout=10000 \
--loose_rpl_semi_sync_source_wait_point=AFTER_SYNC \
--loose_rpl_semi_sync_source_wait_for_replica_count=1 \
--loose_rpl_semi_sync_source_wait_no_replica=1 --loose_rpl_semi_sync_source_trace_level=32 \n"""
# The same of Debian's MariaDB 10.11.19, bare.
MARIADB_PRINTED = """mariadbd would have been started with the following arguments:
--socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --basedir=/usr \
--bind-address=127.0.0.1 --expire_logs_days=10 --character-set-server=utf8mb4 \
--collation-server=utf8mb4_general_ci \n"""

# The end of `my_print_defaults --help`.
HELP = """  -v, --verbose       Increase the output level
  -V, --version       Output version information and exit.

Default options are read from the following files in the given order:
/etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf \n"""

DEBIAN_MYSQL = (
    "#\n# The MySQL database server configuration file.\n#\n\n"
    "!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mysql.conf.d/\n"
)
DEBIAN_MARIADB = (
    "# The MariaDB configuration file\n[client-server]\n# port = 3306\nsocket ="
    " /run/mysqld/mysqld.sock\n\n!includedir /etc/mysql/conf.d/\n!includedir"
    " /etc/mysql/mariadb.conf.d/\n"
)
RHEL = (
    "[client-server]\n\n#\n# include all files from the config directory\n#\n!includedir"
    " /etc/my.cnf.d\n"
)
ORACLE = (
    "# For advice on how to change settings please see the"
    " manual\n[mysqld]\ndatadir=/var/lib/mysql\n"
)


@pytest.mark.parametrize(
    "option,name",
    [
        ("rpl_semi_sync_source_enabled", "rpl_semi_sync_source_enabled"),
        ("--rpl-semi-sync-source-enabled", "rpl_semi_sync_source_enabled"),
        ("--loose-rpl_semi_sync-source_enabled", "rpl_semi_sync_source_enabled"),
        ("loose_rpl_semi_sync_source_enabled", "rpl_semi_sync_source_enabled"),
        ("Server-ID", "server_id"),
        ("log-bin", "log_bin"),
    ],
)
def test_an_option_has_one_name_however_it_is_spelled(option, name):
    assert option_files.canonical_name(option) == name


@pytest.mark.parametrize(
    "one,other",
    [
        ("ON", 1),
        ("on", "1"),
        ("TRUE", True),
        ("yes", 1),
        ("OFF", 0),
        ("false", False),
        ("No", "0"),
        ("AFTER_SYNC", "after_sync"),
        ("10000", 10000),
        (" 32 ", 32),
        ("'mysql-bin'", "mysql-bin"),
        ('"1"', 1),
        ("", ""),
    ],
)
def test_spellings_of_one_value_are_the_same(one, other):
    assert values.same_value(one, other)


@pytest.mark.parametrize(
    "one,other",
    [
        ("ON", "OFF"),
        (1, 0),
        ("AFTER_SYNC", "AFTER_COMMIT"),
        (10000, 1000),
        (None, None),
        (None, "OFF"),
        ("", "0"),
        ("", None),
        (2, "ON"),
    ],
)
def test_different_and_unknown_values_are_not_the_same(one, other):
    assert not values.same_value(one, other)


def started_with(printed):
    """What counts of the options of `mysqld --print-defaults`."""
    return option_files.effective(option_files.print_defaults_pairs(printed))


@pytest.mark.parametrize(
    "option,value",
    [
        ("--skip-read-only", "OFF"),
        ("--skip_read_only", "OFF"),
        ("--disable-read-only", "OFF"),
        ("--disable_read_only=0", "ON"),
        ("--enable-read-only", "ON"),
        ("--enable-read-only=0", "OFF"),
        ("--read-only", ""),
    ],
)
def test_a_switch_may_be_given_with_a_prefix(option, value):
    printed = f"--read_only=1 {option}"
    assert started_with(printed) == {"read_only": value}
    words = ["/usr/sbin/mysqld", "--read-only=1", option]
    assert option_files.effective(option_files.command_line_pairs(words)) == {"read_only": value}


def test_a_plugin_that_is_skipped_is_not_loaded():
    printed = "--mysql_native_password=ON --skip-mysql-native-password"
    assert started_with(printed) == {"mysql_native_password": "OFF"}


def test_an_option_that_begins_like_a_prefix_keeps_its_name():
    printed = "--skip-networking --loose_skip_replica_start=ON --skip-name-resolve"
    assert started_with(printed) == {
        "skip_networking": "",
        "skip_replica_start": "ON",
        "skip_name_resolve": "",
    }


@pytest.mark.parametrize(
    "value,on",
    [("", True), ("ON", True), ("1", True), ("true", True), ("yes", False), ("2", False)],
)
def test_a_server_takes_what_it_does_not_recognize_for_off(value, on):
    # MySQL 8.0: "option 'read_only': boolean value 'yes' was not recognized. Set to OFF."
    assert option_files.is_on(value) is on


def test_printed_defaults_of_mysql():
    found = started_with(MYSQL_PRINTED)
    assert found["bind_address"] == "*"
    assert found["mysqlx_bind_address"] == "127.0.0.1"
    assert found["rpl_semi_sync_source_enabled"] == "1"
    assert found["rpl_semi_sync_source_wait_point"] == "AFTER_SYNC"
    assert len(found) == 20


def test_printed_defaults_of_mariadb():
    assert started_with(MARIADB_PRINTED) == {
        "socket": "/run/mysqld/mysqld.sock",
        "pid_file": "/run/mysqld/mysqld.pid",
        "basedir": "/usr",
        "bind_address": "127.0.0.1",
        "expire_logs_days": "10",
        "character_set_server": "utf8mb4",
        "collation_server": "utf8mb4_general_ci",
    }


@pytest.mark.parametrize(
    "printed,expected",
    [
        ("", {}),
        ("mysqld would have been started with the following arguments:\n", {}),
        ("x:\n--log_bin --server_id=1", {"log_bin": "", "server_id": "1"}),
        ("x:\n--skip-networking", {"skip_networking": ""}),
        ("x:\n--server_id=1 --server-id=2", {"server_id": "2"}),
        (
            "x:\n--init_connect=SET NAMES utf8; SET a=1 -- done --server_id=2",
            {"init_connect": "SET NAMES utf8; SET a=1 -- done", "server_id": "2"},
        ),
        ("x:\n--report_password=a=b --port=3306", {"report_password": "a=b", "port": "3306"}),
        ("x:\n--init_connect=a--b-c --port=3306", {"init_connect": "a--b-c", "port": "3306"}),
        ("x:\n--secure_file_priv= --port=3306", {"secure_file_priv": "", "port": "3306"}),
        ("x:\n--init_connect=one\ntwo --port=3306", {"init_connect": "one\ntwo", "port": "3306"}),
        (
            "x:\n--report_user=K\u00f6nig \U0001f511 --port=3306",
            {"report_user": "K\u00f6nig \U0001f511", "port": "3306"},
        ),
        (
            "x:\n--performance-schema-instrument=wait/lock%=ON --port=1",
            {"performance_schema_instrument": "wait/lock%=ON", "port": "1"},
        ),
    ],
)
def test_printed_defaults_with_hostile_values(printed, expected):
    assert started_with(printed) == expected


@pytest.mark.parametrize(
    "text,files",
    [
        (HELP, ["/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf"]),
        (
            "Default options are read from the following files in the given order:\n/etc/my.cnf\n",
            ["/etc/my.cnf"],
        ),
        ("unknown option --help", []),
        ("", []),
    ],
)
def test_the_files_a_program_reads(text, files):
    assert option_files.parse_default_files(text) == files


@pytest.mark.parametrize(
    "text,found",
    [
        (DEBIAN_MYSQL, [("dir", "/etc/mysql/conf.d"), ("dir", "/etc/mysql/mysql.conf.d")]),
        (
            "!include /etc/extra.cnf\n  !includedir  /a/b/\n",
            [("file", "/etc/extra.cnf"), ("dir", "/a/b")],
        ),
        ("# !includedir /etc/no\n;!include /no\n[mysqld]\nx = !includedir /no\n", []),
        ("!includedir /\n", [("dir", "/")]),
        ("!include\n[mysqld]\n", []),
        (ORACLE, []),
    ],
)
def test_includes_of_an_option_file(text, found):
    assert option_files.parse_includes(text) == found


MY, DEBIAN = "/etc/my.cnf", "/etc/mysql/my.cnf"
DROP_IN = "zz-dbre-semisync.cnf"


@pytest.mark.parametrize(
    "contents,directories,kind,path",
    [
        pytest.param(
            {DEBIAN: DEBIAN_MYSQL},
            ["/etc/mysql/conf.d", "/etc/mysql/mysql.conf.d"],
            "drop-in",
            "/etc/mysql/mysql.conf.d/" + DROP_IN,
            id="Debian MySQL",
        ),
        pytest.param(
            {DEBIAN: DEBIAN_MARIADB},
            ["/etc/mysql/conf.d", "/etc/mysql/mariadb.conf.d"],
            "drop-in",
            "/etc/mysql/mariadb.conf.d/" + DROP_IN,
            id="Debian MariaDB",
        ),
        pytest.param(
            {DEBIAN: DEBIAN_MYSQL},
            ["/etc/mysql/conf.d"],
            "drop-in",
            "/etc/mysql/conf.d/" + DROP_IN,
            id="the last include directory is missing",
        ),
        pytest.param(
            {DEBIAN: DEBIAN_MYSQL}, [], "block", DEBIAN, id="every include directory is missing"
        ),
        pytest.param(
            {MY: RHEL}, ["/etc/my.cnf.d"], "drop-in", "/etc/my.cnf.d/" + DROP_IN, id="RHEL"
        ),
        pytest.param(
            {MY: ORACLE}, ["/etc/my.cnf.d"], "block", MY, id="Oracle's RPM, without !includedir"
        ),
        pytest.param(
            {MY: ORACLE, DEBIAN: DEBIAN_MYSQL},
            ["/etc/mysql/mysql.conf.d"],
            "drop-in",
            "/etc/mysql/mysql.conf.d/" + DROP_IN,
            id="two files, the last with a directory",
        ),
        pytest.param(
            {MY: RHEL, DEBIAN: ORACLE},
            ["/etc/my.cnf.d"],
            "block",
            DEBIAN,
            id="two files, the last sets options itself",
        ),
        pytest.param(
            {MY: RHEL, DEBIAN: "# moved to /etc/my.cnf\n"},
            ["/etc/my.cnf.d"],
            "drop-in",
            "/etc/my.cnf.d/" + DROP_IN,
            id="two files, the last says nothing",
        ),
        pytest.param(
            {MY: "!include /etc/extra.cnf\n", "/etc/extra.cnf": RHEL},
            ["/etc/my.cnf.d"],
            "drop-in",
            "/etc/my.cnf.d/" + DROP_IN,
            id="a directory behind an included file",
        ),
        pytest.param(
            {MY: "!include /etc/my.cnf\n"}, [], "block", MY, id="a file that includes itself"
        ),
        pytest.param(
            {MY: "!includedir /etc/my.cnf.d\n[mysqld]\nserver_id = 1\n"},
            ["/etc/my.cnf.d"],
            "block",
            MY,
            id="options behind the include directory",
        ),
        pytest.param(
            {MY: "!includedir /etc/my.cnf.d\n[mysqldump]\nquick\n"},
            ["/etc/my.cnf.d"],
            "drop-in",
            "/etc/my.cnf.d/" + DROP_IN,
            id="another program's options behind the include directory",
        ),
        pytest.param({MY: ""}, [], "block", MY, id="an empty file"),
        pytest.param({}, [], "block", MY, id="no file at all"),
    ],
)
def test_our_lines_go_where_they_are_read_last(contents, directories, kind, path):
    found = option_files.choose_place([MY, DEBIAN], contents, directories.__contains__)
    assert (found["kind"], found["path"]) == (kind, path)


def test_without_any_list_of_files_the_common_one_is_used():
    assert option_files.choose_place([], {}, lambda path: False) == {
        "kind": "block",
        "path": "/etc/my.cnf",
    }


SECTIONS = [
    ("replication (P0)", [("server_id", 7), ("log_bin", "mysql-bin")]),
    ("nothing here", []),
    (
        "semi-sync",
        [
            ("loose_rpl_semi_sync_source_enabled", 1),
            ("loose_rpl_semi_sync_source_wait_point", "AFTER_SYNC"),
        ],
    ),
]


def test_our_lines_are_grouped_and_explained():
    assert (
        option_files.render(SECTIONS)
        == "[mysqld]\n# replication (P0)\nserver_id = 7\nlog_bin = mysql-bin\n#"
        " semi-sync\nloose_rpl_semi_sync_source_enabled ="
        " 1\nloose_rpl_semi_sync_source_wait_point = AFTER_SYNC\n"
    )


@pytest.mark.parametrize("head", ["", option_files.HEADER])
def test_our_lines_are_read_back_as_they_were_written(head):
    assert option_files.parse_ours(head + option_files.render(SECTIONS)) == {
        "server_id": "7",
        "log_bin": "mysql-bin",
        "rpl_semi_sync_source_enabled": "1",
        "rpl_semi_sync_source_wait_point": "AFTER_SYNC",
    }


def test_every_value_is_read_back_whatever_is_in_it():
    assert option_files.parse_ours(
        option_files.render([("x", [("bind_address", "10.0.0.1,::1"), ("a", "b = c # d")])])
    ) == {"bind_address": "10.0.0.1,::1", "a": "b = c # d"}


@pytest.mark.parametrize("text", [None, "", "[mysqld]\n", "# server_id = 1\n  # log_bin = x\n"])
def test_no_lines_of_ours_are_no_options(text):
    assert option_files.parse_ours(text) == {}


@pytest.mark.parametrize(
    "engine,role",
    [("mysql", "source"), ("mysql", "replica"), ("mariadb", "source"), ("mariadb", "replica")],
)
def test_the_server_reads_what_we_wrote(engine, role):
    files = samples.captured(engine, role)["option_files"]
    assert option_files.parse_ours(files["ours"]).items() <= files["options"].items()


BLOCK = "# BEGIN dbre.semisync\n%s# END dbre.semisync\n"


@pytest.mark.parametrize(
    "text,expected",
    [
        (ORACLE, None),
        ("", None),
        (ORACLE + BLOCK % "[mysqld]\nserver_id = 7\n", "[mysqld]\nserver_id = 7\n"),
        (BLOCK % "[mysqld]\n" + "[mysqldump]\nquick\n", "[mysqld]\n"),
        (BLOCK % "", ""),
        ("# BEGIN dbre.semisync\n[mysqld]\n", None),
        ("## BEGIN dbre.semisync\n[mysqld]\n## END dbre.semisync\n", None),
        ("# BEGIN dbre.semisync of mine\n[mysqld]\n# END dbre.semisync of mine\n", None),
        (
            "# BEGIN ANSIBLE MANAGED BLOCK\n[mysqld]\n# END ANSIBLE MANAGED BLOCK\n"
            + BLOCK % "a = 1\n",
            "a = 1\n",
        ),
    ],
)
def test_our_block_is_told_from_the_users_lines(text, expected):
    assert option_files.our_block(text) == expected


USERS = [
    pytest.param(ORACLE.encode(), id="Oracle's RPM"),
    pytest.param(
        b"[mysqld]\n# K\xf6nig in Latin-1\ndatadir=/srv/mysql\n\n\n# the end\n", id="Latin-1"
    ),
    pytest.param(b"[mysqld]\r\nport=3306\r\n", id="line ends of Windows"),
    pytest.param(b"\t[mysqld]\n  skip-name-resolve\n[mysqldump]\nquick\n", id="other groups"),
    pytest.param(b"", id="empty"),
]


@pytest.fixture(scope="module")
def blockinfile():
    """ansible.builtin.blockinfile with the marker of roles/server, run as Ansible runs modules."""
    pytest.importorskip("ansible.module_utils.testing")
    code = (
        "import json, sys\n"
        "from ansible.module_utils.testing import patch_module_args\n"
        "from ansible.modules import blockinfile\n"
        "for call in json.load(sys.stdin):\n"
        "    try:\n"
        "        with patch_module_args(call):\n"
        "            blockinfile.main()\n"
        "    except SystemExit:\n"
        "        pass\n"
    )

    from ansible.modules import blockinfile as module

    # As roles/server does where the module knows the option.
    more = {"encoding": "latin-1"} if "\n  encoding:" in module.DOCUMENTATION else {}

    def run(calls):
        calls = [dict(call, **more) for call in calls]
        environment = dict(
            os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path)
        )
        process = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(calls).encode(),
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        return [
            json.loads(line)["changed"] for line in process.stdout.decode().splitlines() if line
        ]

    return run


def test_a_users_file_stays_byte_for_byte(tmp_path, blockinfile):
    files = [tmp_path / f"{number}.cnf" for number in range(len(USERS))]
    texts = [param.values[0] for param in USERS]
    ours = [
        option_files.render(SECTIONS),
        option_files.render(SECTIONS[:1]),
        option_files.render(SECTIONS[:1]),
    ]
    calls = []
    for path, text in zip(files, texts, strict=False):
        path.write_bytes(text)
        calls += [
            {"path": str(path), "marker": "# {mark} dbre.semisync", "create": True, "block": block}
            for block in ours
        ]
    assert blockinfile(calls) == [True, True, False] * len(files)
    for path, text in zip(files, texts, strict=False):
        assert path.read_bytes() == text + (BLOCK % ours[-1]).encode()
        assert option_files.our_block(path.read_bytes().decode("utf-8", "replace")) == ours[-1]
    assert blockinfile(
        [{"path": str(path), "marker": "# {mark} dbre.semisync", "block": ""} for path in files]
    ) == [True] * len(files)
    assert [path.read_bytes() for path in files] == texts


@pytest.mark.parametrize(
    "pairs,ours,rest",
    [
        ([("a", "1"), ("b", "2")], None, {"a": "1", "b": "2"}),
        ([("a", "1"), ("a", "2")], "[mysqld]\na = 2\n", {"a": "1"}),
        ([("a", "2"), ("a", "2")], "[mysqld]\na = 2\n", {"a": "2"}),
        ([("a", "2"), ("a", "3")], "[mysqld]\na = 2\n", {"a": "3"}),
        ([("rpl_semi_sync_source_enabled", "1")], "loose_rpl_semi_sync_source_enabled = 1\n", {}),
        # Written, and not read by the server: another file's value is the one that counts.
        ([("a", "7")], "a = 2\n", {"a": "7"}),
    ],
)
def test_what_others_set_is_told_from_what_we_set(pairs, ours, rest):
    assert option_files.without_ours(pairs, ours) == rest


@pytest.mark.parametrize(
    "path,kind,left",
    [
        ("/etc/my.cnf.d/zz-dbre-semisync.cnf", "drop-in", "/etc/my.cnf.d/zz-replication.cnf"),
        ("/etc/my.cnf", "drop-in", "/etc/my.cnf"),
        ("/etc/my.cnf", "block", "/etc/my.cnf"),
    ],
)
def test_lines_that_stay_are_read_by_the_server_as_ours_were(path, kind, left):
    assert option_files.left_behind_path(path, kind) == left


@pytest.mark.parametrize(
    "suffix,drop_in,marker,group",
    [
        ("", "zz-dbre-semisync.cnf", "dbre.semisync", "mysqld"),
        ("@1", "zz-dbre-semisync@1.cnf", "dbre.semisync@1", "mysqld@1"),
        (" x/../", "zz-dbre-semisync_x_.._.cnf", "dbre.semisync_x_.._", None),
    ],
)
def test_servers_that_share_a_host_have_lines_of_their_own(suffix, drop_in, marker, group):
    contents = {"/etc/my.cnf": "[mysqld@1]\nport=3307\n!includedir /etc/my.cnf.d\n"}
    place = option_files.choose_place(
        ["/etc/my.cnf"], contents, {"/etc/my.cnf.d"}.__contains__, suffix
    )
    assert place == {"kind": "drop-in", "path": "/etc/my.cnf.d/" + drop_in}
    assert option_files.left_behind_path(place["path"], "drop-in", suffix) == place["path"].replace(
        "dbre-semisync", "replication"
    )
    assert option_files.own_name(option_files.MARKER, suffix) == marker
    if group:
        assert option_files.render([("why", [("a", 1)])], group) == f"[{group}]\n# why\na = 1\n"


def test_options_of_one_of_several_servers_behind_the_includes_are_seen():
    text = "[mysqld]\nuser=mysql\n!includedir /etc/my.cnf.d\n[mysqld@1]\nport=3307\n"
    place = option_files.choose_place(
        ["/etc/my.cnf"], {"/etc/my.cnf": text}, {"/etc/my.cnf.d"}.__contains__, "@1"
    )
    assert place == {"kind": "block", "path": "/etc/my.cnf"}


def test_blocks_of_two_servers_in_one_file_are_told_apart():
    text = (
        "# BEGIN dbre.semisync\n[mysqld]\n# END dbre.semisync\n# BEGIN"
        " dbre.semisync@1\n[mysqld@1]\n# END dbre.semisync@1\n"
    )
    assert option_files.our_block(text) == "[mysqld]\n"
    assert option_files.our_block(text, "dbre.semisync@1") == "[mysqld@1]\n"
    assert option_files.our_block(text, "dbre.semisync@2") is None


@pytest.mark.parametrize(
    "words,pairs",
    [
        (["/usr/sbin/mysqld"], []),
        (["mysqld", "--server-id=7", "--user=mysql"], [("server_id", "7"), ("user", "mysql")]),
        (["mysqld", "--server_id", "7", "--log-bin"], [("server_id", "7"), ("log_bin", "")]),
        (
            ["mysqld", "--loose-rpl-semi-sync-source-enabled=1"],
            [("rpl_semi_sync_source_enabled", "1")],
        ),
        (["mysqld", "--log-bin", "--port=1", "-uroot"], [("log_bin", ""), ("port", "1")]),
        (["valgrind", "-q", "mysqld", "--", "--=x"], []),
    ],
)
def test_a_command_line_has_options_of_its_own(words, pairs):
    assert option_files.command_line_pairs(words) == pairs
