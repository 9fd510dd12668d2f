# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source's end of the stream: a backup or dump, and its accounts with a dump. It is sent by a
job of its own; offered() says whether that job waits for its replica or has failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import trust
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._seed import accounts, stream
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    client_login,
    connection,
    login,
    values,
)

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

# Seconds to wait for the port, and then for the replica.
WAIT_SECONDS = 120
POLL_SECONDS = 0.2


class Serving(TypedDict):
    """A stream that waits for its replica: paths of certificate and key, and the replica's
    token.
    """

    port: int
    certificate: str
    key: str
    token: str


class Copied(NamedTuple):
    """What the copying program gets.

    Attributes:
        program: its path.
        options: names.dump_options.
        schemas: those that are dumped.
        datadir: the server's.
    """

    program: str
    options: list[str]
    schemas: list[str]
    datadir: str


def command(
    method: str,
    info: Copied,
    path: str,
    folder: str,
) -> list[str]:
    """The program whose output is the copy.

    Args:
        method: backup or dump.
        info: what is copied, and by which program.
        path: option file with the login.
        folder: an empty folder for the program's own notes.
    """
    if method == "backup":
        return [
            info.program,
            "--defaults-extra-file=" + path,
            "--backup",
            "--stream=xbstream",
            "--datadir=" + info.datadir,
            "--target-dir=" + folder,
        ]
    words = [
        info.program,
        "--defaults-file=" + path,
        "--single-transaction",
        "--quick",
        "--routines",
        "--events",
        "--triggers",
        "--hex-blob",
        "--max-allowed-packet=1G",
    ]
    # After "--" a schema's name is never an option, whatever it is.
    return [*words, *info.options, "--databases", "--", *info.schemas]


def start_copy(
    words: list[str], errors: IO[bytes], caller: ssl.SSLSocket
) -> subprocess.Popen[bytes]:
    """Start the program that copies; the replica is told if it cannot be run."""
    try:
        # run_command returns its whole output at once, and this is gigabytes.
        return subprocess.Popen(  # noqa: S603 # pylint: disable=ansible-bad-function
            words, stdout=subprocess.PIPE, stderr=errors, cwd="/"
        )
    except OSError as error:
        problem = f"{words[0]} cannot be run: {error}"
        with contextlib.suppress(OSError):
            stream.finish(caller, problem)
        caller.close()
        raise stream.StreamError(problem) from error


def last_words(errors: IO[bytes]) -> str:
    """The end of the program's error output."""
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return " | ".join(lines[-4:])


def send_copy(
    caller: ssl.SSLSocket,
    tool: subprocess.Popen[bytes],
    errors: IO[bytes],
    program: str,
    head: bytes,
    tail: bytes,
) -> tuple[int, str]:
    """Send what the program writes, and how it ended.

    Returns:
        How many bytes the program wrote, and what is wrong with the copy: '' for nothing.
    """
    output = cast(IO[bytes], tool.stdout)
    sent = 0
    try:
        # A program that fails at once has sent nothing: the replica is as it was.
        data = output.read(stream.BLOCK)
        status = tool.wait() if len(data) < stream.BLOCK else 0
        failed = bool(status) or not data
        if head and not failed:
            stream.send(caller, head)
        while data and not status:
            stream.send(caller, data)
            sent += len(data)
            data = output.read(stream.BLOCK)
        status = tool.wait()
        failed = failed or bool(status)
        if tail and not failed:
            stream.send(caller, tail)
        said = f"status {status}" if status else "status 0 and has written no data"
        problem = f"{os.path.basename(program)} ended with {said}: {last_words(errors)}"
        problem = problem if failed else ""
        stream.finish(caller, problem)
    except OSError as error:
        raise stream.StreamError(
            f"the replica disconnected after {values.amount(sent)}: {error}"
        ) from error
    return sent, problem


def serve(
    params: Serving,
    head: bytes,
    words: list[str],
    folder: str,
    tail: bytes = b"",
) -> int:
    """Wait for the replica, send the copy, and return how many bytes that were.

    Args:
        params: port, certificate, key and token of the stream.
        head: bytes before the program's output.
        words: the program and its arguments.
        folder: an empty folder.
        tail: bytes after it, if the program did not fail.

    Raises:
        StreamError: the stream failed or was cut off, or the program failed.
    """
    context = stream.server_context(params["certificate"], params["key"])
    with stream.listen(params["port"], WAIT_SECONDS) as listener:
        caller = stream.accept(listener, context, params["token"], WAIT_SECONDS)
    with tempfile.TemporaryFile(dir=folder) as errors:
        tool = start_copy(words, errors, caller)
        try:
            sent, problem = send_copy(caller, tool, errors, words[0], head, tail)
        finally:
            if tool.poll() is None:
                tool.kill()
                tool.wait()
            caller.close()
    if problem:
        raise stream.StreamError(problem)
    return sent


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """Path of an empty folder, removed afterwards."""
    folder = tempfile.mkdtemp(prefix="dbre-semisync-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def send(module: AnsibleModule) -> dict[str, object]:
    """Offer the copy, and send it to the one replica that asks for it; see part send of
    semisync_seed.

    Raises:
        StreamError: it was not sent completely.
    """
    params = module.params
    server = connection.Server(login.connect_or_fail(module))
    names = connection.identify(server)
    info = Copied(
        program=params["tools"][params["method"]],
        options=names.dump_options or [],
        schemas=server.schemas(),
        datadir=server.variables()["datadir"] or "",
    )
    brought = accounts.read_accounts(server, names) if params["method"] == "dump" else accounts.NONE
    head, tail = ("".join(part).encode("utf-8") for part in (brought.ahead, brought.behind))
    # The copy may take longer than the server keeps an idle connection.
    del server
    with client_login.client_file(params) as path, scratch() as folder:
        words = trust.trusted_command(command(params["method"], info, path, folder))
        trust.hand_over(info.program, path, folder)
        sent = serve(params, head, words, folder, tail)
    return {"changed": False, "sent": sent}


def ending(path: str) -> str:
    """Why a job has ended, from what Ansible keeps of it; empty while it has not.

    Args:
        path: the file of an async task's result.
    """
    try:
        with open(path) as handle:
            result = json.load(handle)
    except (OSError, ValueError):
        return ""  # it is being written at this moment
    if not result.get("finished") and not result.get("failed"):
        return ""
    words = [result.get("msg"), result.get("module_stderr"), result.get("stderr")]
    return next((str(text).strip() for text in words if text), "it ended without a message")


def offered(module: AnsibleModule) -> dict[str, object]:
    """Wait until the sender listens; see part offered of semisync_seed.

    Raises:
        stream.StreamError: it has ended, or does not listen in time.
    """
    params, begin = module.params, time.monotonic()

    def look() -> tuple[bool, str]:
        return stream.answers(params["port"], params["certificate"]), ending(params["job"])

    listens, ended = wait_until(look, params["wait"], POLL_SECONDS, enough=any)
    if not listens:
        late = f"its sender is not listening on port {params['port']} after {params['wait']} s"
        raise stream.StreamError(
            f"the source cannot send its data by {params['method']}: {ended or late}"
        )
    return {"changed": False, "seconds": round(time.monotonic() - begin, 1)}
