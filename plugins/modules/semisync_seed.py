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
  - The copy itself runs on the hosts. The controller shows a line of progress every few seconds; if
    the controller dies the copy continues, and a later run waits for its end.
  - Records its progress in C(/var/lib/dbre-semisync). By that record the next run recognises an
    interrupted seeding, and starts it again.
  - Whether the replica may be overwritten is decided by M(dbre.semisync.semisync_plan), not here.
options:
  part:
    description:
      - V(seen) returns as which host the source sees this replica, for the account of a clone. It
        tries to log in with a name without an account, and reads the refusal.
      - V(prepare) returns how much there is to copy, and refuses tables that this method cannot
        copy faithfully. For a clone it installs the clone plugin if it is missing, and creates the
        account C(dbre_semisync_seed) with only the privilege C(BACKUP_ADMIN), outside the binary
        log and only for O(donor_host).
      - V(send) listens on O(port) until the replica that knows O(token) connects, then sends it the
        output of mariadb-backup or of the dump program, over TLS. If it does not connect within two
        minutes, V(send) ends, and has changed nothing. Run it with C(async) and C(poll=0). It does
        nothing in check mode.
      - V(offered) waits until V(send) listens, and fails with the reason of V(send) as soon as that
        has ended. It queries no server.
      - V(take) replaces the data of this server with the copy, and sets the GTID position from
        which replication continues.
      - V(clear) drops the account of a clone, and the clone plugin if it was installed for this; a
        note in C(/var/lib/dbre-semisync) records that, so that it works after an interrupted run
        too.
    type: str
    choices: [seen, prepare, send, offered, take, clear]
    required: true
  method:
    description: The method to copy the data. A clone needs no V(send), the others no V(clear).
    type: str
    choices: [clone, backup, dump]
    required: true
  password:
    description: Password of the account C(dbre_semisync_seed) on the source, for a clone.
    type: str
  tls:
    description:
      - Whether that account, and the clone, must use TLS, must not, or use what the servers agree
        on (V(any)), which is TLS if both have it.
    version_added: "1.1.0"
    type: str
    choices: [required, any, disabled]
    default: required
  tls_ca:
    description: Certificate authority, a file on the replica, that must have signed the source's
      certificate, for a clone.
    version_added: "1.1.0"
    type: path
  donor_host:
    description:
      - Host that the account C(dbre_semisync_seed) may log in from, as O(part=seen) returned it.
      - Empty if unknown; then the account may log in from everywhere.
    version_added: "1.1.0"
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
    description: Secret that the replica must send to get the stream.
    type: str
  tools:
    description: Paths of the programs C(backup), C(dump), C(stream) and C(client) on this host.
    type: dict
  job:
    description: File in which Ansible keeps the result of V(send) on this host, for V(offered).
    type: path
  wait:
    description: Seconds that V(offered) waits; V(send) reads the accounts before it listens, and
      waits for a port that another seeding uses.
    type: int
    default: 300
  source:
    description: Inventory name of the source, for the record that V(take) writes.
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
    description: Seconds that this server may take to restart.
    type: int
    default: 120
  seen_at:
    description: Time in the record of the last seeding when this one was planned. If a seeding has
      ended since, no other is needed.
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
  description: How much there is to copy, by the server's estimate, or how much was received.
  returned: O(part=prepare) or O(part=take)
  type: int
tables:
  description: Number of tables.
  returned: O(part=prepare)
  type: int
schemas:
  description: The schemas without the server's own ones.
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
  description: As which host the source sees this replica; empty if the source does not report it.
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
  description: V(no_answer) if the source's stream could not be reached, else V(failed).
  returned: failure
  type: str
"""


from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._seed.donor import (
    clear,
    prepare,
    seen_as,
)
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_run import take
from ansible_collections.dbre.semisync.plugins.module_utils._seed.sender import offered, send
from ansible_collections.dbre.semisync.plugins.module_utils._seed.stream import (
    NoAnswerError,
    StreamError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login

# Options that a part needs with every method.
PART_NEEDS = [
    ("part", "send", ("certificate", "key", "token", "tools")),
    ("part", "offered", ("certificate", "job")),
    ("part", "seen", ("source_host",)),
    ("part", "take", ("source", "source_host", "unit")),
]
# Further options that it needs with one method.
METHOD_NEEDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("prepare", "clone"): ("password",),
    ("take", "clone"): ("password",),
    ("take", "backup"): ("certificate", "token", "tools"),
    ("take", "dump"): ("certificate", "token", "tools"),
}


def missing_options(params: Mapping[str, object]) -> list[str]:
    """The options that this part needs with this method and did not get."""
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
