#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_input
short_description: Refuse public variables that cannot work
version_added: "0.2.0"
description:
  - Judges every public variable of the collection's roles that is set for a host of this host's cluster. Types and choices
    are those of the argument specs; ranges and forms come on top.
  - The message names host, variable, what was found and what is wanted. All that is wrong comes at once.
  - Runs on the controller and connects to nothing.
options: {}
extends_documentation_fragment:
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_plan
"""

EXAMPLES = r"""
- name: Refuse values that cannot work
  dbre.semisync.semisync_input:
"""

RETURN = r"""#"""
