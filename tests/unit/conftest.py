# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets plain pytest import ansible_collections.* as Ansible does.

This checkout is found wherever it lies, other collections where ANSIBLE_COLLECTIONS_PATH and the
installed Ansible bundle have them. Under ansible-test, which does the same, and without Ansible
nothing is done.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def install_finder():
    """Put Ansible's finder first in sys.meta_path; the folder that it needs, or None."""
    try:
        from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
    except ImportError:
        return None
    if any(isinstance(finder, _AnsibleCollectionFinder) for finder in sys.meta_path):
        return None
    folder = tempfile.TemporaryDirectory(prefix="semisync-unit-")
    namespace = os.path.join(folder.name, "ansible_collections", "dbre")
    os.makedirs(namespace)
    os.symlink(CHECKOUT, os.path.join(namespace, "semisync"))
    others = [
        path for path in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep) if path
    ]
    _AnsibleCollectionFinder(
        paths=[folder.name] + [os.path.expanduser(path) for path in others]
    )._install()
    return folder


FOLDER = install_finder()


def pytest_unconfigure():
    # What tests leave for the end of a run is not said at theirs.
    closing = sys.modules.get(
        "ansible_collections.dbre.semisync.plugins.plugin_utils._common.closing"
    )
    if closing is not None:
        atexit.unregister(closing.close)
    if FOLDER is not None:
        FOLDER.cleanup()
