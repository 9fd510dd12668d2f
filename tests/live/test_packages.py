"""Hosts without PyMySQL: site.yml installs its package, says so before, or leaves it to others."""

import pytest

from support.live_hosts import hosts, inventory, playbook, words

PACKAGE = "python3-pymysql"


@pytest.fixture(scope="module")
def pair():
    for source, replica in hosts(
        ("source", "mariadb", "12"), ("replica", "mariadb", "12"), turn="live-packages"
    ):
        for host in (source, replica):
            host.shell("dpkg --purge " + PACKAGE)
        yield source, replica


def installed(host):
    return (
        host.shell("dpkg-query --show --showformat '${Status}' " + PACKAGE, check=False).stdout
        == "install ok installed"
    )


@pytest.mark.parametrize(
    "arguments,variables,reason",
    [
        (
            ("--check", "--diff"),
            {},
            "Without --check the package python3-pymysql is installed first",
        ),
        ((), {"semisync_install_pymysql": False}, "semisync_install_pymysql is false."),
        (
            (),
            {"semisync_install_pymysql": "perhaps"},
            "semisync_install_pymysql is 'perhaps'; it must be true or false",
        ),
    ],
    ids=["check", "off", "nonsense"],
)
def test_nothing_is_installed_that_nobody_wanted(pair, tmp_path, arguments, variables, reason):
    before = [host.fingerprint() for host in pair]
    result = playbook(
        "site", inventory(tmp_path, {pair[0]: {}}, {pair[1]: {}}, **variables), *arguments
    )
    assert result.returncode != 0 and reason in words(result), result.stdout
    assert ("python3-pymysql would be installed" in words(result)) == ("--check" in arguments)
    assert [host.fingerprint() for host in pair] == before and not any(map(installed, pair))


@pytest.mark.long
def test_the_package_is_installed_and_a_second_run_changes_nothing(pair, tmp_path):
    """The replica's list of packages is empty, as on a host without updates for long."""
    pair[1].shell(
        "apt-get -qq update && apt-get -qq install -y --no-install-recommends python3-apt && rm -r"
        " /var/lib/apt/lists/*"
    )
    refused = playbook(
        "site", inventory(tmp_path, {pair[0]: {}}, {pair[1]: {}}, semisync_server_id=7)
    )
    assert refused.returncode != 0 and all(map(installed, pair)), refused.stdout
    names = ", ".join(host.name for host in pair)
    assert f"Nothing was changed, but PyMySQL was installed on {names}." in words(refused)
    file = inventory(tmp_path, {pair[0]: {}}, {pair[1]: {}})
    result = playbook("site", file)
    assert result.returncode == 0, result.stdout + result.stderr
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout
