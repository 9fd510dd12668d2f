"""Sessions that other collections of Ansible's community have, by antsibull-nox.

`pipx run noxfile.py`, or `nox` where antsibull-nox is installed. The checks of this collection
itself are make's targets.
"""

# /// script
# dependencies = ["nox>=2025.02.09", "antsibull-nox>=1.10.0,<2"]
# ///

from __future__ import annotations

import sys

import nox

try:
    import antsibull_nox
except ImportError:
    sys.exit("antsibull-nox is missing in the environment of nox: pip install antsibull-nox")

antsibull_nox.load_antsibull_nox_toml()

if __name__ == "__main__":
    nox.main()
