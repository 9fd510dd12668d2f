"""On a host: puts a disk under dm-log-writes, and marks its log. Debian's hosts have no dmsetup.

log_device.py create NAME DISK LOG
log_device.py mark NAME    writes each line of standard input into the log
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys

CONTROL = "/dev/mapper/control"
# struct dm_ioctl and struct dm_target_spec of linux/dm-ioctl.h.
HEAD = struct.Struct("=3I I I I i I I I Q 128s 129s 7x")
TARGET = struct.Struct("=Q Q i I 16s")
CREATE, SUSPEND, LOAD, MESSAGE = 3, 6, 9, 14
VERSION = (4, 0, 0)


def call(number: int, name: str, body: bytes = b"", targets: int = 0) -> None:
    """One call of the device mapper."""
    size = HEAD.size + len(body)
    head = HEAD.pack(*VERSION, size, HEAD.size, targets, 0, 0, 0, 0, 0, name.encode(), b"")
    buffer = bytearray(head + body)
    # _IOWR(0xfd, number, struct dm_ioctl)
    fcntl.ioctl(CONTROL_FILE, 3 << 30 | HEAD.size << 16 | 0xFD << 8 | number, buffer)


def padded(text: str) -> bytes:
    words = text.encode() + b"\0"
    return words + bytes(-len(words) % 8)


def create(name: str, disk: str, log: str) -> None:
    with open(disk, "rb") as stream:
        sectors = stream.seek(0, os.SEEK_END) // 512
    words = padded(f"{disk} {log}")
    target = TARGET.pack(0, sectors, 0, TARGET.size + len(words), b"log-writes")
    call(CREATE, name)
    call(LOAD, name, target + words, targets=1)
    # Without the flag for it, this resumes the device.
    call(SUSPEND, name)


def mark(name: str) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        call(MESSAGE, name, struct.pack("=Q", 0) + padded(f"mark {line.strip()}"))


CONTROL_FILE = os.open(CONTROL, os.O_RDWR)
if sys.argv[1] == "create":
    create(*sys.argv[2:])
else:
    mark(sys.argv[2])
