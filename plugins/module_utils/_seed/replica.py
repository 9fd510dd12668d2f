# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replica's part of a seeding: take the copy, put it in place, set the position from which
replication continues.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, cast

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import command, trust
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._seed import backup, copying, marker
from ansible_collections.dbre.semisync.plugins.module_utils._seed.donor import dynamic_plugins
from ansible_collections.dbre.semisync.plugins.module_utils._seed.folders import file_system
from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker_writing import Marker
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils._seed.stream import (
    StreamError,
    blocks,
    connect,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    client_login,
    connection,
    login,
    values,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

POLL_SECONDS = 1
# Seconds for a connection to the source's stream, which is already offered.
WAIT_SECONDS = 10
# By default the server tries TLS first.
CLONE_TLS = {"required": " REQUIRE SSL", "any": "", "disabled": " REQUIRE NO SSL"}
# Bytes of a dump's ends that are read: the accounts are at the beginning, a trailer and privileges
# on single tables after the data.
HEAD_BYTES, TAIL_BYTES = 1 << 22, 1 << 20


def client_words(program: str, path: str, engine: str) -> list[str]:
    """The client that loads a dump. root runs it, and the dump comes from another host: so the
    client's own commands, which run programs and open files, are disabled.

    Args:
        program: path of mysql or mariadb.
        path: option file with the login.
        engine: of the server; MariaDB's option is loose, because its first versions lack it.
    """
    words = [
        program,
        "--defaults-file=" + path,
        "--max-allowed-packet=1G",
        "--init-command=SET SESSION sql_log_bin = 0",
        "--local-infile=0",
        "--loose-binary-mode",
    ]
    return [*words, "--loose-sandbox"] if engine == "mariadb" else words


class Replica:
    """One replica while it is seeded.

    Args:
        module: AnsibleModule with the login, for its parameters and run_command.
        marker: that of this server, held.
        names: of this server.
    """

    def __init__(
        self,
        module: AnsibleModule,
        marker: Marker,
        names: Names,
    ) -> None:
        self.module, self.params, self.marker = module, module.params, marker
        self.names, self.unit = names, self.params["unit"]

    def server(self) -> Server:
        """A new connection."""
        return connection.Server(login.connect(self.module))

    def variable(self, name: str) -> Any:
        """The value of a global variable."""
        return self.server().rows(f"SELECT @@GLOBAL.{name} AS value")[0]["value"]

    def systemctl(self, verb: str) -> str:
        """What systemctl prints for the server's unit; SeedError if it fails."""
        code, output, errors = command.run(self.module, ["systemctl", verb, self.unit])
        if code != 0 and verb != "is-active":
            raise SeedError(f"systemctl {verb} {self.unit}: {(errors or output).strip()}")
        return output.strip()

    def wait(self) -> Server:
        """The server, once it responds; start it if it does not start by itself."""
        reason = ""

        def answering() -> Server | None:
            nonlocal reason
            try:
                return self.server()
            except ServerError as error:
                reason = login.explain(error, self.params)
            if self.systemctl("is-active") in ("inactive", "failed"):
                self.systemctl("start")
            return None

        server = wait_until(answering, self.params["restart_timeout"], POLL_SECONDS)
        if server is None:
            raise SeedError(f"the replica's server has the data, but: {reason}")
        return server

    def need_space(self, folder: str) -> None:
        """Fail if the copy would fill the file system."""
        stat = os.statvfs(folder)
        free = stat.f_bavail * stat.f_frsize
        if free < self.params["expected_bytes"] * 1.1:
            raise SeedError(
                f"{folder} has {values.amount(free)} free, and"
                f" {values.amount(self.params['expected_bytes'] * 1.1)} are needed; nothing was"
                " changed"
            )

    def need_renames(self, folder: str) -> None:
        """Fail if directories cannot be renamed: an overlay without redirect_dir, as of a
        container without a volume.
        """
        kind = file_system(folder)
        if "overlay" in kind:
            raise SeedError(
                f"the data directory {folder} is on {kind}, where directories cannot be renamed;"
                " nothing was changed. Put it on a volume, or set semisync_seed_method=dump"
            )

    # --- clone ---

    def clone(self) -> None:
        """Seed by the clone plugin."""
        server, datadir = self.server(), self.variable("datadir")
        self.need_space(datadir)
        self.need_renames(datadir)
        before = self.marker.facts.get("plugins")
        if before is None:
            before = {
                row["name"]: row["dl"] for row in server.rows("SELECT name, dl FROM mysql.plugin")
            }
        self.marker.write(state="loading", stage="clone", plugins=before)
        active = dynamic_plugins(server)
        for name, library in sorted(dict(self.params["plugins"], clone="mysql_clone.so").items()):
            if name not in active:
                server.rows(f"INSTALL PLUGIN {quote(name)} SONAME %s", (library,))
        server.rows(
            "SET GLOBAL clone_valid_donor_list = %s",
            (f"{self.params['source_host']}:{self.params['source_port']}",),
        )
        authority = self.verify_donor(server)
        ended = threading.Event()
        watcher = threading.Thread(target=self.watch_clone, args=(self.server(), ended))
        watcher.start()
        try:
            server.rows(
                f"CLONE INSTANCE FROM %s@%s:{self.params['source_port']} IDENTIFIED BY"
                f" %s{CLONE_TLS[self.params['tls']]}",
                (marker.DONOR, self.params["source_host"], self.params["password"]),
            )
        except ServerError as error:
            # 3707: no supervisor restarts the server; 2006, 2013: it is already restarting.
            if error.number not in (3707, 2006, 2013):
                if self.params["tls_ca"]:
                    self.set_authority(server, authority)
                raise SeedError(f"the server refuses to clone: {error}") from error
        finally:
            ended.set()
            watcher.join()
        self.marker.write(stage="restarts")
        self.settle_clone(before)

    def verify_donor(self, server: Server) -> str:
        """Make the clone trust one authority; return the one that was trusted before. A server that
        has restarted with its clone has lost the setting.
        """
        before = text(self.variable("clone_ssl_ca") or "")
        if self.params["tls_ca"]:
            self.set_authority(server, self.params["tls_ca"])
        return before

    def set_authority(self, server: Server, path: str) -> None:
        server.rows("SET GLOBAL clone_ssl_ca = %s", (path,))

    def watch_clone(self, server: Server, ended: threading.Event) -> None:
        """Record progress until the clone has ended or the server restarts."""
        while not ended.wait(POLL_SECONDS):
            try:
                self.count_clone(server)
            except ServerError:  # it restarts: there is nothing left to watch
                return

    def count_clone(self, server: Server) -> None:
        """Record how much has arrived."""
        row = server.rows(
            "SELECT SUM(DATA) AS done, SUM(ESTIMATE) AS whole FROM"
            " performance_schema.clone_progress"
        )[0]
        self.marker.write(
            bytes=int(row["done"] or 0),
            total=int(row["whole"] or 0) or self.params["expected_bytes"],
        )

    def settle_clone(self, before: Mapping[str, str]) -> None:
        """After the restart, check that the clone is complete, and restore the replica's own
        plugins.
        """
        server = self.wait()
        status = server.rows(
            "SELECT STATE AS state, ERROR_NO AS number, ERROR_MESSAGE AS message"
            " FROM performance_schema.clone_status"
        )
        if not status or status[0]["state"] != "Completed":
            raise SeedError(
                f"the clone ended as {status[0] if status else 'unknown to the server'}"
            )
        # The watcher has not seen the final amount.
        self.count_clone(server)
        now = {row["name"]: row["dl"] for row in server.rows("SELECT name, dl FROM mysql.plugin")}
        for name in sorted(set(now) - set(before)):
            server.rows(f"UNINSTALL PLUGIN {quote(name)}")
        for name in sorted(set(before) - set(now)):
            server.rows(f"INSTALL PLUGIN {quote(name)} SONAME %s", (before[name],))

    # --- streams ---

    def stream(self) -> ssl.SSLSocket:
        """The source's stream."""
        return connect(
            self.params["source_host"],
            self.params["port"],
            self.params["certificate"],
            self.params["token"],
            WAIT_SECONDS,
        )

    def feed(
        self,
        tool_input: IO[bytes],
        incoming: Iterable[bytes],
        look: Callable[[bytes], None] | None,
    ) -> int:
        """Write the stream to a program; how many bytes it took.

        A program that stops reading says why when it ends.
        """
        received, written = 0, 0.0
        with contextlib.suppress(BrokenPipeError):
            for data in incoming:
                if look:
                    look(data)
                tool_input.write(data)
                received += len(data)
                if time.monotonic() - written > POLL_SECONDS:
                    written = time.monotonic()
                    self.marker.write(bytes=received)
            tool_input.close()
        return received

    def take(
        self,
        stream: ssl.SSLSocket,
        incoming: Iterable[bytes],
        words: list[str],
        look: Callable[[bytes], None] | None = None,
    ) -> None:
        """Feed the source's stream to a program; SeedError if either ends badly.

        Args:
            incoming: the stream's blocks.
        """
        with tempfile.TemporaryFile() as errors:
            # run_command takes its whole input at once, and this is gigabytes.
            tool = subprocess.Popen(  # noqa: S603 # pylint: disable=ansible-bad-function
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, cwd="/"
            )
            try:
                received = self.feed(cast(IO[bytes], tool.stdin), incoming, look)
                status = tool.wait()
            except (OSError, StreamError) as error:
                tool.kill()
                tool.wait()
                raise SeedError(str(error)) from error
            finally:
                stream.close()
            if status:
                errors.seek(0)
                raise SeedError(
                    f"{os.path.basename(words[0])} ended with status {status}:"
                    f" {errors.read().decode('utf-8', 'replace').strip()[-500:]}"
                )
        self.marker.write(bytes=received)

    # --- dump ---

    def dump(self) -> None:
        """Seed by a dump."""
        stream, head, tail = self.stream(), b"", b""
        incoming: Iterator[bytes] = blocks(stream)
        server = self.server()
        mariadb = self.names.mariadb
        self.need_space(self.variable("datadir"))
        # Nothing is changed before the source's program is seen to work.
        incoming = itertools.chain([next(incoming, b"")], incoming)
        self.marker.write(state="loading", stage="clears")
        self.clear(server)
        self.marker.write(stage="loads")

        def look(data: bytes) -> None:
            nonlocal head, tail
            head, tail = head + data[: HEAD_BYTES - len(head)], (tail + data)[-TAIL_BYTES:]

        client = self.params["tools"]["client"]
        with client_login.client_file(self.params) as path:
            trust.hand_over(client, path)
            self.take(
                stream,
                incoming,
                trust.trusted_command(client_words(client, path, self.names.engine)),
                look if mariadb else None,
            )
        if mariadb:
            position = copying.parse_dump_position(
                head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
            )
            if position is None:
                raise SeedError("the dump has no GTID position; it is not used")
            self.server().rows("SET GLOBAL gtid_slave_pos = %s", (position,))

    def clear(self, server: Server) -> None:
        """Empty a replica after an interrupted seeding, or if it may be overwritten."""
        server.rows("SET SESSION sql_log_bin = 0")
        for name in server.schemas():
            server.rows(f"DROP DATABASE {quote(name)}")
        if self.variable("gtid_binlog_state" if self.names.mariadb else "gtid_executed"):
            server.rows(self.names.reset_binary_logs)

    def backup(self) -> None:
        """Seed by mariadb-backup."""
        backup.seed(self)
