"""Run a molecule scenario on hosts of the lab.

A scenario's molecule.yml says which server it is about (lab_server, lab_release); what a container of that
server needs on this machine comes from the lab. A scenario with lab_kind uml has hosts with kernels of their own, in a
lab that no one else uses. Whatever happens, the scenario's hosts are removed after `test`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

import container  # noqa: E402
import debian  # noqa: E402
import docker_image  # noqa: E402
from common import LabError, locked, say  # noqa: E402

LABEL = "dbre-semisync.scenario"
SHARED = "shared"
DOCKER, UML = "docker", "uml"
# The lab of the scenarios of kind uml, which take turns with it: no user's own lab is in the way.
LAB = "scenario"


def scenarios() -> list[str]:
    """The names of the scenarios."""
    return sorted(path.parent.name for path in PROJECT.glob("molecule/*/molecule.yml"))


def subject(name: str) -> dict[str, str]:
    """What a scenario sets for all its hosts: lab_server, lab_release, and lab_kind where it is not docker."""
    path = PROJECT / "molecule" / name / "molecule.yml"
    if not path.exists():
        raise LabError(f"there is no scenario {name}; there is: {', '.join(scenarios())}")
    return yaml.safe_load(path.read_text(encoding="utf-8"))["provisioner"]["inventory"]["group_vars"]["all"]


def kind(its: dict[str, str]) -> str:
    """The kind of a scenario's hosts."""
    return its.get("lab_kind", DOCKER)


def needs(its: dict[str, str]) -> dict:
    """What a container of the scenario's server needs, its image built; nothing for hosts of kind uml."""
    if kind(its) == UML:
        return {}
    server = debian.server(its["lab_server"], its["lab_release"])
    container.need_docker()
    return {"image": docker_image.ensure(server), **container.flags(server)}


def environment(name: str, flags: dict) -> dict[str, str]:
    """What base.yml refers to; lists are JSON, which is YAML too."""
    folder = PROJECT / ".cache" / "molecule" / name
    values = {"scenario": name, "project": str(PROJECT), "lab": LAB, "inventory": str(folder / "lab"), **flags}
    mine = {f"SEMISYNC_{key.upper()}": value if isinstance(value, str) else json.dumps(value)
            for key, value in values.items()}
    plain = {} if sys.stdout.isatty() else {"NO_COLOR": "1", "ANSIBLE_NOCOLOR": "1"}
    return {**os.environ, **mine, **plain, "MOLECULE_COMMAND_BORDERS": "false",
            "MOLECULE_GLOB": f"molecule/{name}/molecule.yml", "MOLECULE_EPHEMERAL_DIRECTORY": str(folder)}


def remove(name: str, its: dict[str, str]) -> None:
    """Remove the scenario's hosts and network."""
    if kind(its) == UML:
        subprocess.run([sys.executable, str(PROJECT / "lab"), "down", f"--kind={UML}"], env=environment(name, {}),
                       stdin=subprocess.DEVNULL, check=False)
        return
    there = container.docker("ps", "--all", "--quiet", "--filter", f"label={LABEL}={name}", check=False).stdout.split()
    if there:
        say(f"removing what is left of scenario {name}")
        container.docker("rm", "--force", "--volumes", *there, check=False)
    container.docker("network", "rm", f"semisync-{name}", check=False)


def run(name: str, arguments: list[str]) -> int:
    """Run molecule; its exit status."""
    its = subject(name)
    flags = needs(its)
    command = ["molecule", "--base-config", str(PROJECT / "molecule" / SHARED / "base.yml"), arguments[0],
               "--scenario-name", name, *arguments[1:]]
    with locked(f"molecule-{LAB if kind(its) == UML else name}"):
        try:
            return subprocess.run(command, cwd=PROJECT, env=environment(name, flags), check=False).returncode
        finally:
            if arguments[0] == "test" and "--destroy=never" not in arguments:
                remove(name, its)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", help="its folder's name below molecule/")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="molecule's command and options (default: test)")
    opts = parser.parse_args()
    # To be ended is to be interrupted: the hosts are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(opts.scenario, opts.arguments or ["test"])
    except LabError as error:
        print(f"scenario: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
