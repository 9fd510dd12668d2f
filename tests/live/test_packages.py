"""Hosts without PyMySQL: site.yml installs its package, says so before, or leaves it to others."""

import importlib.metadata
import subprocess
import sys

import pytest

from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook, run, words

PACKAGE = "python3-pymysql"
PORT = 8008


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


@pytest.fixture
def pair_with_pip(tmp_path):
    """Python 3.9 is their only Python, and pip gave it PyMySQL, not the distribution."""
    version = importlib.metadata.version("PyMySQL")
    subprocess.run(
        [sys.executable, *f"-m pip download --quiet --no-deps PyMySQL=={version}".split()],
        cwd=tmp_path,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    for source, replica in hosts(
        ("source", "mariadb", "11"), ("replica", "mariadb", "11"), turn="live-packages"
    ):
        for host in (source, replica):
            run("docker", "cp", wheel, f"{host.name}:/root/{wheel.name}")
            host.shell(
                f"dpkg --purge {PACKAGE} && apt-get -qq update && apt-get -qq install -y"
                " --no-install-recommends python3-pip && pip3 install --no-index"
                f" /root/{wheel.name} && python3 --version | grep -F 'Python 3.9.'"
            )
        yield source, replica


@pytest.mark.long
def test_what_pip_installed_serves_the_modules_and_the_services(pair_with_pip, tmp_path):
    source, replica = pair_with_pip
    file = inventory(
        tmp_path,
        {source: {}},
        {replica: {}},
        semisync_install_pymysql=False,
        semisync_heartbeat_seconds=1,
        semisync_http_port=PORT,
    )
    result = playbook("site", file)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not any(map(installed, pair_with_pip))
    # Both run by themselves, with few rights and without root's environment.
    beats = "SELECT COUNT(*) > 1 FROM important.semisync_heartbeat"
    eventually(lambda: replica.value(beats) == "1", "beats arrive", 30)
    for host, role in ((source, "source"), (replica, "replica")):
        # A status other than 200 is an error.
        host.shell(
            'python3 -c "import urllib.request; urllib.request.urlopen('
            f"'http://127.0.0.1:{PORT}/{role}', timeout=5)\""
        )
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout
