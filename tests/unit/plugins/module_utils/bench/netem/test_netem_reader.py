# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel that cannot delay packets."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import netem_reader


class Kernel:
    """A host whose programs are there, or not, and what its kernel says to netem."""

    def __init__(self, status, errors, lacks=(), check_mode=False):
        self.said, self.lacks, self.asked = (status, "", errors), lacks, []
        self.check_mode = check_mode

    def get_bin_path(self, name, **_more):
        return None if name in (*self.lacks, "modprobe") else f"/sbin/{name}"

    def run_command(self, words, **_more):
        self.asked.append(words)
        return self.said


@pytest.mark.parametrize(
    "host,words",
    [
        (Kernel(0, ""), ""),
        (Kernel(2, "Error: Specified qdisc kind is unknown.\n"), "has no netem"),
        # In a container without that capability it is not known.
        (Kernel(1, "unshare: unshare failed: Operation not permitted\n"), ""),
        (Kernel(0, "", lacks=("unshare",)), ""),
        # It would load a module of the kernel.
        (Kernel(2, "Error: Specified qdisc kind is unknown.\n", check_mode=True), ""),
        (Kernel(0, "", lacks=("tc",)), "the program tc is missing"),
    ],
)
def test_a_kernel_without_netem_is_known_before_anything_is_delayed(host, words, monkeypatch):
    # What this machine's kernel says of itself is another test's.
    monkeypatch.setattr(netem_reader, "missing_modules", lambda *_words: set())
    said = netem_reader.NetReader(host).why_no_delay()
    assert (words in said) if words else said == ""
    # Nothing of the host's own network is touched.
    assert all(asked[:2] == ["/sbin/unshare", "--net"] for asked in host.asked)
