# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which option files a server reads on its host, what they set, and where our lines are in them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    command,
    option_files,
    option_reader,
    process,
    trust,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import (
    read_text,
    text_if_any,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import removed_options

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        OnHost,
        OptionFiles,
        Variables,
    )

# What --print-defaults begins with, in every version.
PRINTED = "would have been started with the following arguments"
# What may follow mysqld in the name of a group of options, and a group of a server's own.
SUFFIX = re.compile(r"[\w@.:+-]*\Z")
GROUP = re.compile(
    r"^\s*\[(mysqld|server|mariadbd?|client-server)(-[\d.]+)?([@._-][^\]]*)?\]", re.MULTILINE
)


def readers_environment(pid: int) -> dict[str, str]:
    """The part of a process's environment that selects its option files, as far as the kernel shows
    it.
    """
    try:
        pairs = [
            entry.partition("=")[::2] for entry in read_text(f"/proc/{pid}/environ").split("\0")
        ]
    except OSError:
        return {}
    return {name: value for name, value in pairs if name in option_reader.ENVIRONMENT}


def defaults_arguments(cmdline: list[str]) -> list[str]:
    """The arguments that select option files, which any reader of them must get too."""
    return [
        argument
        for argument in cmdline
        if re.match(r"^--(defaults-(file|extra-file|group-suffix)=|no-defaults$)", argument)
    ]


def group_suffix(arguments: list[str]) -> str:
    """The suffix of the server's option groups if it is one of several on its host, such as @1."""
    for argument in arguments:
        if argument.startswith("--defaults-group-suffix="):
            return argument.partition("=")[2]
    return ""


def defaults_file(arguments: list[str]) -> str | None:
    for argument in arguments:
        if argument.startswith("--defaults-file="):
            return argument.partition("=")[2]
    return None


def server_on_host(
    module: AnsibleModule, variables: Variables, option_file: str | None = None
) -> OnHost:
    """The unit, program and option files of the server on this host.

    Args:
        module: AnsibleModule, for its run_command and get_bin_path.
        variables: the server's pid_file, datadir and basedir.
        option_file: the path that the user chose for our lines, or None to find one.
    """
    server = process.running(variables)
    return {
        "unit": process.parse_unit(text_if_any(f"/proc/{server.pid}/cgroup"))
        if server.pid
        else None,
        "program": server.program,
        "pid": server.pid,
        "tools": process.tools(module, variables.get("plugin_dir"), server.folders),
        "option_files": read_options(module, server, option_file),
    }


def read_options(
    module: AnsibleModule, server: process.Running, option_file: str | None = None
) -> OptionFiles:
    """What the option files and the command line set, and our part in them.

    If that cannot be known, 'unknown' says why, and 'options' is empty.
    """
    arguments = defaults_arguments(server.cmdline)
    environment = readers_environment(server.pid) if server.pid else {}
    reader, pairs, unknown = print_defaults(module, server, arguments, environment)
    place = our_place(module, server, option_file)
    marker = option_files.own_name(option_files.MARKER, place.suffix)
    whole = place.text or ""
    ours = place.text if place.kind == "drop-in" else option_files.our_block(whole, marker)
    named = not option_file and place.path == defaults_file(arguments)
    unsafe = unsafe_place(place.path, whole if named else None)
    left = option_files.left_behind_path(place.path, place.kind, place.suffix)
    return {
        "reader": reader,
        "unknown": unknown or place.unknown,
        "options": option_files.effective(pairs),
        "elsewhere": option_files.without_ours(pairs, ours),
        "command_line": option_files.effective(
            chosen(option_files.command_line_pairs(server.cmdline))
        ),
        "path": place.path,
        "kind": place.kind,
        "marker": marker,
        "group": "mysqld" + place.suffix,
        "exists": place.exists,
        "unsafe": unsafe,
        "ours": ours,
        "left_behind": {"path": left, "exists": left != place.path and os.path.exists(left)},
    }


class OurPlace(NamedTuple):
    """Where the collection's own lines are, or would be.

    Attributes:
        kind: drop-in, a file of its own; or block, marked lines in another file.
        suffix: of the server's option groups, if there are several servers.
        exists: whether the file does.
        text: of the file; None if there is none, or it cannot be read.
        unknown: why all this may be wrong; empty if it is known.
    """

    kind: str
    path: str
    suffix: str
    exists: bool
    text: str | None
    unknown: str


def our_place(module: AnsibleModule, server: process.Running, option_file: str | None) -> OurPlace:
    """Where our lines are. See server_on_host() for `option_file`."""
    arguments = defaults_arguments(server.cmdline)
    environment = readers_environment(server.pid) if server.pid else {}
    suffix = group_suffix(arguments) or environment.get("MYSQL_GROUP_SUFFIX", "")
    unknown = ""
    if not SUFFIX.match(suffix):
        # It becomes a line in a file that root writes.
        unknown, suffix = f"the suffix of its option groups is {suffix!r}", ""
    kind, path, exists, text = "drop-in", option_file or "", False, None
    try:
        if not option_file:
            likeliest = find_place(module, arguments, server.folders, environment)
            kind, path = likeliest["kind"], likeliest["path"]
        exists = os.path.exists(path)
        text = read_text(path) if exists else None
    except OSError as error:
        unknown = unknown or f"{error.filename} cannot be read: {error.strerror}"
    own = os.path.basename(path) == option_files.own_name(option_files.DROP_IN, suffix)
    if exists and kind == "drop-in" and not own:
        # A file that the user chose: all ours if we created it.
        kind = "drop-in" if (text or "").startswith(option_files.HEADER) else "block"
    return OurPlace(kind, path, suffix, exists, text, unknown)


def print_defaults(
    module: AnsibleModule,
    server: process.Running,
    arguments: list[str],
    environment: dict[str, str],
) -> tuple[str | None, list[tuple[str, str]], str]:
    """(the command, the options we compare, why they are not known or ""), from the server's own
    option file parser.
    """
    if not server.program:
        return None, [], server.unknown
    words = [server.program, *arguments, "--print-defaults"]
    reader = option_reader.command_text(words, environment)
    code, printed, stderr = command.run(module, trust.trusted_command(words), environment)
    if code == 0 and PRINTED in printed:
        return reader, chosen(option_files.print_defaults_pairs(printed)), ""
    said = " ".join(stderr.split()) or f"nothing of them, and ended with {code}"
    return reader, [], f"{reader} says {said}"


def chosen(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if wanted(pair[0])]


def wanted(name: str) -> bool:
    """Only options this collection compares leave the host: an option file may hold secrets."""
    prefix, _bar, rest = name.partition("_")
    if name in removed_options.NAMES or (prefix == "loose" and rest in option_files.LOOSE):
        return True
    return name.startswith(("rpl_semi_sync", "plugin_load")) or name in (
        "server_id",
        "log_bin",
        "gtid_mode",
        "enforce_gtid_consistency",
        "log_slave_updates",
        "log_replica_updates",
        "relay_log",
        "sync_binlog",
        "innodb_flush_log_at_trx_commit",
        "bind_address",
        "skip_networking",
        "sync_relay_log",
        "relay_log_recovery",
        "read_only",
        "super_read_only",
        "gtid_strict_mode",
        "binlog_format",
        "skip_replica_start",
        "skip_slave_start",
    )


def unsafe_place(path: str, named: str | None) -> str:
    """Why root must not write our lines there, in words; empty if it may.

    Args:
        named: the file's contents, if the server's process names the file: it may name any file,
            such as one of cron's.
    """
    folder = os.path.dirname(path) or "/"
    if os.path.isdir(folder) and not trust.trusted(path if os.path.exists(path) else folder):
        return (
            f"{path}, or a folder above it, is not only root's to write, so root does not write"
            " there. Give it to root, or set semisync_option_file to a file that is"
        )
    if named is not None and not GROUP.search(named):
        return (
            f"the server's process says that it reads {path}, which has no option group of a"
            " server. Check how it was started, or set semisync_option_file"
        )
    return ""


def find_place(
    module: AnsibleModule,
    arguments: list[str],
    folders: list[str],
    environment: dict[str, str],
) -> dict[str, str]:
    """The file our lines belong in, from the list of files that the server's family of programs
    reads.
    """
    only = defaults_file(arguments)
    files = [only] if only else []
    if not only:
        reader = process.find_tool(module, ("my_print_defaults",), folders)
        if reader:
            _dummy, output, _dummy2 = command.run(
                module, trust.trusted_command([reader, "--help"]), environment
            )
            files = option_files.parse_default_files(output)
    files = [
        path for path in files or ["/etc/my.cnf", "/etc/mysql/my.cnf"] if not path.startswith("~")
    ]
    contents: dict[str, str] = {}
    for path in files:
        _read_with_includes(os.path.realpath(path), path, contents)
    suffix = group_suffix(arguments) or environment.get("MYSQL_GROUP_SUFFIX", "")
    return option_files.choose_place(files, contents, os.path.isdir, suffix)


def _read_with_includes(real: str, name: str, contents: dict[str, str]) -> None:
    if name in contents or not os.path.isfile(real):
        return
    contents[name] = read_text(real)
    if not trust.trusted(name):
        # No other file may decide where our lines go.
        return
    for kind, target in option_files.parse_includes(contents[name]):
        if kind == "file":
            _read_with_includes(os.path.realpath(target), target, contents)
