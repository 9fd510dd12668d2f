# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What MySQL compresses, unpacked by the host's libzstd: Python has no zstd before 3.14, and
MySQL's own packages need that library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import lru_cache


class ZstdError(Exception):
    """The data is not valid zstd, or not of the stated length."""


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The host's library.

    Raises:
        OSError: there is none.
    """
    try:
        lib = ctypes.CDLL("libzstd.so.1")
    except OSError:
        named = ctypes.util.find_library("zstd")
        if not named:
            raise
        lib = ctypes.CDLL(named)
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    lib.ZSTD_isError.restype = ctypes.c_uint
    lib.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return lib


def decompress(data: bytes, size: int) -> bytes:
    """The bytes that were compressed.

    Args:
        size: how many they are.

    Raises:
        ZstdError: they are not.
        OSError: there is no library.
    """
    lib = library()
    room = ctypes.create_string_buffer(size + 1)
    made = lib.ZSTD_decompress(
        room,
        size + 1,
        data,
        len(data),
    )
    if lib.ZSTD_isError(made) or made != size:
        raise ZstdError(f"{len(data)} bytes are no {size} bytes compressed with zstd")
    return room.raw[:size]
