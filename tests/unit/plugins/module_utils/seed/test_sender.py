# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils.seed.sender import command


def test_no_secret_is_an_argument_of_a_program():
    for method in ("backup", "dump"):
        words = command(
            method,
            {"options": ["--gtid"], "program": "/p", "schemas": ["shop"], "datadir": "/d"},
            "/f",
            "/s",
        )
        assert not any("pass" in word for word in words)
        assert words[1].endswith("=/f")
