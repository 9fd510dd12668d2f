"""The playbook with one mistake in it that another tool has made: the checker has to see it."""

from __future__ import annotations

import pathlib
import shutil
from typing import NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ("plugins", "roles", "playbooks", "meta", "galaxy.yml")


class Patch(NamedTuple):
    """A text of a file, and what is put in its place."""

    file: str
    anchor: str
    replacement: str


class Mutant(NamedTuple):
    """One mistake.

    Attributes:
        words: for the table.
        patches: what makes it.
        fault: under which it shows.
        servers: on which it is one.
        held: seconds for which appliers are held behind the failover's lock, if that is not the
            fault's own; one that does not wait stops them, which frees them before.
        back: whether it shows when the former source comes back, so that each cycle goes so far.
    """

    words: str
    patches: tuple[Patch, ...]
    fault: str
    servers: tuple[str, ...] = ("mysql", "mariadb")
    held: int | None = None
    back: bool = False


SURVIVORS = "plugins/plugin_utils/_role_change/survivors.py"
APPLYING = "plugins/module_utils/_role_change/applying.py"
TARGET = "plugins/module_utils/_role_change/failover_target.py"
LACKING = "return received(other).minus(received(member))"
EXECUTED = """kind = kind_of(member)
    mine, theirs = (kind.parse(one.info["gtid"].get(kind.APPLIED)) for one in (member, other))
    return theirs.minus(mine)"""
MUTANTS = {
    "by-executed": Mutant(
        "the candidate by what was applied, not by what was received",
        (Patch(SURVIVORS, LACKING, EXECUTED),),
        "late",
        # On MariaDB a replica that has received more cannot follow (1236), and all of it is undone.
        ("mysql",),
    ),
    "no-wait": Mutant(
        "what was received is not applied before the opening",
        (Patch(APPLYING, "    while left:\n", "    while left < 0:\n"),),
        "backlog",
        # A replica that must follow waits longer than the candidate, and would have applied all by
        # then.
        held=120,
    ),
    "both-threads": Mutant(
        "both threads of the replicas are stopped, and the applier is started again; the judge does"
        " not ask for what that threw away",
        (
            Patch(
                "plugins/plugin_utils/_role_change/relay_logs.py",
                "    return (\n        pointed_elsewhere(evidence, member)\n",
                '    return "" and (\n        pointed_elsewhere(evidence, member)\n',
            ),
            Patch(
                "plugins/module_utils/_role_change/io_thread.py",
                '    stop = (f"STOP {names.replica_word} IO_THREAD", None)\n',
                '    stop, start = f"STOP {names.replica_word}", f"START {names.replica_word}"\n'
                '    return Stop([(stop, None), (f"{start} SQL_THREAD", None)], [])\n',
            ),
        ),
        "backlog",
        # MDEV-4698; MySQL keeps its relay log.
        ("mariadb",),
    ),
    "read-early": Mutant(
        "what was received is read before the IO threads are stopped",
        (
            Patch(
                "plugins/plugin_utils/_role_change/readings.py",
                '    if member.info is None or "gtid" not in stopped:\n',
                '    if member.info is None or "gtid" in stopped:\n',
            ),
        ),
        "healed",
    ),
    "stopped": Mutant(
        "the fence is a clean shutdown of the source's server (systemctl stop)",
        (
            Patch(
                "roles/failover/tasks/take_over.yml",
                "- name: Fence the source\n",
                "- name: Stop the source in order\n"
                "  ansible.builtin.set_fact:\n"
                "    prove: \"{{ lookup('ansible.builtin.pipe', prove_stop) }}\"\n"
                "  run_once: true\n\n"
                "- name: Fence the source\n",
            ),
        ),
        "apart",
    ),
    "phantom": Mutant(
        "a former source with errant transactions is brought back as it is: its verdict is clean,"
        " and the second look at what only it has is left out",
        (
            Patch(
                "plugins/plugin_utils/_role_change/errant.py",
                "        if phantoms:\n",
                "        if phantoms and not old.gtids:\n",
            ),
            Patch(
                "plugins/plugin_utils/_plans/replication_problems.py",
                "    own = seed.strangers(member, source)\n    if own:\n",
                "    own = seed.strangers(member, source)\n    if own and not source:\n",
            ),
        ),
        "cut",
        # On MariaDB its channel stops: the new source does not have the position that it asks for.
        ("mysql",),
        back=True,
    ),
}


def broken(mutant: Mutant, folder: pathlib.Path) -> pathlib.Path:
    """A collections path with a copy of this checkout that has the mistake.

    Raises:
        ValueError: a text that is to be replaced is not there, or more than once.
    """
    root = folder / "ansible_collections" / "dbre" / "semisync"
    root.mkdir(parents=True)
    for name in COPIED:
        if (PROJECT / name).is_dir():
            shutil.copytree(
                PROJECT / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(PROJECT / name, root / name)
    for patch in mutant.patches:
        text = (root / patch.file).read_text(encoding="utf-8")
        (root / patch.file).write_text(patched(text, patch), encoding="utf-8")
    return folder


def patched(text: str, patch: Patch) -> str:
    """A file's text with the mistake.

    Raises:
        ValueError: the anchor is not there exactly once.
    """
    if text.count(patch.anchor) != 1:
        raise ValueError(
            f"{patch.file} has this text {text.count(patch.anchor)} times, and not once; bring the"
            f" mutant up to date: {patch.anchor!r}"
        )
    return text.replace(patch.anchor, patch.replacement)
