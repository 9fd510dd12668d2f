#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_seed
short_description: (internal) Give a new replica its source's data
version_added: "1.0.0"
description:
  - Copies the source's data to a replica in parts, by the clone plugin, by mariadb-backup or by a
    dump - O(part=prepare), O(part=send) and O(part=offered) on the source, O(part=seen) and
    O(part=take) on the replica, O(part=clear) on the source again. The role
    P(dbre.semisync.seed#role) makes the calls.
  - Where the copy is under way it runs on the hosts alone. The controller shows a line of progress
    every few seconds; where the controller goes away the copy goes on, and a later run waits for
    its end.
  - Writes down in C(/var/lib/dbre-semisync) how far it is. A seeding that was interrupted is
    recognised by that, and begins again at the next run.
  - Whether the replica may be overwritten is decided by M(dbre.semisync.semisync_plan), not here.
options:
  part:
    description:
      - V(seen) says as which host the source sees this replica, for the account of a clone. It logs
        in with a name that has no account, and reads the refusal.
      - V(prepare) says how much there is to copy, and refuses tables that this method cannot copy
        faithfully. For a clone it installs the clone plugin where it is missing, and creates the
        account C(dbre_semisync_seed) with the privilege C(BACKUP_ADMIN) alone, outside the binary
        log and for O(donor_host) alone.
      - V(send) listens on O(port) until the replica that knows O(token) comes, then sends it the
        output of mariadb-backup or of the dump program, over TLS. Where nobody comes within two
        minutes it ends, and has changed nothing. Run it with C(async) and C(poll=0). It does
        nothing in check mode.
      - V(offered) waits until V(send) listens, and fails with the reason of V(send) as soon as that
        has ended. It asks no server.
      - V(take) replaces the data of this server with the copy, and sets the GTID position that
        replication goes on from.
      - V(clear) drops the account of a clone, and the clone plugin where it was installed for this;
        a note in C(/var/lib/dbre-semisync) says so, also after a run that was interrupted.
    type: str
    choices: [seen, prepare, send, offered, take, clear]
    required: true
  method:
    description: How the data are copied. A clone needs no V(send), the others no V(clear).
    type: str
    choices: [clone, backup, dump]
    required: true
  password:
    description: Password of the account C(dbre_semisync_seed) on the source, for a clone.
    type: str
  tls:
    description:
      - Whether that account, and the clone, must use TLS, must not, or whatever the servers agree
        on (V(any)), which is TLS if both have it.
    type: str
    choices: [required, any, disabled]
    default: required
  tls_ca:
    description: Certificate authority, a file on the replica, that must have signed the source's
      certificate, for a clone.
    type: path
  donor_host:
    description:
      - Host that the account C(dbre_semisync_seed) may log in from, as O(part=seen) says it.
      - Empty where that is not known; then the account may log in from everywhere.
    type: str
    default: ''
  port:
    description: TCP port on the source for the stream of a backup or dump.
    type: int
    default: 4444
  certificate:
    description: Certificate for this one stream, as PEM.
    type: str
  key:
    description: Its private key, as PEM, for V(send).
    type: str
  token:
    description: Secret that the stream asks for.
    type: str
  tools:
    description: Paths of the programs C(backup), C(dump), C(stream) and C(client) on this host.
    type: dict
  job:
    description: Where Ansible keeps the result of V(send) on this host, for V(offered).
    type: path
  wait:
    description: Seconds that V(offered) waits; V(send) reads the accounts before it listens, and
      waits for a port that another seeding has.
    type: int
    default: 300
  source:
    description: Inventory name of the source, for what V(take) writes down.
    type: str
  source_host:
    description: Address of the source as this replica reaches it.
    type: str
  source_port:
    description: Port of its server, for a clone.
    type: int
    default: 3306
  plugins:
    description: Plugins from a library that are active on the source, for a clone.
    type: dict
    default: {}
  expected_bytes:
    description: How much there is to copy.
    type: int
    default: 0
  unit:
    description: systemd unit of this server, for V(take).
    type: str
  restart_timeout:
    description: Seconds this server may take to restart.
    type: int
    default: 120
  seen_at:
    description: Time in what a seeding had written down when this one was planned. One that has
      ended since is enough.
    type: float
    default: 0
  timeout:
    description: Seconds that V(take) may take.
    type: int
    default: 86400
  progress_seconds:
    description: Seconds between two lines of progress.
    type: int
    default: 5
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_catch_up
"""

EXAMPLES = r"""
- name: Make the source ready for a clone
  dbre.semisync.semisync_seed:
    part: prepare
    method: clone
    password: "{{ keys.password }}"

- name: Clone the source
  dbre.semisync.semisync_seed:
    part: take
    method: clone
    source: db1
    source_host: db1.example.com
    password: "{{ keys.password }}"
    unit: mysql

- name: Drop what the clone needed
  dbre.semisync.semisync_seed:
    part: clear
    method: clone

- name: Offer a backup
  dbre.semisync.semisync_seed:
    part: send
    method: backup
    certificate: "{{ keys.certificate }}"
    key: "{{ keys.key }}"
    token: "{{ keys.token }}"
    tools: "{{ source.tools }}"
  async: 86400
  poll: 0
  register: offer

- name: Wait until it listens, or has failed
  dbre.semisync.semisync_seed:
    part: offered
    method: backup
    certificate: "{{ keys.certificate }}"
    job: "{{ offer.results_file }}"
"""

RETURN = r"""
bytes:
  description: How much there is to copy, as the server estimates it, or how much came.
  returned: O(part=prepare) or O(part=take)
  type: int
tables:
  description: How many tables there are.
  returned: O(part=prepare)
  type: int
schemas:
  description: The schemas that are not the server's own.
  returned: O(part=prepare)
  type: list
  elements: str
unfit:
  description: Tables that are not InnoDB; a method that cannot copy them has failed.
  returned: O(part=prepare)
  type: list
  elements: str
left_out:
  description:
    - Privileges on single tables and routines that the source no longer has.
    - A dump leaves them out, with a warning.
  returned: O(part=prepare) with O(method=dump)
  type: list
  elements: str
plugins:
  description: Active plugins from a library, and their libraries.
  returned: O(part=prepare)
  type: dict
host:
  description: As which host the source sees this replica; empty if it does not tell.
  returned: O(part=seen)
  type: str
installed:
  description: Whether the clone plugin was installed for this.
  returned: O(part=prepare)
  type: bool
sent:
  description: Bytes that were sent.
  returned: O(part=send)
  type: int
seconds:
  description: How long it took.
  returned: O(part=take) or O(part=offered)
  type: float
reason:
  description: V(no_answer) where the source's stream could not be reached, else V(failed).
  returned: failure
  type: str
"""


from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.seed.donor import (
    clear,
    prepare,
    seen_as,
)
from ansible_collections.dbre.semisync.plugins.module_utils.seed.offer import offered
from ansible_collections.dbre.semisync.plugins.module_utils.seed.sender import send
from ansible_collections.dbre.semisync.plugins.module_utils.seed.stream import (
    NoAnswerError,
    StreamError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.seed.take import take
from ansible_collections.dbre.semisync.plugins.module_utils.seed.wrong import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login

# What a part needs with every method.
PART_NEEDS = [
    ("part", "send", ("certificate", "key", "token", "tools")),
    ("part", "offered", ("certificate", "job")),
    ("part", "seen", ("source_host",)),
    ("part", "take", ("source", "source_host", "unit")),
]
# What it needs beside that with one of them.
METHOD_NEEDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("prepare", "clone"): ("password",),
    ("take", "clone"): ("password",),
    ("take", "backup"): ("certificate", "token", "tools"),
    ("take", "dump"): ("certificate", "token", "tools"),
}


def missing_options(params: Mapping[str, object]) -> list[str]:
    """Options that this part needs with this method, and that are not given."""
    needs = METHOD_NEEDS.get((str(params["part"]), str(params["method"])), ())
    return [name for name in needs if not params[name]]


OPTIONS: dict[str, object] = {
    "part": {
        "type": "str",
        "choices": [
            "seen",
            "prepare",
            "send",
            "offered",
            "take",
            "clear",
        ],
        "required": True,
    },
    "method": {"type": "str", "choices": ["clone", "backup", "dump"], "required": True},
    "password": {"type": "str", "no_log": True},
    "tls": {"type": "str", "choices": ["required", "any", "disabled"], "default": "required"},
    "tls_ca": {"type": "path"},
    "donor_host": {"type": "str", "default": ""},
    "port": {"type": "int", "default": 4444},
    "certificate": {"type": "str"},
    "key": {"type": "str", "no_log": True},
    "token": {"type": "str", "no_log": True},
    "tools": {"type": "dict"},
    "job": {"type": "path"},
    "wait": {"type": "int", "default": 300},
    "source": {"type": "str"},
    "source_host": {"type": "str"},
    "source_port": {"type": "int", "default": 3306},
    "plugins": {"type": "dict", "default": {}},
    "expected_bytes": {"type": "int", "default": 0},
    "unit": {"type": "str"},
    "restart_timeout": {"type": "int", "default": 120},
    "seen_at": {"type": "float", "default": 0},
    "timeout": {"type": "int", "default": 86400},
    "progress_seconds": {"type": "int", "default": 5},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(**OPTIONS),
        required_if=PART_NEEDS,
        supports_check_mode=True,
    )
    part = module.params["part"]
    missing = missing_options(module.params)
    if missing:
        module.fail_json(
            msg=f"part {part} with method {module.params['method']} needs {', '.join(missing)}"
        )
    if part in ("prepare", "clear"):
        run = prepare if part == "prepare" else clear
        connection.work(module, run, "the source cannot be asked")
    if part == "seen":
        login.require_driver(module)
        module.exit_json(changed=False, host=seen_as(module.params))
    if module.check_mode:
        module.exit_json(changed=part == "take")
    try:
        result = {"send": send, "offered": offered, "take": take}[part](module)
    except (SeedError, StreamError) as error:
        no_answer = isinstance(error, NoAnswerError) or isinstance(error.__cause__, NoAnswerError)
        module.fail_json(msg=str(error), reason="no_answer" if no_answer else "failed")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
