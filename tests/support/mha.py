"""Debian's MHA on hosts of a test: what failover.yml is compared with."""

from __future__ import annotations

import subprocess

from support.live_hosts import Host, run

PACKAGES = "mha4mysql-manager mha4mysql-node openssh-server"
ACCOUNT, REPLICATION, SECRET = "mha", "mha_repl", "mha"
FOLDER, KEY = "/var/lib/mha", "~/.ssh/id_ed25519"
# Tarball hosts have their programs there.
PROGRAMS = "/usr/local/mysql/bin"
# 0.58 dies of a warning that Perl has since 5.22, where it asks which series a server is of
# (NodeUtil.pm: Redundant argument in sprintf): it has to be a warning.
MEND = "s/use warnings FATAL => 'all'/use warnings/"
CHECKS = {
    "masterha_check_ssh": "All SSH connection tests passed successfully",
    "masterha_check_repl": "MySQL Replication Health is OK",
}
DEFAULTS = f"""\
[server default]
user={ACCOUNT}
password={SECRET}
repl_user={REPLICATION}
repl_password={SECRET}
ssh_user=root
manager_workdir={FOLDER}
remote_workdir={FOLDER}
master_binlog_dir=/var/lib/mysql
client_bindir={PROGRAMS}
"""


class Mha:
    """A manager on the last host, and a node on each.

    Args:
        hosts: the source first.
    """

    def __init__(self, hosts: list[Host]) -> None:
        self.hosts, self.manager = hosts, hosts[-1]

    def install(self) -> None:
        """Packages, a key that opens every host, accounts and the configuration; then MHA's own
        checks have to pass.
        """
        for host in self.hosts:
            host.shell(
                "apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install --yes"
                f" --no-install-recommends {PACKAGES} >/dev/null && mkdir -p {FOLDER}"
                f' && sed -i "{MEND}" /usr/share/perl5/MHA/NodeUtil.pm'
            )
        self.manager.shell(f"mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f {KEY}")
        private = self.manager.shell(f"cat {KEY}").stdout
        public = self.manager.shell(f"cat {KEY}.pub").stdout
        for host in self.hosts:
            host.shell("mkdir -p ~/.ssh && cat >> ~/.ssh/authorized_keys", input=public)
            host.shell(f"cat > {KEY}; chmod 600 {KEY}", input=private)
        grants = ((ACCOUNT, "ALL PRIVILEGES"), (REPLICATION, "REPLICATION SLAVE"))
        for account, rights in grants:
            self.hosts[0].sql(
                f"CREATE USER {account}@'%' IDENTIFIED BY '{SECRET}';"
                f" GRANT {rights} ON *.* TO {account}@'%';"
            )
        servers = (
            f"[server{number}]\nhostname={host.name}\n" for number, host in enumerate(self.hosts, 1)
        )
        self.manager.shell("cat > /etc/mha.cnf", input=DEFAULTS + "".join(servers))
        # The first ends with an error of its own where all is well (0.58: it exits with nothing).
        for check, well in CHECKS.items():
            done = self.manager.shell(f"{check} --conf=/etc/mha.cnf 2>&1", check=False)
            assert well in done.stdout, done.stdout

    def failover(self, dead: Host) -> subprocess.CompletedProcess[str]:
        """Its own failover from a dead source, as an operator starts it."""
        return run(
            "docker",
            "exec",
            self.manager.name,
            "sh",
            "-c",
            "masterha_master_switch --conf=/etc/mha.cnf --master_state=dead"
            f" --dead_master_host={dead.name} --interactive=0 --ignore_last_failover 2>&1",
            check=False,
        )
