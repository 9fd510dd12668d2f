# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server's next start makes of it once its fence is gone, of which it gets that much now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files, option_reader
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    dropin_place,
    scheduled_events,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import names_more
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
        OptionFile,
    )


def start_options(
    module: AnsibleModule, option_file: OptionFile, server: Server, names: Names
) -> dict[str, str] | None:
    """What the server starts with once its fence is gone: canonical name -> value. None if that is
    not known.
    """
    if not option_file.reader:
        return None
    pairs = option_reader.printed_pairs(module, option_file.reader)
    if pairs is None:
        return None
    fence = dropin_place.text_of(option_file.path, option_file.kind, option_file.group)
    return {
        **option_files.without_ours(pairs, fence),
        **option_file.command_line,
        **(server.persisted() if names.has_persisted_variables else {}),
    }


def scheduler_steps(options: dict[str, str] | None, server: Server, names: Names) -> list[Step]:
    """The fence kept the event scheduler off: it runs if it does so from the next start on, and as
    it has to if this server becomes the source later.

    Args:
        options: result of start_options().
    """
    if options is None or scheduled_events.scheduler(server) != "OFF":
        return []
    by_default = "ON" if names_more.scheduler_by_default(names) else "OFF"
    # Without a value it is on.
    wanted = canonical_value(options.get("event_scheduler", by_default) or "ON")
    return [(set_statement("event_scheduler", 1), None)] if wanted == "1" else []


def strict_steps(options: dict[str, str] | None, server: Server, names: Names) -> list[Step]:
    """super_read_only kept writers out until now; from now on it is what the next start makes it.

    Args:
        options: result of start_options().
    """
    if options is None or not names.super_read_only:
        return []
    if canonical_value(global_text(server, "super_read_only")) != "1":
        return []
    strict = option_files.is_on(options.get("super_read_only", "OFF"))
    return [] if strict else [("SET GLOBAL super_read_only = 0", None)]
