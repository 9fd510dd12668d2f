"""The built archive in an empty place: every playbook of it on a source and two replicas, bare at
first.

    archive.py --inventory FILE [--document docs/evidence/archive.md]

The hosts are those of a new lab of kind uml: procedure.yml needs a real delay. A step that does not
end as it must ends this. The page gets a row.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools import galaxy

CLIENT = "$(command -v mariadb || command -v mysql || echo /usr/local/mysql/bin/mysql)"
CONSENT = ("-e", "semisync_allow_disruption=true")
QUICK = (*CONSENT, "-e", "semisync_benchmark_profile=quick")
PAIR = ("-i", str(galaxy.PROJECT / "lab" / "spare.yml"), "--limit", "source:replica1")
# For advise.yml: one session that commits, for a minute and a half.
LOAD = (
    "systemd-run --collect --unit archive-load sh -c \"yes 'INSERT INTO important.stuff (details)"
    f" VALUES (1);' | timeout 90 {CLIENT}\""
)
VERSION = f'{CLIENT} --batch --skip-column-names --execute "SELECT VERSION()"'
OFF = f'{CLIENT} --execute "SET GLOBAL rpl_semi_sync_%s_enabled = 0"'
# What rotate.yml changes; whatever comes after it needs it.
ROTATED = "semisync_replication_password=another"
CUT, START, SHELL = "cut", "start", "shell"
# What is done one after another: a playbook with its options, or what is done to a host.
STEPS: tuple[tuple[str, ...], ...] = (
    ("site", "--check", "--diff"),
    ("procedure", *PAIR, *QUICK, "-e", "semisync_baseline_iterations=1"),
    ("site",),
    ("verify",),
    # What semi-sync would cost is asked without it; site.yml switches it on again.
    (SHELL, "source", f"{OFF % 'source'} || {OFF % 'master'}"),
    (SHELL, "source", LOAD),
    ("advise",),
    (SHELL, "source", "systemctl stop archive-load"),
    ("site",),
    ("benchmark", *QUICK, "-e", "semisync_suite=row_latency"),
    ("drill", *CONSENT),
    ("rotate", "-e", ROTATED),
    ("gtid",),
    ("candidate",),
    ("restart", *CONSENT),
    (
        "upgrade",
        "--check",
        "-e",
        "semisync_upgrade_to={version}",
        "-e",
        "semisync_hook_upgrade={hook}",
    ),
    ("switchover", "-e", "semisync_switchover_to=source"),
    ("verify",),
    (CUT, "source"),
    ("failover",),
    (START, "source"),
    ("rejoin", "-e", "semisync_rejoin=source"),
    ("site",),
    ("verify",),
    ("remove",),
)


def playbooks_left_out(installed: Path) -> set[str]:
    """The playbooks of the archive that no step runs."""
    there = {path.stem for path in (installed / "playbooks").glob("*.yml")}
    return there - {step[0] for step in STEPS}


class Run:
    """One run through all steps.

    Args:
        folder: an empty place in which the archive is installed.
        inventory: of the lab's hosts.
    """

    def __init__(self, folder: Path, inventory: Path) -> None:
        self.folder, self.inventory = folder, str(inventory.resolve())
        self.took: list[str] = []
        self.common: list[str] = []
        hook = folder / "upgrade.yml"
        hook.write_text("---\n- name: Change nothing\n  ansible.builtin.meta: noop\n")
        self.version = self.on_host("source", VERSION)
        series = ".".join(self.version.split(".")[:2])
        self.known = {"version": series, "hook": str(hook)}

    def command(self, *words: str) -> str:
        """What a command prints that has no other collections; its failure is ours."""
        return galaxy.run(
            *words,
            cwd=self.folder,
            ANSIBLE_COLLECTIONS_PATH=str(self.folder),
            ANSIBLE_HOST_KEY_CHECKING="False",
        )

    def on_host(self, host: str, script: str) -> str:
        """What a shell command on a host prints."""
        words = ("-i", self.inventory, host, "-b", "-m", "ansible.builtin.shell", "--one-line")
        said = self.command("ansible", *words, "-a", script)
        return said.rpartition("(stdout)")[2].strip()

    def step(self, name: str, *more: str) -> None:
        """Do one of STEPS."""
        if name == SHELL:
            self.on_host(*more)
        elif name in (CUT, START):
            self.command(sys.executable, str(galaxy.PROJECT / "lab"), name, "--kind", "uml", *more)
        else:
            begin = time.monotonic()
            words = ["ansible-playbook", "-i", self.inventory, f"dbre.semisync.{name}"]
            filled = [word.format(**self.known) for word in more]
            self.command(*words, *filled, *self.common)
            if ROTATED in more:
                self.common = ["-e", ROTATED]
            self.took.append(f"{name} {time.monotonic() - begin:.0f}")
            print(self.took[-1], "s", flush=True)


def main() -> int:
    """Every step; the first that does not end as it must is told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", type=Path, required=True)
    parser.add_argument("--document", type=Path)
    given = parser.parse_args()
    commit = galaxy.run("git", "rev-parse", "--short", "HEAD").strip()
    with tempfile.TemporaryDirectory(prefix="semisync-archive-") as name:
        folder = Path(name)
        archive = galaxy.build(folder)
        left_out = playbooks_left_out(galaxy.install(archive, folder))
        if left_out:
            sys.exit(f"archive: error: no step runs {', '.join(sorted(left_out))}")
        run = Run(folder, given.inventory)
        for step in STEPS:
            run.step(*step)
    words = (run.version, time.strftime("%Y-%m-%d"), commit, ", ".join(run.took))
    row = f"| {' | '.join(words)} |"
    print(row)
    if given.document:
        text = given.document.read_text(encoding="utf-8").rstrip("\n")
        given.document.write_text(f"{text}\n{row}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
