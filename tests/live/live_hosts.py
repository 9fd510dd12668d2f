"""Hosts of the live tests: containers with systemd and a bare server, made for a test module and removed after it."""

import json
import os
import pathlib
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

from common import locked  # noqa: E402

PASSWORD = "it's \"qu\\oted\" 100% `pä$$s;# x"
# .ci/run removes what has it, where a run was ended before it could.
LABEL = "dbre-semisync.scenario=live"
CLIENTS = {"mysql": "mysql", "mariadb": "mariadb"}


def run(*command, check=True, **keywords):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **keywords)
    if check and result.returncode != 0:
        raise AssertionError("%s\n%s\n%s" % (" ".join(map(str, command)), result.stdout, result.stderr))
    return result


def lab(*arguments):
    return run(sys.executable, PROJECT / "lab", *arguments).stdout


class Host:
    """One container with a server of the given kind."""

    def __init__(self, turn, name, server, release):
        self.network, self.server, self.release = "semisync-" + turn, server, release
        self.name = "%s-%s" % (self.network, name)

    def start(self):
        flags = json.loads(lab("flags", "--server", self.server, *(["--release", self.release] if self.release else [])))
        lab("image", "--server", self.server, *(["--release", self.release] if self.release else []))
        run("docker", "rm", "--force", "--volumes", self.name, check=False)
        command = ["docker", "run", "--detach", "--name", self.name, "--hostname", self.name, "--network", self.network,
                   "--label", LABEL, "--cgroupns", flags["cgroupns_mode"],
                   # A file system of its own: on an overlay the server cannot rename what the image brought.
                   "--volume", "/var/lib/mysql"]
        for option, values in (("--volume", flags["volumes"]), ("--cap-add", flags["capabilities"]),
                               ("--security-opt", flags["security_opts"]), ("--tmpfs", flags["tmpfs"])):
            for value in values:
                command += [option, value]
        run(*command, flags["image"], flags["command"])
        return self

    def wait(self, seconds=180):
        deadline = time.monotonic() + seconds
        while self.sql("SELECT 1", check=False).returncode != 0:
            assert time.monotonic() < deadline, self.shell("journalctl --no-pager --lines=50", check=False).stdout
            time.sleep(0.2)
        return self

    def stop(self):
        run("docker", "rm", "--force", "--volumes", self.name, check=False)

    def shell(self, command, **keywords):
        return run("docker", "exec", "-i", self.name, "sh", "-c", command, **keywords)

    def sql(self, statement, check=True, form="--skip-column-names"):
        return run("docker", "exec", "-i", self.name, CLIENTS[self.server], "--batch", form, input=statement,
                   check=check)

    def value(self, statement):
        return self.sql(statement).stdout.strip()

    def fingerprint(self):
        """What a run that refused must have left alone: option files, server process, plugins, data, accounts."""
        plugins = "SELECT GROUP_CONCAT(PLUGIN_NAME ORDER BY 1) FROM information_schema.PLUGINS;"
        return (self.shell("find /etc/mysql /etc/my.cnf* -type f -exec sha256sum {} + 2>/dev/null | sort; "
                           "pidof mysqld mariadbd", check=False).stdout,
                self.value(plugins + "SHOW DATABASES; SELECT User, Host FROM mysql.user ORDER BY 1, 2;"))


def hosts(*wanted, turn="live"):
    """A fixture's body: start the hosts, wait until all answer, remove them afterwards.

    The hosts' names are the same in every run, so that two runs of the same turn on a machine wait for each other.
    """
    with locked(turn):
        yield from _hosts(wanted, turn)


def _hosts(wanted, turn):
    network = "semisync-" + turn
    run("docker", "network", "create", "--label", LABEL, network, check=False)
    made = [Host(turn, *one) for one in wanted]
    try:
        for host in made:
            host.start()
        for host in made:
            host.wait()
        yield made
    finally:
        for host in made:
            host.stop()
        run("docker", "network", "rm", network, check=False)


def inventory(path, sources, replicas, **variables):
    """An inventory file: host -> its variables in both groups, and variables for all."""
    common = dict(ansible_connection="community.docker.docker", ansible_python_interpreter="/usr/bin/python3",
                  semisync_replication_password=PASSWORD, semisync_timeout=1500,
                  semisync_results_dir=str(path / "results"))
    common.update(variables)
    file = path / "hosts.json"
    file.write_text(json.dumps({"all": {"vars": common, "children": {
        "semisync_source": {"hosts": {host.name: extra for host, extra in sources.items()}},
        "semisync_replica": {"hosts": {host.name: extra for host, extra in replicas.items()}}}}}))
    return file


def playbook(name, file, *arguments, before=(), **environment):
    """Run one of the collection's playbooks by its full name; `before` are the words of a command that runs it."""
    return run(*before, "ansible-playbook", "-i", file, "dbre.semisync." + name, *arguments, check=False, cwd=file.parent,
               env=dict(os.environ, ANSIBLE_CALLBACK_RESULT_FORMAT="yaml", ANSIBLE_PIPELINING="true", COLUMNS="1000",
                        **environment))


def words(result):
    """What a run said, line breaks and YAML's quoting smoothed out."""
    return " ".join((result.stdout + result.stderr).replace("''", "'").split())
