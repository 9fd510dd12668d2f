"""What runs commands in a container for quick_docker.py, started there by a real `docker exec`.

Each connection brings the length of a command, its words, and the files that it reads and writes;
its exit status goes back. It has what `docker exec` gives: the environment, the capabilities, the
namespaces, a session of its own.
"""

from __future__ import annotations

import array
import contextlib
import os
import signal
import socket

PATH = "/run/semisync-exec.sock"
# What docker says of a command that cannot be started.
NOT_STARTED = 126
STANDARD = 3


def environment() -> dict[bytes, bytes]:
    """As docker gave it: Python adds a locale to its own."""
    with open("/proc/self/environ", "rb") as stream:
        pairs = [pair.partition(b"=") for pair in stream.read().split(b"\0") if pair]
    return {name: value for name, _equals, value in pairs}


def request(connection: socket.socket) -> tuple[list[bytes], array.array[int]]:
    """A command's words, and its standard files."""
    files = array.array("i")
    room = socket.CMSG_SPACE(STANDARD * files.itemsize)
    size, ancillary, _flags, _address = connection.recvmsg(4, room)
    for _level, _kind, content in ancillary:
        files.frombytes(content[: len(content) - len(content) % files.itemsize])
    left, words = int.from_bytes(size, "big"), b""
    while len(words) < left:
        part = connection.recv(left - len(words))
        if not part:
            raise OSError("the connection ended")
        words += part
    return words.split(b"\0"), files


def become(words: list[bytes], files: array.array[int]) -> None:
    """Turn this process into the command."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(STANDARD, 1024)
    # Python ignores these.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], words, environment())
    except OSError as error:
        os.write(2, f"exec failed: {words[0].decode()}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def serve(connection: socket.socket) -> None:
    """Say that it is there, run one command, and say how it ended."""
    connection.sendall(b"!")
    words, files = request(connection)
    child = os.fork()
    if not child:
        become(words, files)
    for file in files:
        os.close(file)
    _child, status = os.waitpid(child, 0)
    ended = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    connection.sendall(bytes([ended]))


def main() -> None:
    """A process for each connection."""
    listener = socket.socket(socket.AF_UNIX)
    # Of one before the container was started again.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(PATH)
    mask = os.umask(0o077)
    listener.bind(PATH)
    os.umask(mask)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _address = listener.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            try:
                serve(connection)
            finally:
                os._exit(0)
        connection.close()


if __name__ == "__main__":
    main()
