# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of tasks that a user names, as hooks: whether Ansible could include one."""

from __future__ import annotations

import yaml


def unusable_tasks(path: str) -> str:
    """What a file of tasks must be that it is not, in words; empty if it can be included."""
    try:
        with open(path, encoding="utf-8") as stream:
            # Not constructed: tags such as !unsafe and !vault are Ansible's business.
            node = yaml.compose(stream, Loader=yaml.SafeLoader)
    except OSError as error:
        return f"a file that can be read on the controller ({error.strerror})"
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return f"a file of tasks ({' '.join(str(error).split())})"
    tasks = getattr(node, "value", None)
    if (
        not isinstance(node, yaml.SequenceNode)
        or not tasks
        or not all(isinstance(task, yaml.MappingNode) for task in tasks)
    ):
        return "a file of tasks: a list, as in a role's tasks/main.yml"
    return ""
