"""What pytest is told about the live tests, and the hosts that several files of them use."""

import pytest

from support import findings, live_hosts, only, parts

pytest_addoption = parts.add_option
pytest_runtest_call = findings.check_call


def pytest_collection_modifyitems(config, items):
    only.deselect(config, items)
    parts.deselect(config, items)
    parts.bring_together(items)


@pytest.fixture(scope="session")
def shared_pair():
    """Source and replica of MySQL, for the files of parts.TOGETHER: bare for the first of them,
    which leaves them as site.yml does; a failed run would be on record for a quarter of an hour.
    """
    wanted = [(name, "mysql", "") for name in ("source", "replica")]
    for made in live_hosts.hosts(*wanted, turn="live-shared-mysql"):
        made[0].stop_quickly()
        yield made
