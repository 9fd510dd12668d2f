# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end that modules which work on one server share: connect, work, and leave with a result or in words."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import login, state


def work(module, what, failed):
    """Leave the module with what its work returns, or fail in words.

    Args:
        module: the AnsibleModule, with login's options.
        what: takes (module, state.Server, its names) and returns what exit_json takes. Its ValueErrors, as of a server
            that is not known, speak for themselves.
        failed: what did not work, ahead of anything else that went wrong.
    """
    server = state.Server(login.connect_or_fail(module))
    try:
        result = what(module, server, state.identify(server))
    except ValueError as error:
        module.fail_json(msg=str(error))
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg="%s: %s" % (failed, error))
    module.exit_json(**result)
