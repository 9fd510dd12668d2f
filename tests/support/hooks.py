"""Tasks of a user's, which a change of roles includes."""

from __future__ import annotations

import pathlib

from support.live_hosts import Host

HOOKS = ("before_freeze", "before_open", "fence", "after_open")
# The hook's own account of it: which, from where, to where, whether this server is read-only.
ACCOUNT = """
- name: Write down that it was here
  ansible.builtin.command:
    cmd: >-
      sh -c 'echo {name} {{{{ semisync_from }}}} {{{{ semisync_to }}}}
      $({client} -NBe "SELECT @@GLOBAL.read_only") >> /root/hooks'
  changed_when: true
"""
FAILING = """
- name: Fail
  ansible.builtin.fail:
    msg: the pool does not answer
  when: {condition}
"""
# A host without power, as far as a container can be one.
POWER = """
- name: Switch the power of the old source off
  ansible.builtin.command:
    argv: [docker, kill, "{{ semisync_from }}"]
  delegate_to: localhost
  run_once: true
  changed_when: true
"""


def write(folder: pathlib.Path, name: str, client: str, more: str = "") -> pathlib.Path:
    """The file of a hook that writes a line on every host, and does more."""
    file = folder / f"{name}.yml"
    file.write_text(ACCOUNT.format(name=name, client=client) + more, encoding="utf-8")
    return file


def failing(folder: pathlib.Path, condition: str) -> pathlib.Path:
    """The file of one that fails if a condition holds."""
    file = folder / "failing.yml"
    file.write_text(FAILING.format(condition=condition), encoding="utf-8")
    return file


def accounts(host: Host) -> list[list[str]]:
    """What the hooks have written down on a host: name, from, to, whether it was read-only."""
    return [line.split() for line in host.shell("cat /root/hooks").stdout.splitlines()]
