"""What the role preflight knows of systems, from the facts that those systems have: none of the
RedHat and SUSE families can be run here.
"""

import json
import os
import subprocess

SYSTEMS = {
    "debian-12": (("Debian", "Debian", "12", 11), "python3-pymysql", "/etc/mysql/my.cnf"),
    "ubuntu-24": (("Debian", "Ubuntu", "24", 12), "python3-pymysql", "/etc/mysql/my.cnf"),
    "rocky-8-with-3.6": (("RedHat", "Rocky", "8", 6), "python3-PyMySQL", "/etc/my.cnf"),
    "rocky-8-with-3.9": (("RedHat", "Rocky", "8", 9), "python39-PyMySQL", "/etc/my.cnf"),
    "rhel-8-with-3.12": (("RedHat", "RedHat", "8", 12), "python3.12-PyMySQL", "/etc/my.cnf"),
    "alma-9": (("RedHat", "AlmaLinux", "9", 9), "python3-PyMySQL", "/etc/my.cnf"),
    "alma-9-with-3.11": (("RedHat", "AlmaLinux", "9", 11), "python3.11-PyMySQL", "/etc/my.cnf"),
    "rhel-10": (("RedHat", "RedHat", "10", 12), "python3-PyMySQL", "/etc/my.cnf"),
    "fedora-43": (("RedHat", "Fedora", "43", 14), "python3-PyMySQL", "/etc/my.cnf"),
    "leap-15": (("Suse", "openSUSE Leap", "15", 11), "python311-PyMySQL", "/etc/my.cnf"),
    "arch": (("Archlinux", "Archlinux", "NA", 13), "", "/etc/my.cnf"),
}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact: {os_family: "{{ facts[0] }}", distribution: "{{ facts[1] }}",
                                 distribution_major_version: "{{ facts[2] }}",
                                 python: {version: {minor: "{{ facts[3] | int }}"}},
                                 cacheable: true}
    - ansible.builtin.include_role: {name: dbre.semisync.preflight, tasks_from: system}
    - ansible.builtin.set_fact:
        known: "{{ [_semisync_pymysql, _semisync_option_files[0],
                    _semisync_units | sort | join(' ')] }}"
    - ansible.builtin.copy:
        dest: "{{ playbook_dir }}/known.json"
        content: >-
          {{ dict(groups.all | zip(groups.all | map('extract', hostvars, 'known'))) | to_json }}
      run_once: true
"""


def test_package_and_places_of_each_system(tmp_path):
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "hosts.json").write_text(
        json.dumps(
            {
                "all": {
                    "vars": {
                        "ansible_connection": "local",
                        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
                    },
                    "hosts": {
                        name: {"facts": facts} for name, (facts, dummy, dummy2) in SYSTEMS.items()
                    },
                }
            }
        )
    )
    ran = subprocess.run(
        ["ansible-playbook", "-i", tmp_path / "hosts.json", tmp_path / "play.yml"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, ANSIBLE_FORKS="4"),
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads((tmp_path / "known.json").read_text()) == {
        name: [package, place, "mariadb mysql mysqld"]
        for name, (dummy, package, place) in SYSTEMS.items()
    }
