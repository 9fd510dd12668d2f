# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replica's part of a seeding: take the copy, put it in place, set the position that replication goes on from."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import shutil
import subprocess
import tempfile
import threading
import time

from ansible_collections.dbre.semisync.plugins.module_utils import login, seed, seed_link, seed_source, state

POLL_SECONDS = 1
WORK = "dbre-semisync-seed"
POSITIONS = ("mariadb_backup_binlog_info", "xtrabackup_binlog_info")
# Of a dump, what is looked at: the accounts are ahead of it, and a little stands behind its data.
HEAD_BYTES, TAIL_BYTES = 1 << 22, 1 << 16
# What a copy never replaces in a data directory.
KEPT = ("lost+found", WORK)


class Failed(Exception):
    """The seeding did not come to its end. The text says why, and what state the replica is in."""


class Replica(object):
    """One replica while it is seeded.

    Args:
        module: AnsibleModule with the login, for its parameters and run_command.
        marker: the seed_marker.Marker of this server, held.
    """

    def __init__(self, module, marker):
        self.module, self.params, self.marker = module, module.params, marker
        self.unit = self.params["unit"]

    def server(self):
        return state.Server(login.connect(self.module))

    def variable(self, name):
        return self.server().rows("SELECT @@GLOBAL.%s AS value" % name)[0]["value"]

    def systemctl(self, verb):
        code, output, errors = self.module.run_command(["systemctl", verb, self.unit])
        if code != 0 and verb != "is-active":
            raise Failed("systemctl %s %s: %s" % (verb, self.unit, (errors or output).strip()))
        return output.strip()

    def wait(self):
        """The server, once it answers; started where nobody else does."""
        deadline = time.monotonic() + self.params["restart_timeout"]
        while True:
            try:
                return self.server()
            except Exception as error:  # the drivers share no exception class
                reason = login.explain(error, self.params)
            if time.monotonic() > deadline:
                raise Failed("the replica's server has the data, but: %s" % reason)
            if self.systemctl("is-active") in ("inactive", "failed"):
                self.systemctl("start")
            time.sleep(POLL_SECONDS)

    def need_space(self, folder):
        """Fail where the copy would fill the file system."""
        stat = os.statvfs(folder)
        free = stat.f_bavail * stat.f_frsize
        if free < self.params["expected_bytes"] * 1.1:
            raise Failed("%s has %s free, and %s are needed; nothing was changed"
                         % (folder, seed.amount(free), seed.amount(self.params["expected_bytes"] * 1.1)))

    def need_renames(self, folder):
        """Fail where directories cannot be renamed: an overlay without redirect_dir, as of a container without a volume."""
        kind = file_system(folder)
        if "overlay" in kind:
            raise Failed("the data directory %s is on %s, where directories cannot be renamed; nothing was changed. Put it "
                         "on a volume, or set semisync_seed_method=dump" % (folder, kind))

    # --- clone ---

    def clone(self):
        server, datadir = self.server(), self.variable("datadir")
        self.need_space(datadir)
        self.need_renames(datadir)
        before = self.marker.facts.get("plugins")
        if before is None:
            before = dict((row["name"], row["dl"]) for row in server.rows("SELECT name, dl FROM mysql.plugin"))
        self.marker.write(state="loading", stage="clone", plugins=before)
        active = seed_source.dynamic_plugins(server)
        for name, library in sorted(dict(self.params["plugins"], clone="mysql_clone.so").items()):
            if name not in active:
                server.rows("INSTALL PLUGIN `%s` SONAME %%s" % name, (library,))
        server.rows("SET GLOBAL clone_valid_donor_list = %s",
                    ("%s:%d" % (self.params["source_host"], self.params["source_port"]),))
        ended = threading.Event()
        watcher = threading.Thread(target=self.watch_clone, args=(self.server(), ended))
        watcher.start()
        try:
            server.rows("CLONE INSTANCE FROM %%s@%%s:%d IDENTIFIED BY %%s REQUIRE %s" % (
                self.params["source_port"], "SSL" if self.params["source_ssl"] else "NO SSL"),
                (seed.DONOR, self.params["source_host"], self.params["source_password"]))
        except Exception as error:  # the drivers share no exception class
            # 3707: no supervisor restarts the server; 2006, 2013: it restarts already.
            if not error.args or error.args[0] not in (3707, 2006, 2013):
                raise Failed("the server refuses to clone: %s" % error)
        finally:
            ended.set()
            watcher.join()
        self.marker.write(stage="restarts")
        self.settle_clone(before)

    def watch_clone(self, server, ended):
        """Write progress down until the clone has ended or the server restarts."""
        while not ended.wait(POLL_SECONDS):
            try:
                self.count_clone(server)
            except Exception:  # the server restarts: there is nothing left to watch
                return

    def count_clone(self, server):
        row = server.rows("SELECT SUM(DATA) AS done, SUM(ESTIMATE) AS whole FROM performance_schema.clone_progress")[0]
        self.marker.write(bytes=int(row["done"] or 0), total=int(row["whole"] or 0) or self.params["expected_bytes"])

    def settle_clone(self, before):
        """After the restart: was it a whole clone, and the replica's own plugins back in place."""
        server = self.wait()
        status = server.rows("SELECT STATE AS state, ERROR_NO AS number, ERROR_MESSAGE AS message"
                             " FROM performance_schema.clone_status")
        if not status or status[0]["state"] != "Completed":
            raise Failed("the clone ended as %s" % (status[0] if status else "unknown to the server"))
        # The watcher has not seen the last of it.
        self.count_clone(server)
        now = dict((row["name"], row["dl"]) for row in server.rows("SELECT name, dl FROM mysql.plugin"))
        for name in sorted(set(now) - set(before)):
            server.rows("UNINSTALL PLUGIN `%s`" % name)
        for name in sorted(set(before) - set(now)):
            server.rows("INSTALL PLUGIN `%s` SONAME %%s" % name, (before[name],))

    # --- streams ---

    def stream(self):
        return seed_link.connect(self.params["source_host"], self.params["port"], self.params["certificate"],
                                 self.params["token"], self.params["wait"])

    def take(self, stream, words, look=None):
        """Feed the source's stream to a program; Failed where either ends badly."""
        received, written = 0, 0.0
        with tempfile.TemporaryFile() as errors:
            # run_command takes its input whole, and this is gigabytes.
            tool = subprocess.Popen(  # pylint: disable=ansible-bad-function
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, cwd="/")
            try:
                for data in seed_link.blocks(stream):
                    if look:
                        look(data)
                    tool.stdin.write(data)
                    received += len(data)
                    if time.monotonic() - written > POLL_SECONDS:
                        written = time.monotonic()
                        self.marker.write(bytes=received)
                tool.stdin.close()
                status = tool.wait()
            except BrokenPipeError:
                status = tool.wait()
            except (OSError, seed_link.Broken) as error:
                tool.kill()
                tool.wait()
                raise Failed(str(error))
            finally:
                stream.close()
            if status:
                errors.seek(0)
                raise Failed("%s ended with status %d: %s" % (
                    os.path.basename(words[0]), status, errors.read().decode("utf-8", "replace").strip()[-500:]))
        self.marker.write(bytes=received)

    # --- dump ---

    def dump(self):
        stream, head, tail = self.stream(), b"", b""
        server = self.server()
        mariadb = self.params["mariadb"]
        self.need_space(self.variable("datadir"))
        self.marker.write(state="loading", stage="clears")
        self.clear(server, mariadb)
        self.marker.write(stage="loads")

        def look(data):
            nonlocal head, tail
            head, tail = head + data[:HEAD_BYTES - len(head)], (tail + data)[-TAIL_BYTES:]

        with seed_source.login_file(self.params) as path:
            self.take(stream, [self.params["tools"]["client"], "--defaults-file=" + path, "--max-allowed-packet=1G",
                               "--init-command=SET SESSION sql_log_bin = 0"], look if mariadb else None)
        if mariadb:
            position = seed.parse_dump_position(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))
            if position is None:
                raise Failed("the dump has no GTID position; it is not used")
            self.server().rows("SET GLOBAL gtid_slave_pos = %s", (position,))

    def clear(self, server, mariadb):
        """Empty a replica that a seeding was interrupted on, or that may be overwritten."""
        server.rows("SET SESSION sql_log_bin = 0")
        for name in server.schemas():
            server.rows("DROP DATABASE `%s`" % name.replace("`", "``"))
        if self.variable("gtid_binlog_state" if mariadb else "gtid_executed"):
            server.rows(self.params["reset"])

    # --- backup ---

    def backup(self):
        datadir = os.path.realpath(self.variable("datadir"))
        self.need_renames(datadir)
        # Renames must stay on one file system: a data directory that is a mount point holds the folder itself.
        parent = os.path.dirname(datadir)
        work = os.path.join(parent if os.stat(parent).st_dev == os.stat(datadir).st_dev else datadir, WORK)
        new, old = os.path.join(work, "new"), os.path.join(work, "old")
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(new, mode=0o700)
        try:
            self.need_space(work)
            self.marker.write(state="copying", stage="copies")
            self.take(self.stream(), [self.params["tools"]["stream"], "-x", "-C", new])
            self.marker.write(stage="prepares")
            self.prepare(new)
            position = self.position(new)
            self.own(new, datadir)
            self.marker.write(state="loading", stage="restarts")
            self.swap(datadir, new, old)
        finally:
            # With old files still in it, it holds all there is.
            if not os.path.isdir(old) or not os.listdir(old) or self.marker.facts.get("stage") == "follows":
                shutil.rmtree(work, ignore_errors=True)
        server = self.wait()
        if self.variable("gtid_binlog_state"):
            server.rows(self.params["reset"])
        server.rows("SET GLOBAL gtid_slave_pos = %s", (position,))

    def prepare(self, folder):
        code, dummy, errors = self.module.run_command(
            [self.params["tools"]["backup"], "--prepare", "--target-dir=" + folder])
        if code != 0:
            raise Failed("the copy is not consistent: %s" % " | ".join(errors.strip().splitlines()[-4:]))

    def position(self, folder):
        for name in POSITIONS:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                with open(path) as handle:
                    try:
                        return seed.parse_backup_position(handle.read())
                    except ValueError as error:
                        raise Failed(str(error))
        raise Failed("the backup has no position of the source's binary log")

    def own(self, folder, datadir):
        """Owner and labels as those of the data directory."""
        stat = os.stat(datadir)
        for path, dummy, names in os.walk(folder):
            for one in [path] + [os.path.join(path, name) for name in names]:
                os.lchown(one, stat.st_uid, stat.st_gid)

    def swap(self, datadir, new, old):
        """Stop the server, put the copy in place of its data, start it; back to the old data where it does not start."""
        os.makedirs(old, mode=0o700, exist_ok=True)
        self.systemctl("stop")
        move(datadir, old)
        move(new, datadir)
        restorecon = self.module.get_bin_path("restorecon")
        if restorecon:
            self.module.run_command([restorecon, "-R", datadir])
        try:
            self.systemctl("start")
            self.wait()
        except Failed as error:
            self.module.run_command(["systemctl", "stop", self.unit])
            move(datadir, new)
            move(old, datadir)
            self.systemctl("start")
            self.marker.write(state="copying")
            raise Failed("%s. The old data directory is back" % error)
        self.marker.write(stage="follows")


def file_system(path, mounts="/proc/self/mounts"):
    """Type of the file system that a folder is on."""
    path, best = os.path.realpath(path), ("", "unknown")
    with open(mounts) as handle:
        for line in handle:
            point, kind = line.split()[1:3]
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1]


def move(source, target):
    """Every entry of a folder into another on the same file system."""
    for name in sorted(os.listdir(source)):
        if name not in KEPT:
            os.rename(os.path.join(source, name), os.path.join(target, name))
