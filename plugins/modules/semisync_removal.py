#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_removal
short_description: Plan how a cluster goes back to asynchronous replication
version_added: "0.2.0"
description:
  - Looks at the M(dbre.semisync.semisync_info) results of all hosts of a cluster and returns what has to be undone on
    this one. Runs on the controller, in no time.
  - What the collection did is told by its lines in the host's option file. Semi-sync that somebody else set up is left.
  - Refuses where a writer would have to wait, or a server could not start again.
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_info
  - module: dbre.semisync.semisync_plan
"""

EXAMPLES = r"""
- name: Read every server
  dbre.semisync.semisync_info:
  register: state

- name: Plan the way back
  dbre.semisync.semisync_removal:
    info_from: state
  register: removal
"""

RETURN = r"""
changes:
  description: Whether anything has to be undone on this host.
  returned: success
  type: bool
switch_off:
  description: Sides of semi-sync that are enabled and ours.
  returned: success
  type: list
  elements: str
  sample: [source]
uninstall:
  description: Sides whose plugin is installed and ours.
  returned: success
  type: list
  elements: str
restart_io:
  description: Whether the replica's IO thread still acknowledges.
  returned: success
  type: bool
start:
  description: Whether only the replica's IO thread is down, as a removal that was broken off may leave it.
  returned: success
  type: bool
option_file:
  description: Path and kind of our option file, and the text of the lines that replication needs, with its place.
  returned: success
  type: dict
remains:
  description: What stays because it is not ours, in words.
  returned: success
  type: list
  elements: str
"""
