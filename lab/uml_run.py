"""Start User-mode Linux with no open file but the standard ones, and with its own C library.

User-mode Linux reboots by executing its own argv[0] again, and every file stays open in it: the old
memory would never be freed. With this file as argv[0] a reboot starts clean.

Debian's current kernel wants a newer C library than this machine may have. An older program runs
with a newer one, so that library is laid over this machine's, where the host's processes alone see
it: `ip netns exec` has given them a mount namespace of their own.
"""

from __future__ import annotations

import ctypes
import os
import sys

LIBRARIES = "usr/lib/x86_64-linux-gnu"
BIND, CLONE_NEWNS = 4096, 0x20000
REC_PRIVATE = 0x44000


def lay_over(kernel: str) -> None:
    """Let the libraries beside the kernel stand in for this machine's."""
    libc = ctypes.CDLL(None, use_errno=True)
    calls = [libc.unshare(CLONE_NEWNS), libc.mount(None, b"/", None, REC_PRIVATE, None)]
    for name in os.listdir(f"{kernel}/{LIBRARIES}"):
        ours, theirs = f"{kernel}/{LIBRARIES}/{name}", f"/{LIBRARIES}/{name}"
        if ".so" in name and os.path.exists(theirs) and not os.path.samefile(ours, theirs):
            calls.append(libc.mount(ours.encode(), theirs.encode(), None, BIND, None))
    if any(calls):
        sys.exit(f"the kernel's C library cannot be used: {os.strerror(ctypes.get_errno())}")


def main() -> None:
    kernel = os.environ["SEMISYNC_UML_KERNEL"]
    os.closerange(3, 65536)
    lay_over(kernel)
    os.execv(f"{kernel}/usr/bin/linux.uml", sys.argv)


main()
