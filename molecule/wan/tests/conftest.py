"""The two hosts of the running scenario."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from support.wan import INVENTORY, Host, Netem

# The figures that a run measured, for its end.
FIGURES = pytest.StashKey[list[str]]()


def pytest_sessionstart():
    """`molecule verify` alone takes its turn here."""
    turn = Path(__file__).parents[2] / "shared" / "turn.py"
    scenario = os.environ["MOLECULE_SCENARIO_NAME"]
    subprocess.run([sys.executable, str(turn), "take", "scenario", scenario], check=True)


@pytest.fixture(scope="session")
def hosts():
    groups = yaml.safe_load(INVENTORY.read_text(encoding="utf-8"))["all"]["children"]
    variables = {name: its for group in groups.values() for name, its in group["hosts"].items()}
    with tempfile.TemporaryDirectory(prefix="wan-") as sockets:
        found = {name: Host(name, its, sockets) for name, its in variables.items()}
        yield found
        for host in found.values():
            host.close()


@pytest.fixture(scope="session")
def source(hosts):
    return hosts["source"]


@pytest.fixture(scope="session")
def engine():
    """The server's variables of the scenario."""
    path = Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent / "group_vars" / "all"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["lab_server"]


@pytest.fixture
def netem(source):
    """The module, on a source that nothing of it is left on, before and after."""
    before = source.qdiscs()
    assert "semisync" not in before and source.timers() == []
    module = Netem()
    yield module
    if source.has_netem() or source.timers():
        module(state="absent", ping_count=0)
    assert source.qdiscs() == before and source.timers() == []


@pytest.fixture
def play(tmp_path):
    """The command for a play of these tasks on the source."""

    def command(*tasks):
        book = tmp_path / "play.json"
        book.write_text(
            json.dumps([{"hosts": "source", "gather_facts": False, "tasks": tasks}]),
            encoding="utf-8",
        )
        return ["ansible-playbook", "-i", str(INVENTORY), str(book)]

    return command


@pytest.fixture
def figure(request):
    """Keep a figure to be shown at the end."""
    return request.session.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter, config):
    """Show what was measured."""
    for text in getattr(config, "wan_figures", []):
        terminalreporter.write_line(f"measured: {text}")


def pytest_sessionfinish(session):
    session.config.wan_figures = session.stash.get(FIGURES, [])
