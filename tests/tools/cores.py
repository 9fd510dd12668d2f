"""The collection as it is installed, with the ansible-core of this environment.

Builds and installs it into an empty place, has ansible-playbook read every playbook and
ansible-doc every plugin and role. With a lab (docker) up, it also runs `verify.yml` and `site.yml`
there, from the installed archive: both must succeed, and `site.yml` must change nothing. Prints a
row for docs/evidence/ansible-core.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tools import galaxy

RECAP = re.compile(r"^(\S+) +: ok=\d+ +changed=(\d+)", re.MULTILINE)


def changed(output: str) -> dict[str, int]:
    """host -> how many tasks changed something, by a run's recap."""
    return {name: int(count) for name, count in RECAP.findall(output)}


def on_hosts(inventory: Path, folder: Path) -> Iterator[str]:
    """The two playbooks that may run at any time, on a cluster that is set up."""
    for name in ("verify", "site"):
        said = galaxy.run(
            "ansible-playbook",
            "--inventory",
            str(inventory.resolve()),
            f"dbre.semisync.{name}",
            cwd=folder,
            ANSIBLE_COLLECTIONS_PATH=str(folder),
            ANSIBLE_HOST_KEY_CHECKING="False",
        )
        counts = changed(said)
        if not counts or (name == "site" and any(counts.values())):
            sys.exit(f"cores: error: {name}.yml changed something: {counts}\n{said[-3000:]}")
        yield f"`{name}.yml` on the lab"


def main() -> None:
    """Print the row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", type=Path, help="of a cluster that site.yml has set up")
    inventory = parser.parse_args().inventory
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    with tempfile.TemporaryDirectory(prefix="semisync-core-") as name:
        folder = Path(name)
        installed = galaxy.install(galaxy.build(folder), folder)
        seen = [galaxy.playbooks(installed), galaxy.documented(folder)]
        seen += on_hosts(inventory, folder) if inventory else []
    print(f"| {version('ansible-core')} | {version('ansible')} | {python} | {'; '.join(seen)} |")


if __name__ == "__main__":
    main()
