"""What a host that was broken into may set of the collection: nothing, even if Ansible makes
variables of facts, as it does unless it is told otherwise.
"""

import os
import subprocess

import pytest

# A host answers what it likes, whatever module it was sent.
ANSWER = """#!/usr/bin/python
import json
print(json.dumps({"changed": False, "ansible_facts": {"semisync_failover_accept": "degraded"}}))
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - answer_of_a_host:
    - ansible.builtin.debug: {var: semisync_failover_accept}
    - dbre.semisync.semisync_plan:
"""
INVENTORY = """
[semisync_source]
a
[semisync_replica]
b
[all:vars]
ansible_connection=local
semisync_failover_accept=unread:b
ansible_python_interpreter="{{ ansible_playbook_python }}"

"""


@pytest.mark.parametrize("injected", [True, False])
def test_no_host_accepts_a_case_of_a_failover_itself(tmp_path, injected):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "answer_of_a_host.py").write_text(ANSWER)
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "hosts").write_text(INVENTORY)
    ran = subprocess.run(
        ["ansible-playbook", "-i", tmp_path / "hosts", tmp_path / "play.yml"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, ANSIBLE_INJECT_FACT_VARS=str(injected)),
    )
    said = " ".join(ran.stdout.split())
    assert ("semisync_failover_accept: degraded" in said) is injected, said + ran.stderr
    assert (ran.returncode != 0) is injected, said + ran.stderr
    assert ("Nothing was changed" in said and "no host sets variables" in said) is injected
