"""Values that break careless quoting work literally, or are refused by their variable's name, on
real servers.
"""

import json

import pytest
import yaml

from support.live_hosts import hosts, inventory, playbook, words

HOSTILE = 'it\'s "q\\uoted" `x`; DROP DATABASE mysql; -- {{ 7 * 7 }} é日'


class Unsafe(str):
    """Text that Ansible must not take for a template."""


yaml.SafeDumper.add_representer(
    Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"')
)


@pytest.fixture(scope="module")
def pair():
    yield from hosts(("source", "mariadb", "12"), ("replica", "mariadb", "12"), turn="live-input")


def given(folder, source, replica, **variables):
    """An inventory in YAML, which can say !unsafe."""
    file = inventory(folder, {source: {}}, {replica: {}})
    content = json.loads(file.read_text())
    content["all"]["vars"].update(
        (name, Unsafe(value) if isinstance(value, str) and value else value)
        for name, value in variables.items()
    )
    target = folder / "hosts.yml"
    target.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return target


def test_all_that_is_wrong_is_named_at_once_and_nothing_is_touched(pair, tmp_path):
    source, replica = pair
    wrong = {
        "semisync_timeout": HOSTILE,
        "semisync_wait_point": HOSTILE,
        "semisync_server_id": -1,
        "semisync_option_file": HOSTILE,
        "semisync_address": HOSTILE,
        "semisync_bind_address": HOSTILE,
        "semisync_service": HOSTILE,
        "semisync_run": HOSTILE,
        "semisync_replication_user_host": HOSTILE,
        "semisync_login_unix_socket": HOSTILE,
        "semisync_login_host": HOSTILE,
        "semisync_replication_ssl": "",
        "semisync_restart_timeout": 0,
        "semisync_channel_timeout": "",
        "semisync_canary_keep": -5,
        "semisync_canary_schema": "mysql",
        "semisync_replication_user": "a\nb",
    }
    before = [host.fingerprint() for host in pair]
    for name in ("site", "verify", "remove"):
        result = playbook(name, given(tmp_path, source, replica, **wrong))
        said = words(result)
        assert result.returncode != 0 and "Nothing was changed" in said
        for variable in wrong:
            assert f"{source.name}: {variable} is " in said, variable
        assert "argument_spec:" not in said
    assert [host.fingerprint() for host in pair] == before


def test_a_template_that_cannot_be_read_is_named(pair, tmp_path):
    source, replica = pair
    file = inventory(tmp_path, {source: {}}, {replica: {"semisync_timeout": "{{ nobody knows"}})
    result = playbook("site", file)
    assert result.returncode != 0 and f"{replica.name}: semisync_timeout cannot be read" in words(
        result
    )


def test_hostile_text_works_literally(pair, tmp_path):
    source, replica = pair
    folder = tmp_path / "re sults é'\"{"
    file = given(
        tmp_path,
        source,
        replica,
        semisync_cluster=HOSTILE,
        semisync_canary_schema=HOSTILE,
        semisync_canary_table=HOSTILE,
        semisync_replication_user="r'e\"p\\l`; DROP -- {{é",
        semisync_results_dir=str(folder),
    )
    result = playbook("site", file)
    assert result.returncode == 0, result.stdout
    schemas = "SET NAMES utf8mb4; SELECT SCHEMA_NAME FROM information_schema.SCHEMATA"
    for host in pair:
        assert HOSTILE in host.sql(schemas, form="--raw").stdout.splitlines()
    assert (
        source.sql("SET NAMES utf8mb4; SELECT User FROM mysql.user", form="--raw").stdout.count(
            "r'e\"p\\l`; DROP -- {{é"
        )
        == 1
    )
    assert len(list(folder.glob("*/latest/checkpoints.json"))) == 1
