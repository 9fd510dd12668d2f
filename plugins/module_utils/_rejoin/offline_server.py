# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that does not run: its unit, its program, and from what that program says of its options
without being started, where its data, its binary log and our lines are.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_file
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    command,
    process,
    server_options,
    trust,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit_exit import service_name
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MariadbGtids

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

PROGRAM = re.compile(r"(/[^\s;\"']*/(?:mariadbd|mysqld))(?=[\s;\"']|\Z)")
ARGUMENT = re.compile(r"(?<!\S)--[A-Za-z][^\s;]*")
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
VERSION = re.compile(r"\bVer (\d\S+)")
EXEC_START = re.compile(r"^ExecStart[ \t]*=[ \t]*((?:\\\n|[^\n])*)", re.MULTILINE)
# Where systemd looks for units, in its order (systemd.unit(5)).
UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
NO_VALUE = "(No default value)"
ON = ("ON", "TRUE", "1")


class PlaceError(Exception):
    """A server's files cannot be found; the text says why."""


class OfflineServer(NamedTuple):
    """A server that does not run.

    Attributes:
        unit: of systemd.
        server: its program and arguments.
        options: what it would start with: option -> value, without options that have no value.
        version: as the program says it.
    """

    unit: str
    server: process.Running
    options: dict[str, str]
    version: str = ""

    @property
    def datadir(self) -> str:
        return self.options["datadir"]

    def files(self) -> LogFiles:
        """Where its binary log is."""
        return LogFiles(
            basename=log_basename(self.datadir, self.options),
            datadir=self.datadir,
            pid_file=self.options.get("pid-file", ""),
            basedir=self.options.get("basedir", ""),
            program=self.server.program or "",
        )

    def strict(self) -> bool:
        return self.options.get("gtid-strict-mode", "").upper() in ON

    def by_gtid(self) -> bool:
        return self.options.get("gtid-mode", "").upper() == "ON"

    def identity(self, kind: type[Gtids]) -> str:
        """How GTIDs name the server: server_id on MariaDB, else server_uuid (from a file)."""
        if kind is MariadbGtids:
            return self.options.get("server-id", "")
        text = text_if_any(os.path.join(self.datadir, "auto.cnf"))
        match = re.search(r"^\s*server[-_]uuid\s*=\s*([0-9a-fA-F-]{36})\s*$", text, re.MULTILINE)
        return match.group(1).lower() if match else ""


def described(module: AnsibleModule, unit: str, printed: str, hint: str) -> OfflineServer:
    """The server of a unit, by what systemd prints of it.

    Raises:
        PlaceError: its program is not known, or says nothing.
    """
    match = PROGRAM.search(printed)
    program = match.group(1) if match and process.is_program(match.group(1)) else hint
    if not process.is_program(program):
        raise PlaceError(f"the program that {unit} starts is not known")
    arguments = arguments_of(printed)
    printed = help_of(module, program, server_options.defaults_arguments(arguments))
    options, named = parse_help(printed), VERSION.search(printed)
    folders = process.program_folders(program, options.get("basedir", ""))
    running = process.Running(
        None,
        [program, *arguments],
        program,
        folders,
        "",
    )
    return OfflineServer(
        unit,
        running,
        options,
        named.group(1) if named else "",
    )


def arguments_of(started: str) -> list[str]:
    """The options that a unit starts its program with, those that select option files first: of
    any other the last one counts.
    """
    every = ARGUMENT.findall(started.replace('"', "").replace("'", ""))
    first = list(dict.fromkeys(server_options.defaults_arguments(every)))
    return [*first, *(one for one in every if one not in first)]


def started_by(shown: str) -> str:
    """What `systemctl show` says that a unit starts, with the unit's variables in their places."""
    known: dict[str, str] = {}
    for line in shown.splitlines():
        name, _equals, rest = line.partition("=")
        if name == "Environment":
            known.update(dict(word.split("=", 1) for word in shlex.split(rest) if "=" in word))
        elif name == "EnvironmentFiles":
            text = text_if_any(rest.partition(" (")[0])
            known.update(re.findall(r"^[ \t]*(\w+)=(.*)$", text, re.MULTILINE))
    lines = [line for line in shown.splitlines() if line.startswith("ExecStart=")]
    return VARIABLE.sub(lambda name: known.get(name.group(1), ""), "\n".join(lines))


def find(
    module: AnsibleModule,
    units: list[str],
    hint: str,
) -> OfflineServer:
    """The server of the first of these units that is there.

    Args:
        hint: path of the program on a similar host, used if the unit does not name it.

    Raises:
        PlaceError: there is none, or its program says nothing.
    """
    masked = []
    for unit in units:
        words = [
            "systemctl",
            "show",
            "--property=LoadState,ExecStart,Environment,EnvironmentFiles",
            service_name(unit),
        ]
        _status, printed, _errors = command.run(module, words)
        if "LoadState=masked" in printed:
            # A fence may mask a dead source's unit, which is unmasked later.
            printed = behind_mask(service_name(unit))
            if not PROGRAM.search(printed):
                masked.append(unit)
                continue
        elif "LoadState=loaded" not in printed:
            continue
        else:
            printed = started_by(printed)
        return described(module, unit, printed, hint)
    if masked:
        raise PlaceError(
            f"its unit {masked[0]} is masked, so it cannot be read what it starts. Unmask it,"
            f" which starts nothing (systemctl unmask {masked[0]}), and run this again"
        )
    raise PlaceError(f"there is no unit {' or '.join(units)}; set semisync_service")


def behind_mask(name: str) -> str:
    """What a masked unit would start, of which systemd says nothing: its files say it; "" if
    there is none.
    """
    stem, at, rest = name.partition("@")
    instance, _dot, suffix = rest.rpartition(".")
    names = [name, *([f"{stem}@.{suffix}"] if at else [])]
    paths = [os.path.join(folder, one) for one in names for folder in UNIT_FOLDERS]
    texts = [text_if_any(path) for path in paths if os.path.isfile(path)][:1]
    more = {
        os.path.basename(path): path
        for one in reversed(names)
        for folder in reversed(UNIT_FOLDERS)
        for path in glob.glob(os.path.join(folder, glob.escape(one) + ".d", "*.conf"))
    }
    texts += [text_if_any(more[key]) for key in sorted(more)]
    lines = [line for text in texts for line in EXEC_START.findall(text) if line.strip()]
    # One that is given anew counts instead of the one before.
    return re.sub("%[iI]", instance, lines[-1]) if lines else ""


def help_of(
    module: AnsibleModule,
    program: str,
    arguments: list[str],
) -> str:
    """A program's help on its version and options; this starts no server.

    Raises:
        PlaceError: it says nothing.
    """
    words = [
        program,
        *arguments,
        "--verbose",
        "--help",
    ]
    _status, printed, errors = command.run(module, trust.trusted_command(words))
    if not parse_help(printed).get("datadir"):
        said = " ".join(errors.split())[-200:]
        raise PlaceError(f"{' '.join(words)} does not say where its data are: {said}")
    return printed


def parse_help(printed: str) -> dict[str, str]:
    """The table at the end of a server's `--verbose --help`: option -> value."""
    options: dict[str, str] = {}
    for line in printed.splitlines():
        match = re.match(r"([a-z][a-z0-9-]+)\s+(\S.*)$", line)
        if match and match.group(2).strip() != NO_VALUE:
            # The text above it begins its lines with blanks or with two dashes.
            options[match.group(1)] = match.group(2).strip()
    return options


def log_basename(datadir: str, options: dict[str, str]) -> str:
    """Where the binary log is, without its number; where no option says so, by the files' first
    bytes.

    Raises:
        PlaceError: there is none, or several.
    """
    named = options.get("log-bin", "")
    path = os.path.join(datadir, named)
    if named and os.path.exists(path + ".index"):
        return os.path.normpath(path)
    indexes = [
        path[: -len(".index")]
        for path in glob.glob(os.path.join(datadir, "*.index"))
        if "relay" not in os.path.basename(path) and is_log(path, datadir)
    ]
    if len(indexes) != 1:
        raise PlaceError(f"{datadir} has {len(indexes)} binary logs, and no option names one")
    return indexes[0]


def is_log(index: str, datadir: str) -> bool:
    """Whether the last file of an index is a binary log."""
    lines = text_if_any(index).split()
    if not lines:
        return False
    try:
        with open(os.path.join(datadir, lines[-1]), "rb") as stream:
            return stream.read(4) in (log_file.PLAIN, log_file.ENCRYPTED)
    except OSError:
        return False
