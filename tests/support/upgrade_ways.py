"""Ways from one version of a server to another, as docs/upgrading-servers.md describes them: what a
host is prepared with, and the file of tasks that changes its program.
"""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass

from support.live_hosts import Host

# The documentation's examples.
PACKAGES = """
- name: Have the packages of the newer release
  ansible.builtin.copy:
    content: "deb {mirror} {suite} main\\n"
    dest: /etc/apt/sources.list.d/newer.list
    mode: "0644"

- name: Read their list
  ansible.builtin.apt:
    update_cache: true

- name: Install the server
  ansible.builtin.apt:
    name: [mariadb-server, mariadb-client, mariadb-backup]
    state: latest
    default_release: {suite}
    dpkg_options: force-confold,force-confdef,force-unsafe-io
"""
LINK = """
- name: Unpack it
  ansible.builtin.unarchive:
    src: {path}
    dest: /opt

- name: Have the unit start it
  ansible.builtin.file:
    src: /opt/{folder}
    dest: /usr/local/mysql
    state: link
"""
# The lab unpacks a tarball where the link is to be.
TO_A_LINK = """
systemctl stop mysql
mv /usr/local/mysql /opt/mysql-before
ln -s /opt/mysql-before /usr/local/mysql
systemctl start mysql
"""


@dataclass(frozen=True)
class Packages:
    """MariaDB by the packages of the next Debian release.

    Attributes:
        release: of Debian, which the hosts have.
        suite: the next one's name.
        to: the version that it has.
    """

    release: str
    suite: str
    to: str
    server: str = "mariadb"
    tarball: None = None

    def prepare(self, made: list[Host]) -> str:
        """Make the hosts ready; the text of the tasks."""
        for host in made:
            # Of the release that the host has.
            host.shell("apt-get -qq update && apt-get -qq install -y python3-apt")
        # The newer release comes from where the older one does.
        listed = made[0].shell("cat /etc/apt/sources.list").stdout
        mirror = next(line.split() for line in listed.splitlines() if line.startswith("deb "))[-3]
        return PACKAGES.format(mirror=mirror, suite=self.suite)


@dataclass(frozen=True)
class Link:
    """MySQL by tarballs that are unpacked, and a link that the unit starts.

    Attributes:
        tarball: the older one.
        newer: the newer one.
        to: its version.
    """

    tarball: str
    newer: str
    to: str
    server: str = "mysql"
    release: None = None

    def prepare(self, made: list[Host]) -> str:
        """Make the hosts ready; the text of the tasks."""
        for host in made:
            host.shell(TO_A_LINK)
        for host in made:
            host.wait()
        return LINK.format(path=self.newer, folder=folder_of(self.newer))


def folder_of(path: str) -> str:
    """The folder that a tarball is unpacked to."""
    with tarfile.open(path) as file:
        first = file.next()
    return first.name.split("/")[0] if first else ""


def version_of(path: str) -> str:
    """The version in the name of a tarball's folder, such as 8.4.3."""
    found = re.search(r"\d+\.\d+\.\d+", folder_of(path))
    if not found:
        raise ValueError(f"{path}: its folder {folder_of(path)!r} names no version")
    return found[0]


Way = Packages | Link
# From one release of Debian to the next.
OF_DEBIAN = {
    "10.5-10.11": Packages("11", "bookworm", "10.11"),
    "10.11-11.8": Packages("12", "trixie", "11.8"),
}
