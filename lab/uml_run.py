"""Start User-mode Linux with no open file but the standard ones.

User-mode Linux reboots by executing its own argv[0] again, and every file stays open in it: the old
memory would never be freed and the tap would be busy. With this file as argv[0] a reboot starts
clean.
"""

from __future__ import annotations

import os
import sys

os.closerange(3, 65536)
os.execvp("linux.uml", sys.argv)
