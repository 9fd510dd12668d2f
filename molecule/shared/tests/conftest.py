"""The pair of the running scenario."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.scenario import FAILED_BEFORE, SCENARIO, WORDS, Server, inventory_variables


def pytest_sessionstart():
    """`molecule verify` alone takes its turn here."""
    turn = Path(__file__).parents[1] / "turn.py"
    subprocess.run([sys.executable, str(turn), "take", SCENARIO, SCENARIO], check=True)


@pytest.fixture(scope="session")
def variables():
    return inventory_variables()


@pytest.fixture(scope="session")
def words(variables):
    return WORDS[variables["lab_server"]]


@pytest.fixture(scope="session")
def source(words):
    return Server(f"semisync-{SCENARIO}-source", "source", words)


@pytest.fixture(scope="session")
def replica(words):
    return Server(f"semisync-{SCENARIO}-replica1", "replica", words)


@pytest.fixture(params=["source", "replica"])
def server(request):
    """Each of the two."""
    return request.getfixturevalue(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Show what both servers said when a test failed."""
    report = yield
    if report.failed:
        item.session.stash[FAILED_BEFORE] = True
        for name in ("source", "replica"):
            its = item.funcargs.get(name)
            if isinstance(its, Server):
                report.sections.append((f"journal of {its.name}", its.journal()))
    return report
