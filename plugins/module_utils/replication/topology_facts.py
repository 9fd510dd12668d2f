# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The little that has to be known of every server of a cluster to say who is the source: in the
shape that semisync_info has it.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.server.channels import default_channel
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import (
    Server,
    identify,
)
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Standing

VARIABLES = ("server_uuid", "server_id", "port", "read_only")


def read_standing(server: Server, schema: str) -> Standing:
    """Who a server is, whom it follows, whether it takes writes, and what its journal says.

    Args:
        server: the server.
        schema: the journal's.
    """
    variables = server.variables()
    return {
        "variables": {name: variables.get(name) for name in VARIABLES},
        "channel": default_channel(server.channels(identify(server))),
        "journal": journal.newest(server, schema),
        "held": journal.past(server, schema)["held"],
    }
