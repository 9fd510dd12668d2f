# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves on the controller: results/CLUSTER/UTC-TIME/, latest, and observations that
come only once.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import clock

OBSERVATIONS = "observations.json"
CHECKPOINTS = "checkpoints.json"
FINDINGS = "findings.json"
HEARTBEAT = "heartbeat.json"
# What the next run compares the source's counters with.
STATE = "state.json"
# The certificate of a failover that has not said what became of it.
BEGUN = "failover_begun.json"
# The name of a run's folder.
RUN = "%Y-%m-%dT%H%M%S.%fZ"


def now() -> datetime.datetime:
    """The time as UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def stamp(moment: datetime.datetime) -> str:
    """A time as results have it: 2026-01-31T23:59:59Z."""
    return clock.utc(moment.timestamp())


def cluster_folder(base: str, cluster: str) -> str:
    """results/CLUSTER; a name that is no good folder gets one of its own all the same."""
    safe = re.sub(r"[^\w.-]", "_", cluster).lstrip(".")[:60]
    if not safe or safe != cluster:
        safe += f"-{zlib.crc32(cluster.encode('utf-8')):08x}"
    return os.path.join(os.path.abspath(base), safe)


class ResultsError(OSError):
    """Results cannot be written, as on a full disk.

    Args:
        number: of the system's error.
        path: what was to be written.
        words: the system's.
    """

    def __init__(self, number: int | None, path: str, words: str | None) -> None:
        super().__init__(number, words)
        self.path = path

    def __str__(self) -> str:
        return (
            f"the controller cannot write {self.path}: {self.strerror}. Make room there, or set"
            " semisync_results_dir to another folder"
        )


def write_json(path: str, value: Any, private: bool = False) -> None:
    """Write a value as JSON; see write_text()."""
    write_text(path, json.dumps(value, indent=2, sort_keys=False) + "\n", private)


def make_folder(folder: str) -> None:
    """Make a cluster's folder in results/, which only its owner can read until its mode is changed:
    it has names of hosts and accounts, versions, and what servers reported.
    """
    # The mode is the last folder's alone.
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    os.makedirs(folder, exist_ok=True)


def write_text(path: str, text: str, private: bool = False) -> None:
    """Write whole or not at all, readable by others as the umask and the folder say.

    Args:
        private: whether only this user ever reads it.

    Raises:
        ResultsError: it cannot be written, as on a full disk.
    """
    try:
        replace(path, text, private)
    except OSError as error:
        raise ResultsError(error.errno, path, error.strerror) from error


def replace(path: str, text: str, private: bool) -> None:
    """The same; raises OSError."""
    folder = os.path.dirname(path)
    make_folder(folder)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".")
    try:
        with open(handle, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o600 if private else 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_json(path: str, otherwise: Any) -> Any:
    """A JSON file's value; the given one if there is no such file or it is cut short."""
    try:
        with open(path) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return otherwise


def run_name(moment: datetime.datetime) -> str:
    return moment.strftime(RUN)


def begun_at(run: str) -> float | None:
    """When a run began, by its name; None if it is no such name."""
    try:
        moment = datetime.datetime.strptime(run, RUN)
    except ValueError:
        return None
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


def open_run(folder: str, moment: datetime.datetime, name: str | None = None) -> str:
    """results/CLUSTER/NAME with latest pointing at it: the folder of the run of that name, or a
    fresh one.

    Args:
        folder: of the cluster.
        moment: when the fresh one begins; it has its name from it.
        name: a run's that this one adds to, as run_name() made it.

    Raises:
        ValueError: it is no such name.
    """
    check_name(name)
    name = name or run_name(moment)
    path = os.path.join(folder, name)
    make_folder(folder)
    os.makedirs(path, exist_ok=True)
    link = os.path.join(folder, "latest")
    temporary = os.path.join(folder, f".latest-{name}")
    os.symlink(name, temporary)
    os.replace(temporary, link)
    return path


def check_name(name: str | None) -> None:
    """Raise ValueError for a name that is given and no run's."""
    if name and not re.match(r"\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z\Z", name):
        raise ValueError(f"{name!r} names no run")


def find_run(folder: str, name: str | None = None) -> str:
    """The folder of the run of that name, or of the one that latest points at.

    Raises:
        ValueError: there is no such run.
    """
    check_name(name)
    path = os.path.join(folder, name) if name else os.path.realpath(os.path.join(folder, "latest"))
    if not os.path.isdir(path):
        raise ValueError(f"there is no run in {path if name else folder}")
    return path


def keep_rows(path: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write checkpoints to a run's checkpoints.json; they replace those with the same identifier
    and host.

    Returns:
        all rows that are there now, in the procedure's order.
    """
    file = os.path.join(path, CHECKPOINTS)
    kept = {(row["id"], row["host"]): row for row in [*read_json(file, []), *rows]}
    every = sorted(kept.values(), key=lambda row: row["id"])
    write_json(file, every)
    return every


def observations(folder: str) -> dict[str, Any]:
    return read_json(os.path.join(folder, OBSERVATIONS), {})


def record(folder: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep rows of points that are seen only once, by identifier."""
    kept = observations(folder)
    kept.update({row["id"]: row for row in rows})
    write_json(os.path.join(folder, OBSERVATIONS), kept)
