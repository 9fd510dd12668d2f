#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: netem
short_description: Delay the traffic to some peers only, with an automatic rollback
version_added: "1.0.0"
description:
  - Adds delay, jitter, loss or a rate to what this host sends to the given peers, with the kernel's
    C(netem). Traffic to every other address is unchanged. Delay on one side adds once to the round
    trip; on both sides, twice.
  - The interface's root qdisc is left as it is. A C(clsact) filter on each peer's address sends its
    packets through a device of the module's own (an C(ifb) named C(semisync-nm0)), whose root qdisc
    is netem. If the kernel cannot do that, netem goes under an C(htb) root qdisc, which replaces
    the kernel's default one; an administrator's qdisc is never replaced.
  - A systemd timer on the host removes the delay after O(rollback_after) seconds. It is started
    before the delay and stopped after the removal, so that a lost controller, a cut connection or a
    killed run leaves no delay. A reboot ends both.
  - A host has one delay. O(state=present) makes it the delay of exactly the given peers.
options:
  state:
    description: V(present) adds the delay or changes it in place, V(absent) removes everything that
      the module added.
    type: str
    choices: [present, absent]
    default: present
  peers:
    description:
      - IPv4 and IPv6 addresses, as they appear in the packets; needed with O(state=present).
      - With O(state=absent) only their round trips are measured; by default those of the peers that
        were delayed.
    type: list
    elements: str
    default: []
  interface:
    description: The interface by which the packets leave the host; by default that of the route to
      each peer.
    type: str
  delay_ms:
    description: Milliseconds by which each packet is delayed, up to 10000; needed with
      O(state=present).
    type: float
  jitter_ms:
    description: Milliseconds by which the delay varies, up to the delay itself. Jitter reorders
      packets.
    type: float
    default: 0
  loss:
    description: Percentage of packets that are dropped at random.
    type: float
    default: 0
  rate:
    description: Bits per second to which the traffic is limited, in tc's notation, such as
      V(100mbit).
    type: str
  limit:
    description:
      - The most packets that netem holds; it drops any more.
      - By default 1.5 times what O(rate), or the interface's speed, or 10 Gbit/s if that is not
        known, sends in
        packets of the interface's MTU during the delay; at least 1000.
    type: int
  rollback_after:
    description: Seconds after which the host removes the delay by itself, from 5 to 86400.
    type: int
    default: 600
  ping_count:
    description: ICMP echo requests, 0.2 s apart, for each measurement of each round trip; V(0)
      measures nothing.
    type: int
    default: 5
notes:
  - Needs CAP_NET_ADMIN (use C(become)), systemd, and the programs C(tc), C(ip) and C(ping) of
    iproute2 and iputils.
  - Refuses a peer that Ansible's own SSH connection comes from. If the environment does not
    identify that connection (a background task under sudo), any peer with a connection to this
    host's sshd is refused.
  - A repeated call restarts the time of O(rollback_after). This alone is not reported as a change.
  - Fails, and removes everything again, if a peer replies sooner than its delay allows.
extends_documentation_fragment:
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: 90 ms to the replica, for ten minutes at most
  dbre.semisync.netem:
    peers: ["192.0.2.11"]
    delay_ms: 90
  become: true

- name: A worse line to two replicas, for a minute at most
  dbre.semisync.netem:
    peers: ["192.0.2.11", "2001:db8::12"]
    delay_ms: 40
    jitter_ms: 5
    loss: 0.1
    rate: 100mbit
    rollback_after: 60
  become: true

- name: No delay
  dbre.semisync.netem:
    state: absent
  become: true
"""

RETURN = r"""
way:
  description: V(redirect) or V(root), as described above; null without a delay.
  returned: success
  type: str
  sample: redirect
targets:
  description: The interface by which each peer is delayed, by address.
  returned: success
  type: dict
  sample: {"192.0.2.11": "eth0"}
limit:
  description: The most packets that netem holds.
  returned: with state present
  type: int
  sample: 112500
commands:
  description: The commands that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
command:
  description: For each netem qdisc, the one command with the same effect on the traffic that
    reaches it.
  returned: success
  type: list
  elements: str
  sample: ["tc qdisc add dev semisync-nm0 root netem limit 112500 delay 90ms"]
shown:
  description: The lines of C(tc qdisc show) with the module's netem; in check mode those to be
    expected.
  returned: success
  type: list
  elements: str
  sample: ["qdisc netem 8001: dev semisync-nm0 root refcnt 2 limit 112500 delay 90ms"]
qdiscs_before:
  description: All qdiscs of the host as in C(tc -json qdisc show), without counters.
  returned: success
  type: list
  elements: dict
qdiscs_after:
  description:
    - The same afterwards. In check mode the expected ones, without the default root qdisc that
      returns after V(root).
  returned: success
  type: list
  elements: dict
rtt_before:
  description:
    - "By peer: C(sent), C(received), and in milliseconds C(min), C(median), C(avg), C(max) of the
      round trips before any change; those four are null without a reply."
  returned: success
  type: dict
  sample: {"192.0.2.11": {"sent": 5, "received": 5, "min": 0.21, "median": 0.24, "avg": 0.25, "max":
    0.31}}
rtt_after:
  description: The same afterwards; null in check mode.
  returned: success
  type: dict
dropped:
  description:
    - Packets that netem dropped since it was added; with O(state=absent), until it was removed.
      Packets lost on purpose (O(loss)) count as well.
  returned: success
  type: int
  sample: 0
backlog:
  description: Packets that netem held at that time.
  returned: success
  type: int
  sample: 0
rollback_at:
  description: When the host removes the delay by itself, UTC; null without a delay.
  returned: success
  type: str
  sample: "2026-01-31T12:00:00Z"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import (
    delay,
    delay_options,
    netem_host,
    tc_output,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "peers": {"type": "list", "elements": "str", "default": []},
            "interface": {"type": "str"},
            "delay_ms": {"type": "float"},
            "jitter_ms": {"type": "float", "default": 0},
            "loss": {"type": "float", "default": 0},
            "rate": {"type": "str"},
            "limit": {"type": "int"},
            "rollback_after": {"type": "int", "default": 600},
            "ping_count": {"type": "int", "default": 5},
        },
        required_if=[("state", "present", ["peers", "delay_ms"])],
        supports_check_mode=True,
    )
    task = delay.present if module.params["state"] == "present" else delay.absent
    try:
        result = task(netem_host.NetemHost(module), module.params, module.check_mode)
    except (delay_options.RefusedError, tc_output.UnreadableError) as error:
        module.fail_json(msg=str(error))
    returned = dict(result)
    del returned["warnings"]
    for text in result["warnings"]:
        module.warn(text)
    module.exit_json(**returned)


if __name__ == "__main__":
    main()
