# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's process and option files on its host: the part of the state that no SQL statement tells."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import re

from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import seed_marker, tls

SERVERS = ("mariadbd", "mysqld")
# What a replica can be seeded with: our key -> names of the program, the newer one first.
TOOLS = {"dump": ("mariadb-dump", "mysqldump"), "client": ("mariadb", "mysql"),
         "backup": ("mariadb-backup", "mariabackup"), "stream": ("mbstream",)}


def read_text(path):
    with open(path, "rb") as handle:
        return handle.read().decode("utf-8", "replace")


def find_process(pid_file, datadir):
    """The server's process id, or None where its pid file cannot be read."""
    path = pid_file if pid_file.startswith("/") else os.path.join(datadir, pid_file)
    try:
        pid = int(read_text(path).strip())
        os.stat("/proc/%d" % pid)
        return pid
    except (OSError, ValueError):
        return None


def executable(pid):
    """A process's program, or None where the kernel hides it: from root without SYS_PTRACE, as in a container."""
    try:
        return os.path.realpath("/proc/%d/exe" % pid)
    except OSError:
        return None


def parse_unit(cgroup):
    """The systemd unit in the text of /proc/PID/cgroup: '…/system.slice/mysql.service' gives 'mysql'."""
    match = re.search(r"/([\w@:.\\-]+)\.service\s*$", cgroup, re.M)
    return match.group(1) if match else None


def defaults_arguments(cmdline):
    """The arguments that choose option files, which any reader of them must be given too."""
    return [argument for argument in cmdline
            if re.match(r"^--(defaults-(file|extra-file|group-suffix)=|no-defaults$)", argument)]


def group_suffix(arguments):
    """What the server's option groups end in where it is one of several on its host, such as @1."""
    for argument in arguments:
        if argument.startswith("--defaults-group-suffix="):
            return argument.partition("=")[2]
    return ""


def defaults_file(arguments):
    for argument in arguments:
        if argument.startswith("--defaults-file="):
            return argument.partition("=")[2]
    return None


def read(module, variables, option_file=None):
    """The unit, program and option files of the server on this host.

    Args:
        module: AnsibleModule, for its run_command and get_bin_path.
        variables: the server's pid_file and datadir.
        option_file: the path the user chose for our lines, or None to find one.
    """
    pid = find_process(variables["pid_file"], variables["datadir"])
    cmdline, unit, program = [], None, None
    if pid:
        cmdline = read_text("/proc/%d/cmdline" % pid).split("\0")
        unit = parse_unit(read_text("/proc/%d/cgroup" % pid))
        program = executable(pid)
    if not program or not os.path.exists(program):
        program = next((found for found in (module.get_bin_path(name, opt_dirs=["/usr/sbin", "/usr/libexec"])
                                            for name in SERVERS) if found), None)
    arguments = defaults_arguments(cmdline)
    return {"unit": unit, "program": program, "pid": pid, "tools": tools(module, variables.get("plugin_dir")),
            "seed": seed_marker.read(variables.get("port")), "certificates": tls.read(variables, read_text),
            "option_files": read_options(module, program, arguments, option_file)}


def tools(module, plugin_dir):
    """Our key -> path of a program that seeding can use, or None; under 'clone' the plugin's library."""
    found = dict((key, next((path for path in (module.get_bin_path(name) for name in names) if path), None))
                 for key, names in TOOLS.items())
    library = os.path.join(plugin_dir or "/nonexistent", "mysql_clone.so")
    found["clone"] = library if os.path.exists(library) else None
    return found


def read_options(module, program, arguments, option_file=None):
    """What the option files say, as the server's own reader prints it, and our part in them."""
    printed, reader = "", None
    if program:
        reader = " ".join([program] + arguments + ["--print-defaults"])
        code, printed, stderr = module.run_command([program] + arguments + ["--print-defaults"])
        if code != 0:
            module.fail_json(msg="the server's option files cannot be read: %s says %s" % (reader, stderr.strip()))
    suffix = group_suffix(arguments)
    marker = optfile.own_name(optfile.MARKER, suffix)
    place = {"kind": "drop-in", "path": option_file} if option_file else find_place(module, arguments)
    exists = os.path.exists(place["path"])
    whole = read_text(place["path"]) if exists else ""
    kind = place["kind"]
    if exists and kind == "drop-in" and os.path.basename(place["path"]) != optfile.own_name(optfile.DROP_IN, suffix):
        # A file of the user's choice: all ours if we made it.
        kind = "drop-in" if whole.startswith(optfile.HEADER) else "block"
    ours = (whole if exists else None) if kind == "drop-in" else optfile.our_block(whole, marker)
    pairs = [pair for pair in optfile.print_defaults_pairs(printed) if wanted(pair[0])]
    left = optfile.left_behind_path(place["path"], kind, suffix)
    return {
        "reader": reader,
        "options": optfile.effective(pairs),
        "elsewhere": optfile.without_ours(pairs, ours),
        "path": place["path"],
        "kind": kind,
        "marker": marker,
        "group": "mysqld" + suffix,
        "exists": exists,
        "ours": ours,
        "left_behind": {"path": left, "exists": left != place["path"] and os.path.exists(left)},
    }


def wanted(name):
    """Only options this collection compares leave the host: an option file may hold secrets."""
    return name.startswith("rpl_semi_sync") or name.startswith("plugin_load") or name in (
        "server_id", "log_bin", "gtid_mode", "enforce_gtid_consistency", "log_slave_updates", "log_replica_updates",
        "relay_log", "sync_binlog", "innodb_flush_log_at_trx_commit", "bind_address", "skip_networking",
        "sync_relay_log", "relay_log_recovery", "read_only", "super_read_only", "gtid_strict_mode", "binlog_format",
        "skip_replica_start", "skip_slave_start")


def find_place(module, arguments):
    """The file our lines belong in, from the list of files that the server's family of programs reads."""
    only = defaults_file(arguments)
    files = [only] if only else []
    if not only:
        reader = module.get_bin_path("my_print_defaults")
        if reader:
            dummy, output, dummy2 = module.run_command([reader, "--help"])
            files = optfile.parse_default_files(output)
    files = [path for path in (files or ["/etc/my.cnf", "/etc/mysql/my.cnf"]) if not path.startswith("~")]
    contents = {}
    for path in files:
        _read_with_includes(os.path.realpath(path), path, contents)
    return optfile.choose_place(files, contents, os.path.isdir, group_suffix(arguments))


def _read_with_includes(real, name, contents):
    if name in contents or not os.path.isfile(real):
        return
    contents[name] = read_text(real)
    for kind, target in optfile.parse_includes(contents[name]):
        if kind == "file":
            _read_with_includes(os.path.realpath(target), target, contents)
