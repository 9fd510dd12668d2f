"""P3, P4 and P5: both sides are semi-synchronous, by plugin, option file, variable and status."""

import pytest

from support.scenario import EPHEMERAL

OURS = "zz-dbre-semisync.cnf"


OTHER = {"source": "replica", "replica": "source"}


@pytest.mark.parametrize("side", OTHER)
def test_the_plugin_is_active(server, words, side):
    if not words["plugins"]:
        pytest.skip("semi-sync is built in")
    name = f"rpl_semi_sync_{words[side]}"
    assert (
        server.value(
            f"SELECT PLUGIN_STATUS FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{name}'"
        )
        == "ACTIVE"
    )


def test_the_option_files_switch_it_on(server, words):
    options = server.start_options()
    assert options[f"rpl_semi_sync_{words[server.role]}_enabled"] in ("1", "ON")
    assert options[f"rpl_semi_sync_{words[OTHER[server.role]]}_enabled"] in ("0", "OFF")


def test_the_variable_is_on(server):
    assert server.semisync("enabled") == "ON"


def test_the_status_is_on(server):
    assert server.status("status") == "ON"


def test_the_source_waits_as_configured(source, variables):
    assert source.semisync("timeout") == str(variables["semisync_timeout"])
    assert source.semisync("wait_point") == "AFTER_SYNC"
    assert (
        source.variable(f"rpl_semi_sync_{source.words['source']}_wait_no_{source.words['replica']}")
        == "ON"
    )


def test_the_source_counts_its_replica(source):
    assert source.status("clients") == "1"


def test_a_row_is_acknowledged(source):
    before = [int(source.status(name)) for name in ("yes_tx", "no_tx")]
    source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")
    after = [int(source.status(name)) for name in ("yes_tx", "no_tx")]
    assert [after[0] - before[0], after[1] - before[1]] == [1, 0]


def test_the_other_side_is_ready_and_stays_off(server, variables):
    assert server.semisync("enabled", OTHER[server.role]) == "OFF"
    assert server.semisync("timeout", "source") == str(variables["semisync_timeout"])
    assert server.semisync("wait_point", "source") == "AFTER_SYNC"


def test_our_file_is_the_only_new_one_and_the_rest_is_as_packaged(server):
    packaged = (EPHEMERAL / f"packaged-{server.name}").read_text(encoding="utf-8").splitlines()
    now = server.host.run(
        "find /etc/mysql /etc/my.cnf /etc/my.cnf.d -type f -exec sha256sum {} ';'"
    ).stdout.splitlines()
    assert set(packaged) <= set(now)
    new = sorted(line.split(maxsplit=1)[1] for line in set(now) - set(packaged))
    assert [path.rpartition("/")[2] for path in new] == [OURS]
    ours = server.host.file(new[0])
    assert (ours.user, ours.group, ours.mode) == ("root", "root", 0o644)
