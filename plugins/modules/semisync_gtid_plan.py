#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_gtid_plan
short_description: Plan how a cluster goes from file and position to GTIDs
version_added: "0.2.0"
description:
  - Looks at the M(dbre.semisync.semisync_info) results of all hosts of a cluster and returns what this one lacks. Runs on the
    controller, in no time.
  - Refuses a cluster where a replica would be sent again what it has, or where a server that is not in the inventory would
    stop replicating. A cluster that replicates by GTID already is left alone.
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_gtid_mode
  - module: dbre.semisync.semisync_gtid_channel
"""

EXAMPLES = r"""
- name: Read every server
  dbre.semisync.semisync_info:
  register: state

- name: Plan the conversion
  dbre.semisync.semisync_gtid_plan:
    info_from: state
  register: conversion
"""

RETURN = r"""
changes:
  description: Whether anything has to be done on this host.
  returned: success
  type: bool
anonymous:
  description: Whether a server of the cluster may write transactions without a GTID, so that all take the steps together.
  returned: success
  type: bool
statements:
  description: The modes that this MySQL server has to take, in their order.
  returned: success
  type: list
  elements: str
option_file:
  description: Place and text of our lines with the modes in them, and whether that is a change.
  returned: success
  type: dict
convert:
  description: Whether this replica's channel follows by file and position.
  returned: success
  type: bool
start:
  description: Whether a conversion that was interrupted left this replica's channel stopped.
  returned: success
  type: bool
"""
