"""The molecule scenarios, as far as they can be seen without hosts: they need nothing but molecule,
and runs take turns.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TURN = PROJECT / "molecule" / "shared" / "turn.py"
# What molecule makes of its files, for every scenario.
RESOLVED = """
import json
from molecule.command.base import get_configs
from molecule.shell import LOCAL_CONFIG

found = {}
for config in get_configs({"base_config": [LOCAL_CONFIG]}, {"subcommand": "test"}):
    playbooks = config.provisioner.playbooks
    found[config.scenario.name] = {
        "config": LOCAL_CONFIG,
        "driver": config.driver.name,
        "hosts": {platform["name"]: platform["groups"] for platform in config.platforms.instances},
        "playbooks": {
            action: getattr(playbooks, action)
            for action in ("create", "prepare", "converge", "destroy")
        },
        "sequence": config.scenario.test_sequence,
        "tests": config.verifier.directory,
        "collections": config.provisioner.env["ANSIBLE_COLLECTIONS_PATH"],
    }
print(json.dumps(found))
"""


def clean_environment(**more: str) -> dict[str, str]:
    """What a login shell has, and nothing of ours."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin"
    return {"HOME": os.environ["HOME"], "PATH": path, **more}


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Any]:
    said = subprocess.run(
        [sys.executable, "-c", RESOLVED],
        cwd=PROJECT,
        env=clean_environment(),
        text=True,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return json.loads(said.stdout.splitlines()[-1])


def test_molecule_finds_the_scenarios_and_what_they_share(scenarios: dict[str, Any]) -> None:
    assert sorted(scenarios) == ["default", "mariadb", "wan", "wan-mariadb"]
    shared = PROJECT / ".config" / "molecule" / "config.yml"
    assert {Path(found["config"]).resolve() for found in scenarios.values()} == {shared}
    # Where the checkout is no git repository, molecule looks here.
    assert (PROJECT / "extensions" / "molecule" / "config.yml").resolve() == shared


@pytest.mark.parametrize("scenario", ["default", "mariadb"])
def test_a_pair_of_containers(scenario: str, scenarios: dict[str, Any]) -> None:
    assert scenarios[scenario]["driver"] == "docker"
    assert scenarios[scenario]["hosts"] == {
        f"semisync-{scenario}-source": ["semisync_source"],
        f"semisync-{scenario}-replica1": ["semisync_replica"],
    }


@pytest.mark.parametrize("scenario", ["default", "mariadb", "wan", "wan-mariadb"])
def test_a_scenario_has_its_playbooks_and_its_tests(
    scenario: str, scenarios: dict[str, Any]
) -> None:
    found = scenarios[scenario]
    assert all(Path(playbook).is_file() for playbook in found["playbooks"].values())
    # Not the driver's own, which know nothing of this machine.
    assert all(Path(path).is_relative_to(PROJECT) for path in found["playbooks"].values())
    assert list(Path(found["tests"]).resolve().glob("test_*.py"))
    assert (found["sequence"][0], found["sequence"][-1]) == ("destroy", "destroy")
    assert {"syntax", "create", "converge", "verify"} <= set(found["sequence"])


def test_pairs_of_containers_are_checked_in_check_mode_and_for_idempotence(
    scenarios: dict[str, Any],
) -> None:
    for scenario in ("default", "mariadb"):
        assert {"prepare", "check", "idempotence"} <= set(scenarios[scenario]["sequence"])


def test_the_checkout_is_the_collection(scenarios: dict[str, Any]) -> None:
    for found in scenarios.values():
        first = Path(found["collections"].partition(":")[0])
        assert (first / "ansible_collections" / "dbre" / "semisync").resolve() == PROJECT


def test_no_file_of_molecules_asks_for_a_variable_of_ours() -> None:
    files = [PROJECT / ".config/molecule/config.yml", *PROJECT.glob("molecule/*/molecule.yml")]
    for file in files:
        names = re.findall(r"\$\{?(\w+)", file.read_text(encoding="utf-8").replace("$$", ""))
        assert [name for name in names if not re.match(r"MOLECULE_|HOME$", name)] == [], file


@pytest.fixture
def molecule(tmp_path: Path) -> Any:
    """Start a command named molecule that takes the turn and ends with its standard input."""
    script = tmp_path / "molecule"
    script.write_text(
        f"#!/bin/sh\n'{sys.executable}' '{TURN}' take hosts some && echo taken && read line\n"
        f"[ \"$line\" != give ] || '{sys.executable}' '{TURN}' give hosts some && echo given\n"
        "read line\n"
    )
    script.chmod(0o755)
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [str(script), *arguments],
            env=clean_environment(SEMISYNC_CACHE=str(tmp_path / "cache")),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def say(child: subprocess.Popen[str], word: str) -> str:
    """Tell a command something; its answer."""
    assert child.stdin and child.stdout
    child.stdin.write(word + "\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def heard(child: subprocess.Popen[str]) -> str:
    """The next line of a command's output."""
    assert child.stdout
    return child.stdout.readline().strip()


@pytest.mark.parametrize("end", ["killed", "given back"])
def test_a_second_run_waits_for_the_first(molecule: Any, end: str) -> None:
    first = molecule("converge")
    assert heard(first) == "taken"
    second = molecule("converge")
    assert select.select([second.stdout], [], [], 0.5)[0] == []
    began = time.monotonic()
    if end == "killed":
        first.kill()
    else:
        assert say(first, "give") == "given"
    assert heard(second) == "taken"
    assert time.monotonic() - began < 5


def test_a_run_has_its_turn_once(molecule: Any, tmp_path: Path) -> None:
    script = tmp_path / "molecule"
    take = f"'{sys.executable}' '{TURN}' take hosts some"
    script.write_text(f"#!/bin/sh\n{take} && {take} && echo taken twice\nread line\n")
    assert heard(molecule("converge")) == "taken twice"


@pytest.mark.parametrize(
    "arguments, removed",
    [
        ("test", True),
        ("test --all", True),
        ("--debug test -s mariadb --destroy=always", True),
        ("test --destroy=never", False),
        ("test --destroy never", False),
        ("converge", False),
        ("verify", False),
    ],
)
def test_hosts_stay_where_the_command_would_leave_them(arguments: str, removed: bool) -> None:
    spec = importlib.util.spec_from_file_location("turn", TURN)
    assert spec and spec.loader
    turn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(turn)
    assert turn.cleans_up(arguments.split()) is removed
